//! What came out of a command so far: the part that is kept, and the file with the whole text.

use std::path::PathBuf;

use crate::filter::FilteredText;
use crate::output::{CleanText, OutputBuffer, Stream};
use crate::spill::{SpillFile, SpillTarget};

/// What came out of a command so far.
pub(super) struct Printed<'a> {
    pub(super) buffer: OutputBuffer,
    /// Those of standard output and standard error.
    filters: Option<[Box<dyn FilteredText>; 2]>,
    target: Option<SpillTarget>,
    file: Option<SpillFile>,
    on_output: &'a mut (dyn FnMut(Stream, &str) + Send),
}

impl<'a> Printed<'a> {
    pub(super) fn new(
        buffer: OutputBuffer,
        target: Option<SpillTarget>,
        on_output: &'a mut (dyn FnMut(Stream, &str) + Send),
    ) -> Self {
        let filters = target
            .as_ref()
            .and_then(|target| Some([target.begin_filter()?, target.begin_filter()?]));
        Self { buffer, filters, target, file: None, on_output }
    }

    pub(super) fn spilled_to(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|file| file.path().to_path_buf())
    }

    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let text = self.buffer.clean(stream, bytes);
        match self.filter(stream).map(|filter| filter.push(text.as_str())) {
            Some(filtered) => self.keep(stream, &CleanText::new(stream, filtered)),
            None => self.keep(stream, &text),
        }
    }

    pub(super) fn finish(&mut self) {
        for stream in [Stream::Out, Stream::Error] {
            let text = self.buffer.clean_rest(stream);
            let filtered = self.filter(stream).map(|filter| {
                let certain = filter.push(text.as_str());
                certain + &filter.finish()
            });
            match filtered {
                Some(filtered) => self.keep(stream, &CleanText::new(stream, filtered)),
                None => self.keep(stream, &text),
            }
        }
    }

    fn filter(&mut self, stream: Stream) -> Option<&mut Box<dyn FilteredText>> {
        let [out, error] = self.filters.as_mut()?;
        Some(match stream {
            Stream::Out => out,
            Stream::Error => error,
        })
    }

    fn keep(&mut self, stream: Stream, text: &CleanText) {
        if text.as_str().is_empty() {
            return;
        }
        (self.on_output)(stream, text.as_str());
        if self.file.is_none() && !self.buffer.has_room(text) {
            self.begin_spill();
        }
        self.buffer.keep(text);
        if let Some(file) = &mut self.file
            && file.push(text.as_str()).is_err()
        {
            // Half a text under the name of the whole is worse than none.
            file.remove();
            self.file = None;
        }
    }

    /// Everything so far is still in the buffer: from here on the file has what it has not.
    fn begin_spill(&mut self) {
        let Some(target) = self.target.take() else { return };
        self.file = target.create().ok();
        for piece in self.buffer.pieces() {
            if let Some(file) = &mut self.file
                && file.push(&piece.text).is_err()
            {
                file.remove();
                self.file = None;
            }
        }
    }
}

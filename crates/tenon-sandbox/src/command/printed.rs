//! What came out of a command so far: the part that is kept, and the file with the whole text.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::filter::FilteredText;
use crate::output::{CleanText, OutputBuffer, Piece, Stream};
use crate::spill::{SpillFile, SpillTarget};

/// What came out of a command so far, for whoever looks while it runs. Cheap to clone; clones
/// share everything.
#[derive(Clone)]
pub(crate) struct Printed(Arc<Mutex<Kept>>);

struct Kept {
    buffer: OutputBuffer,
    /// Those of standard output and standard error.
    filters: Option<[Box<dyn FilteredText>; 2]>,
    target: Option<SpillTarget>,
    file: Option<SpillFile>,
}

impl Printed {
    /// Keeps at most `bytes_max` bytes of each stream, and the whole text in a file of `target` when
    /// more is printed.
    pub(crate) fn new(bytes_max: usize, target: Option<SpillTarget>) -> Self {
        let filters = target
            .as_ref()
            .and_then(|target| Some([target.begin_filter()?, target.begin_filter()?]));
        let buffer = OutputBuffer::new(bytes_max);
        Self(Arc::new(Mutex::new(Kept { buffer, filters, target, file: None })))
    }

    /// Returns the file with the whole text, if there is one.
    pub(crate) fn spilled_to(&self) -> Option<PathBuf> {
        self.lock().file.as_ref().map(|file| file.path().to_path_buf())
    }

    /// Keeps the whole text in a file from now on, however short it is. To be called before
    /// anything is taken out.
    pub(crate) fn spill(&self) {
        self.lock().begin_spill();
    }

    /// Takes out what was kept, with how many bytes were left out of it.
    pub(crate) fn take(&self) -> (Vec<Piece>, u64) {
        self.lock().buffer.take()
    }

    pub(super) fn pieces(&self) -> Vec<Piece> {
        self.lock().buffer.pieces()
    }

    /// Returns how many bytes were printed, and how many bytes of cleaned text are in no piece.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let kept = self.lock();
        (kept.buffer.bytes_total(), kept.buffer.left_out_bytes())
    }

    pub(super) fn push(
        &self,
        stream: Stream,
        bytes: &[u8],
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) {
        let text = self.lock().text(stream, bytes);
        self.keep(stream, &text, on_output);
    }

    pub(super) fn finish(&self, on_output: &mut (dyn FnMut(Stream, &str) + Send)) {
        for stream in [Stream::Out, Stream::Error] {
            let text = self.lock().rest(stream);
            self.keep(stream, &text, on_output);
        }
    }

    /// Shows and keeps a text; not under the lock while it is shown.
    fn keep(
        &self,
        stream: Stream,
        text: &CleanText,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) {
        if !text.as_str().is_empty() {
            on_output(stream, text.as_str());
            self.lock().keep(text);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // What is half done after a panic is the end of a text that nobody misses more.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Returns what became certain of a stream's text.
    fn text(&mut self, stream: Stream, bytes: &[u8]) -> CleanText {
        let text = self.buffer.clean(stream, bytes);
        match self.filter(stream).map(|filter| filter.push(text.as_str())) {
            Some(filtered) => CleanText::new(stream, filtered),
            None => text,
        }
    }

    /// Returns what was held back of a stream's text.
    fn rest(&mut self, stream: Stream) -> CleanText {
        let text = self.buffer.clean_rest(stream);
        let filtered = self.filter(stream).map(|filter| {
            let certain = filter.push(text.as_str());
            certain + &filter.finish()
        });
        match filtered {
            Some(filtered) => CleanText::new(stream, filtered),
            None => text,
        }
    }

    fn filter(&mut self, stream: Stream) -> Option<&mut Box<dyn FilteredText>> {
        let [out, error] = self.filters.as_mut()?;
        Some(match stream {
            Stream::Out => out,
            Stream::Error => error,
        })
    }

    fn keep(&mut self, text: &CleanText) {
        if self.file.is_none() && !self.buffer.has_room(text) {
            self.begin_spill();
        }
        self.buffer.keep(text);
        self.spill(text.as_str());
    }

    /// Everything so far is still in the buffer: from here on the file has what it has not.
    fn begin_spill(&mut self) {
        let Some(target) = self.target.take() else { return };
        self.file = target.create().ok();
        for piece in self.buffer.pieces() {
            self.spill(&piece.text);
        }
    }

    fn spill(&mut self, text: &str) {
        if let Some(file) = &mut self.file
            && file.push(text).is_err()
        {
            // Half a text under the name of the whole is worse than none.
            file.remove();
            self.file = None;
        }
    }
}

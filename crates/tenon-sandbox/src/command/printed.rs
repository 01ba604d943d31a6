//! What came out of a command so far: the part that is kept, and the file with the whole text.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::in_order::{InOrder, Past};
use crate::filter::FilteredText;
use crate::output::{CleanText, OutputBuffer, Piece, Stream};
use crate::spill::{SpillFile, SpillTarget};

/// What came out of a command so far, for whoever looks while it runs. Cheap to clone; clones
/// share everything.
#[derive(Clone)]
pub(crate) struct Printed(Arc<Mutex<Kept>>);

struct Kept {
    buffer: OutputBuffer,
    filters: Option<Filters>,
    target: Option<SpillTarget>,
    file: Option<SpillFile>,
}

/// What both streams pass before they are kept or shown.
struct Filters {
    out: Box<dyn FilteredText>,
    error: Box<dyn FilteredText>,
    kept: InOrder,
    /// Nobody who looks on waits for the end of a line to become certain.
    shown: InOrder,
}

impl Printed {
    /// Keeps at most `bytes_max` bytes of each stream, and the whole text in a file of `target` when
    /// more is printed.
    pub(crate) fn new(bytes_max: usize, target: Option<SpillTarget>) -> Self {
        let filters = target.as_ref().and_then(Filters::begin);
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

    /// Takes out what was kept, with how many bytes were left out of it: also what may be the beginning of
    /// a secret, since who takes would learn from what is missing that it is. The rest of a secret is hidden in
    /// what is taken later.
    pub(crate) fn take(&self) -> (Vec<Piece>, u64) {
        let mut kept = self.lock();
        let passed = kept.filters.as_mut().map(|filters| filters.kept.next(Past::Everything));
        passed.iter().flatten().for_each(|text| kept.keep(text));
        kept.buffer.take()
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
        let shown = self.lock().push(stream, bytes);
        show(&shown, on_output);
    }

    pub(super) fn finish(&self, on_output: &mut (dyn FnMut(Stream, &str) + Send)) {
        for stream in [Stream::Out, Stream::Error] {
            let shown = self.lock().finish(stream);
            show(&shown, on_output);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // What is half done after a panic is the end of a text that nobody misses more.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Not under the lock: whoever is shown something may take as long as they like.
fn show(texts: &[CleanText], on_output: &mut (dyn FnMut(Stream, &str) + Send)) {
    texts.iter().for_each(|text| on_output(text.stream(), text.as_str()));
}

impl Filters {
    fn begin(target: &SpillTarget) -> Option<Self> {
        let (out, error) = (target.begin_filter()?, target.begin_filter()?);
        Some(Self { out, error, kept: InOrder::lagging(), shown: InOrder::default() })
    }

    fn push(&mut self, stream: Stream, text: &str) {
        if !text.is_empty() {
            self.kept.begin(stream);
            self.shown.begin(stream);
            let filter = match stream {
                Stream::Out => &mut self.out,
                Stream::Error => &mut self.error,
            };
            let parts = filter.push(text);
            self.put(stream, &parts);
        }
    }

    fn finish(&mut self, stream: Stream) {
        let filter = match stream {
            Stream::Out => &mut self.out,
            Stream::Error => &mut self.error,
        };
        let parts = filter.finish();
        self.put(stream, &parts);
        self.kept.end(stream);
    }

    fn put(&mut self, stream: Stream, parts: &[String]) {
        let held = match stream {
            Stream::Out => self.out.held(),
            Stream::Error => self.error.held(),
        };
        self.kept.put(stream, parts, &held);
        self.shown.put(stream, parts, &held);
    }
}

impl Kept {
    /// Keeps what became certain, and returns what can be shown.
    fn push(&mut self, stream: Stream, bytes: &[u8]) -> Vec<CleanText> {
        let text = self.buffer.clean(stream, bytes);
        if let Some(filters) = &mut self.filters {
            filters.push(stream, text.as_str());
        }
        self.keep_certain(text)
    }

    /// The same with what was held back of a stream.
    fn finish(&mut self, stream: Stream) -> Vec<CleanText> {
        let text = self.buffer.clean_rest(stream);
        if let Some(filters) = &mut self.filters {
            filters.push(stream, text.as_str());
            filters.finish(stream);
        }
        self.keep_certain(text)
    }

    /// Keeps what came out of the filters, or `text` if there are none.
    fn keep_certain(&mut self, text: CleanText) -> Vec<CleanText> {
        match self.filters.as_mut() {
            Some(filters) => {
                let kept = filters.kept.next(Past::Nothing);
                let shown = filters.shown.next(Past::Short);
                kept.iter().for_each(|text| self.keep(text));
                shown
            }
            None if text.as_str().is_empty() => Vec::new(),
            None => {
                self.keep(&text);
                vec![text]
            }
        }
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

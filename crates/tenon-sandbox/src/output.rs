//! Keeps the head and the tail of what a command prints, in the order in which it came.
//!
//! Pure: bytes go in, cleaned text and pieces come out; whoever wants the whole text takes it from
//! the callback of [`OutputBuffer::push`]. Memory is bounded by the budget, whatever comes.

use std::collections::VecDeque;

use crate::clean::Cleaner;

/// Kept text is stored in parts of about this many bytes, so that the oldest can be dropped
/// without moving the rest.
const PART_BYTES: usize = 4 * 1024;

/// Which of a command's two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

/// A stretch of one stream's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it was printed.
    pub stream: Stream,
    /// What was printed, cleaned.
    pub text: String,
    /// How many bytes of this stream's text were left out directly before this piece.
    pub left_out_bytes_before: u64,
}

/// Cleaned text of one stream, on its way into the buffer.
#[derive(Debug)]
pub struct CleanText {
    stream: Stream,
    text: String,
    /// Where the cleaner cut; the same wherever the bytes were cut.
    ends: Vec<usize>,
}

impl CleanText {
    /// Returns text that was cleaned before and changed since.
    pub(crate) fn new(stream: Stream, text: String) -> Self {
        let ends = vec![text.len()];
        Self { stream, text, ends }
    }

    /// Returns where it was printed.
    pub(crate) fn stream(&self) -> Stream {
        self.stream
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn push(&mut self, part: &str) {
        self.text.push_str(part);
        self.ends.push(self.text.len());
    }
}

/// A buffer for both streams of a command, each with a budget of its own.
#[derive(Debug)]
pub struct OutputBuffer {
    out: Kept,
    error: Kept,
    out_cleaner: Cleaner,
    error_cleaner: Cleaner,
    last: Stream,
    /// Counts the changes from one stream to the other.
    turn: u64,
    bytes_total: u64,
}

#[derive(Debug)]
struct Kept {
    bytes_max: usize,
    head_room: usize,
    tail_max: usize,
    head: Vec<Part>,
    tail: VecDeque<Part>,
    tail_bytes: usize,
    left_out_bytes: u64,
}

#[derive(Debug)]
struct Part {
    turn: u64,
    text: String,
    /// What is before this was dropped.
    start: usize,
}

impl Part {
    fn text(&self) -> &str {
        self.text.get(self.start..).unwrap_or_default()
    }
}

impl OutputBuffer {
    /// Returns an empty buffer that keeps at most `bytes_max` bytes of cleaned text for each
    /// stream: half for the head, half for the tail.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self {
            out: Kept::new(bytes_max),
            error: Kept::new(bytes_max),
            out_cleaner: Cleaner::default(),
            error_cleaner: Cleaner::default(),
            last: Stream::Out,
            turn: 0,
            bytes_total: 0,
        }
    }

    /// Takes the next bytes of a stream and keeps what of their text fits.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let text = self.clean(stream, bytes);
        self.keep(&text);
    }

    /// Ends a stream and keeps the text that was held back: a line without an end.
    pub fn finish(&mut self, stream: Stream) {
        let text = self.clean_rest(stream);
        self.keep(&text);
    }

    /// Takes the next bytes of a stream and returns the text that became certain, for
    /// [`OutputBuffer::keep`].
    pub fn clean(&mut self, stream: Stream, bytes: &[u8]) -> CleanText {
        self.bytes_total += bytes.len() as u64;
        let mut clean = CleanText { stream, text: String::new(), ends: Vec::new() };
        self.cleaner(stream).push(bytes, &mut |part| clean.push(part));
        clean
    }

    /// Ends a stream and returns the text that was held back, for [`OutputBuffer::keep`].
    pub fn clean_rest(&mut self, stream: Stream) -> CleanText {
        let mut clean = CleanText { stream, text: String::new(), ends: Vec::new() };
        self.cleaner(stream).finish(&mut |part| clean.push(part));
        clean
    }

    /// Returns whether `text` can be kept without leaving anything out.
    #[must_use]
    pub fn has_room(&self, text: &CleanText) -> bool {
        // A character that does not fit the head takes the last bytes of it away.
        const CUT_BYTES_MAX: usize = 3;
        let kept = match text.stream {
            Stream::Out => &self.out,
            Stream::Error => &self.error,
        };
        let room = kept.head_room + (kept.tail_max - kept.tail_bytes);
        text.text.is_empty() || text.text.len() + CUT_BYTES_MAX <= room
    }

    /// Keeps what fits of `text`.
    pub fn keep(&mut self, text: &CleanText) {
        let mut start = 0;
        for end in &text.ends {
            self.keep_part(text.stream, text.text.get(start..*end).unwrap_or_default());
            start = *end;
        }
    }

    /// Returns how many bytes came in, before cleaning.
    #[must_use]
    pub fn bytes_total(&self) -> u64 {
        self.bytes_total
    }

    /// Returns how many bytes of cleaned text are in no piece.
    #[must_use]
    pub fn left_out_bytes(&self) -> u64 {
        self.out.left_out_bytes + self.error.left_out_bytes
    }

    /// Returns what was kept, in the order in which it came.
    #[must_use]
    pub fn pieces(&self) -> Vec<Piece> {
        let mut parts: Vec<(Stream, &Part, u64)> = Vec::new();
        for (stream, kept) in [(Stream::Out, &self.out), (Stream::Error, &self.error)] {
            parts.extend(kept.head.iter().map(|part| (stream, part, 0)));
            let mut left_out = kept.left_out_bytes;
            for part in &kept.tail {
                parts.push((stream, part, std::mem::take(&mut left_out)));
            }
        }
        // Stable: the parts of one stream stay in their order.
        parts.sort_by_key(|(_, part, _)| part.turn);
        let mut pieces: Vec<Piece> = Vec::new();
        for (stream, part, left_out_bytes_before) in parts {
            match pieces.last_mut() {
                Some(last) if last.stream == stream && left_out_bytes_before == 0 => {
                    last.text.push_str(part.text());
                }
                _ => {
                    let text = part.text().to_owned();
                    pieces.push(Piece { stream, text, left_out_bytes_before });
                }
            }
        }
        pieces
    }

    /// Takes out what was kept, with how many bytes of it were left out, and begins anew with the
    /// same budget. A line that has not ended yet comes with what follows.
    pub fn take(&mut self) -> (Vec<Piece>, u64) {
        let taken = (self.pieces(), self.left_out_bytes());
        self.out = Kept::new(self.out.bytes_max);
        self.error = Kept::new(self.error.bytes_max);
        taken
    }

    fn cleaner(&mut self, stream: Stream) -> &mut Cleaner {
        match stream {
            Stream::Out => &mut self.out_cleaner,
            Stream::Error => &mut self.error_cleaner,
        }
    }

    fn keep_part(&mut self, stream: Stream, text: &str) {
        if text.is_empty() {
            return;
        }
        if stream != self.last {
            self.last = stream;
            self.turn += 1;
        }
        let turn = self.turn;
        match stream {
            Stream::Out => self.out.push(turn, text),
            Stream::Error => self.error.push(turn, text),
        }
    }
}

impl Kept {
    fn new(bytes_max: usize) -> Self {
        let tail_max = bytes_max / 2;
        Self {
            bytes_max,
            head_room: bytes_max - tail_max,
            tail_max,
            head: Vec::new(),
            tail: VecDeque::new(),
            tail_bytes: 0,
            left_out_bytes: 0,
        }
    }

    fn push(&mut self, turn: u64, text: &str) {
        let end = text.floor_char_boundary(self.head_room);
        let (head, mut rest) = text.split_at_checked(end).unwrap_or((text, ""));
        if !head.is_empty() {
            self.head_room -= head.len();
            append(self.head.last_mut(), turn, head)
                .into_iter()
                .for_each(|part| self.head.push(part));
        }
        if rest.is_empty() {
            return;
        }
        // The head is contiguous: once something did not fit, nothing more is added to it.
        self.head_room = 0;
        while !rest.is_empty() {
            let end = rest.ceil_char_boundary(PART_BYTES);
            let (now, later) = rest.split_at_checked(end).unwrap_or((rest, ""));
            self.tail_bytes += now.len();
            append(self.tail.back_mut(), turn, now)
                .into_iter()
                .for_each(|part| self.tail.push_back(part));
            self.drop_oldest();
            rest = later;
        }
    }

    fn drop_oldest(&mut self) {
        while self.tail_bytes > self.tail_max {
            let Some(oldest) = self.tail.front_mut() else { return };
            let surplus = oldest.start + (self.tail_bytes - self.tail_max);
            let start = oldest.text.ceil_char_boundary(surplus);
            let dropped = start - oldest.start;
            oldest.start = start;
            self.tail_bytes -= dropped;
            self.left_out_bytes += dropped as u64;
            if start == oldest.text.len() {
                self.tail.pop_front();
            }
        }
    }
}

/// Adds `text` to the last part, or returns a new part for it.
fn append(last: Option<&mut Part>, turn: u64, text: &str) -> Option<Part> {
    match last {
        Some(part) if part.turn == turn && part.text.len() < PART_BYTES => {
            part.text.push_str(text);
            None
        }
        _ => Some(Part { turn, text: text.to_owned(), start: 0 }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn piece(stream: Stream, text: &str, left_out_bytes_before: u64) -> Piece {
        Piece { stream, text: text.to_owned(), left_out_bytes_before }
    }

    fn run(bytes_max: usize, pushes: &[(Stream, &[u8])]) -> OutputBuffer {
        let mut buffer = OutputBuffer::new(bytes_max);
        for (stream, bytes) in pushes {
            buffer.push(*stream, bytes);
        }
        buffer.finish(Stream::Out);
        buffer.finish(Stream::Error);
        buffer
    }

    #[test]
    fn streams_stay_apart_and_in_order() {
        use Stream::{Error, Out};
        let buffer = run(
            1000,
            &[(Out, b"one\n"), (Error, b"two\n"), (Out, b"thr"), (Out, b"ee\n"), (Error, b"4")],
        );
        let expected = [
            piece(Out, "one\n", 0),
            piece(Error, "two\n", 0),
            piece(Out, "three\n", 0),
            piece(Error, "4", 0),
        ];
        assert_eq!(buffer.pieces(), expected);
        assert_eq!((buffer.bytes_total(), buffer.left_out_bytes()), (15, 0));
    }

    #[test]
    fn head_and_tail_are_kept_and_the_gap_is_counted() {
        let buffer = run(10, &[(Stream::Out, b"0123456789abcdef")]);
        let expected = [piece(Stream::Out, "01234", 0), piece(Stream::Out, "bcdef", 6)];
        assert_eq!(buffer.pieces(), expected);
        assert_eq!(buffer.left_out_bytes(), 6);
    }

    #[test]
    fn what_was_taken_out_does_not_come_again() {
        let mut buffer = OutputBuffer::new(10);
        buffer.push(Stream::Out, b"0123456789abcdef\nhalf a");
        let (pieces, left_out_bytes) = buffer.take();
        assert_eq!((pieces.len(), left_out_bytes), (2, 7));
        assert_eq!(buffer.take(), (Vec::new(), 0));
        buffer.push(Stream::Out, b" b\n");
        assert_eq!(buffer.take().0, [piece(Stream::Out, "half a b\n", 0)]);
    }

    #[test]
    fn characters_are_never_cut() {
        let buffer = run(10, &[(Stream::Out, "世界世界世界".as_bytes())]);
        let expected = [piece(Stream::Out, "世", 0), piece(Stream::Out, "界", 12)];
        assert_eq!(buffer.pieces(), expected);
    }

    #[test]
    fn a_loud_stream_does_not_push_out_the_other() {
        let loud = b"x\n".repeat(10_000);
        let buffer = run(100, &[(Stream::Error, b"why\n"), (Stream::Out, &loud)]);
        assert_eq!(buffer.pieces().first(), Some(&piece(Stream::Error, "why\n", 0)));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_pieces_within_the_bound(
            runs in proptest::collection::vec((any::<bool>(), "[a-z\n世\u{e9}]{0,40}"), 0..12),
            bytes_max in 0..80_usize,
            cut in 1..7_usize,
        ) {
            let stream = |error| if error { Stream::Error } else { Stream::Out };
            let whole: Vec<(Stream, &[u8])> =
                runs.iter().map(|(error, text)| (stream(*error), text.as_bytes())).collect();
            let small: Vec<(Stream, &[u8])> = whole
                .iter()
                .flat_map(|(stream, bytes)| bytes.chunks(cut).map(move |part| (*stream, part)))
                .collect();
            let (one, other) = (run(bytes_max, &whole), run(bytes_max, &small));
            prop_assert_eq!(one.pieces(), other.pieces());
            for stream in [Stream::Out, Stream::Error] {
                let of_stream = |wanted| {
                    let pieces = one.pieces().into_iter().filter(move |piece| piece.stream == wanted);
                    pieces.map(|piece| piece.text.len()).sum::<usize>()
                };
                prop_assert!(of_stream(stream) <= bytes_max);
            }
            let kept: usize = one.pieces().iter().map(|piece| piece.text.len()).sum();
            prop_assert_eq!(kept as u64 + one.left_out_bytes(), one.bytes_total());
        }
    }
}

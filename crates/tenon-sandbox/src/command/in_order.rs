//! Puts the texts of both streams in the order in which they came, where a filter holds parts back.
//!
//! What may become a secret stays in its place, and what came behind it from the other stream waits
//! until it is certain. Pure.

use std::collections::VecDeque;

use crate::output::{CleanText, Stream};

/// The most bytes that wait for what is held back in front of them. More than ever stands between
/// two parts of a value that was broken over lines.
const WAITING_BYTES_MAX: usize = 256 * 1024;

/// So many bytes of a secret tell nothing of it. As many stand at the end of every other line.
const TELLS_NOTHING_BYTES_MAX: usize = 3;

/// The texts that are not out yet.
#[derive(Debug, Default)]
pub(super) struct InOrder(VecDeque<Place>);

/// What is passed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Past {
    /// Nothing that is held back.
    Nothing,
    /// What is so short that it tells nothing; it comes itself.
    Short,
    /// Everything; what is longer comes out of order when it is certain.
    Everything,
}

/// The place of a piece of one stream.
#[derive(Debug)]
struct Place {
    stream: Stream,
    /// What is certain and not out yet.
    text: String,
    /// What is held back, unchanged.
    held: String,
    /// What of `held` is out all the same.
    ahead: String,
    is_passed: bool,
}

impl InOrder {
    /// Begins the place of the next piece.
    pub(super) fn begin(&mut self, stream: Stream) {
        // Until its parts are put it is open, which only a place with something held is.
        let (text, held, ahead) = (String::new(), String::from("."), String::new());
        self.0.push_back(Place { stream, text, held, ahead, is_passed: false });
    }

    /// Puts what became certain of the open pieces of a stream, and what is held of them still.
    pub(super) fn put(&mut self, stream: Stream, parts: &[String], held: &[&str]) {
        let is_open = |place: &&mut Place| place.stream == stream && place.is_open();
        let open: Vec<&mut Place> = self.0.iter_mut().filter(is_open).collect();
        let whole = open.len().saturating_sub(held.len());
        for (index, place) in open.into_iter().enumerate() {
            if let Some(part) = parts.get(index) {
                place.take(part);
            }
            let held = index.checked_sub(whole).and_then(|index| held.get(index));
            place.held = held.copied().unwrap_or_default().to_owned();
        }
        self.join_last();
    }

    /// Returns what can go out.
    pub(super) fn next(&mut self, past: Past) -> Vec<CleanText> {
        let waiting: usize = self.0.iter().map(|place| place.text.len()).sum();
        let past = if waiting > WAITING_BYTES_MAX { Past::Everything } else { past };
        let (out, error) = (self.is_short(Stream::Out), self.is_short(Stream::Error));
        let mut texts = Vec::new();
        for place in &mut self.0 {
            let is_short = if place.stream == Stream::Out { out } else { error };
            let mut text = std::mem::take(&mut place.text);
            let shows_held = is_short && past != Past::Nothing && place.is_open();
            if shows_held {
                text.push_str(place.held.get(place.ahead.len()..).unwrap_or_default());
                place.ahead.clone_from(&place.held);
            }
            if !text.is_empty() {
                texts.push(CleanText::new(place.stream, text));
            }
            place.is_passed |= shows_held || past == Past::Everything;
            if place.is_open() && !place.is_passed {
                break;
            }
        }
        self.0.retain(|place| place.is_open() || !place.text.is_empty());
        texts
    }

    /// Whether all that is held of a stream is so short that it tells nothing.
    fn is_short(&self, stream: Stream) -> bool {
        let held = self.0.iter().filter(|place| place.stream == stream);
        let bytes = held.flat_map(|place| place.held.bytes());
        bytes.filter(|byte| !matches!(byte, b'\n' | b'\r')).count() <= TELLS_NOTHING_BYTES_MAX
    }

    /// Many short pieces that wait are one place.
    fn join_last(&mut self) {
        let Some(last) = self.0.pop_back() else { return };
        match self.0.back_mut() {
            Some(before)
                if before.stream == last.stream && !before.is_open() && !last.is_open() =>
            {
                before.text.push_str(&last.text);
            }
            _ => self.0.push_back(last),
        }
    }
}

impl Place {
    fn is_open(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes what became certain, but for what is out already.
    fn take(&mut self, part: &str) {
        let same = part.bytes().zip(self.ahead.bytes()).take_while(|(a, b)| a == b).count();
        let same = part.floor_char_boundary(same);
        self.text.push_str(part.get(same..).unwrap_or_default());
        // A label may have taken the place of the rest.
        let rest = self.ahead.get(same..).filter(|_| same == part.len()).unwrap_or_default();
        self.ahead = rest.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::filter::FilteredText;

    const SECRET: &str = "secret";

    /// Shows `secret` as `*`, which stands where the secret begins. Line ends are no part of it.
    #[derive(Default)]
    struct Stars {
        text: String,
        ends: Vec<usize>,
    }

    impl Stars {
        fn pass(&mut self, is_end: bool) -> Vec<String> {
            let (mut parts, mut at) = (vec![String::new(); self.ends.len()], 0);
            while let Some(letter) = self.text[at..].chars().next() {
                let piece = self.ends.partition_point(|end| *end <= at);
                let rest = &self.text[at..];
                if rest.starts_with(SECRET) {
                    parts[piece].push('*');
                    at += SECRET.len();
                } else if SECRET.starts_with(rest) && !is_end {
                    break;
                } else {
                    parts[piece].push(letter);
                    at += letter.len_utf8();
                }
            }
            self.text.drain(..at);
            self.ends.iter_mut().for_each(|end| *end = end.saturating_sub(at));
            self.ends.retain(|end| *end > 0);
            parts
        }
    }

    impl FilteredText for Stars {
        fn push(&mut self, text: &str) -> Vec<String> {
            self.text.push_str(text);
            self.ends.push(self.text.len());
            self.pass(false)
        }

        fn finish(&mut self) -> Vec<String> {
            self.pass(true)
        }

        fn held(&self) -> Vec<&str> {
            let starts = [0].into_iter().chain(self.ends.iter().copied());
            starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end]).collect()
        }
    }

    /// Both streams with the texts of each.
    #[derive(Default)]
    struct Bench {
        out: Stars,
        error: Stars,
        order: InOrder,
        printed: Vec<(Stream, String)>,
    }

    impl Bench {
        fn step(&mut self, stream: Stream, text: Option<&str>, past: Past) {
            let filter = if stream == Stream::Out { &mut self.out } else { &mut self.error };
            let parts = match text {
                Some(text) => {
                    self.order.begin(stream);
                    filter.push(text)
                }
                None => filter.finish(),
            };
            self.order.put(stream, &parts, &filter.held());
            for text in self.order.next(past) {
                put(&mut self.printed, text.stream(), text.as_str());
            }
        }

        fn finish(mut self, past: Past) -> Vec<(Stream, String)> {
            self.step(Stream::Out, None, past);
            self.step(Stream::Error, None, past);
            assert!(self.order.0.is_empty(), "{:?}", self.order);
            self.printed
        }
    }

    fn put(printed: &mut Vec<(Stream, String)>, stream: Stream, text: &str) {
        match printed.last_mut() {
            Some((last, before)) if *last == stream => before.push_str(text),
            _ if text.is_empty() => {}
            _ => printed.push((stream, text.to_owned())),
        }
    }

    /// Steps are texts of a stream, `e` or `o`; expected is what is out after each, and at the end.
    fn check(past: Past, steps: &[&str], expected: &[&str]) {
        let mut bench = Bench::default();
        let said = |printed: &[(Stream, String)]| -> String {
            let texts = printed.iter().map(|(stream, text)| match stream {
                Stream::Out => format!("o{text}|"),
                Stream::Error => format!("e{text}|"),
            });
            texts.collect()
        };
        let mut seen = Vec::new();
        for step in steps {
            let stream = if step.starts_with('o') { Stream::Out } else { Stream::Error };
            bench.step(stream, Some(&step[1..]), past);
            seen.push(said(&bench.printed));
        }
        seen.push(said(&bench.finish(past)));
        assert_eq!(seen, expected, "{steps:?}");
    }

    #[test]
    fn what_is_held_back_keeps_its_place() {
        check(
            Past::Nothing,
            &["e3 files", "oout", "ewarnings"],
            &["e3 file|", "e3 file|", "e3 files|oout|ewarning|", "e3 files|oout|ewarnings|"],
        );
        check(
            Past::Nothing,
            &["ea sec", "ox", "eret b", "oy"],
            &["ea |", "ea |", "ea *|ox|e b|", "ea *|ox|e b|oy|", "ea *|ox|e b|oy|"],
        );
    }

    #[test]
    fn who_looks_on_waits_for_what_may_be_a_part_of_a_secret_and_not_for_a_letter() {
        check(
            Past::Short,
            &["e3 files", "oout", "ewarnings"],
            &[
                "e3 files|",
                "e3 files|oout|",
                "e3 files|oout|ewarnings|",
                "e3 files|oout|ewarnings|",
            ],
        );
        check(
            Past::Short,
            &["ea secr", "ox", "eed"],
            &["ea |", "ea |", "ea secr|ox|eed|", "ea secr|ox|eed|"],
        );
        check(
            Past::Short,
            &["ea se", "ox", "ecr", "oy", "eet"],
            &[
                "ea se|",
                "ea se|ox|",
                "ea se|ox|",
                "ea se|ox|",
                "ea se|ox|e*|oy|",
                "ea se|ox|e*|oy|",
            ],
        );
    }

    #[test]
    fn what_waits_is_bounded_and_nothing_is_lost() {
        let long = format!("o{}", "x".repeat(WAITING_BYTES_MAX));
        let mut bench = Bench::default();
        bench.step(Stream::Error, Some("a secr"), Past::Nothing);
        bench.step(Stream::Out, Some(&long), Past::Nothing);
        assert_eq!(bench.printed.len(), 2);
        bench.step(Stream::Out, Some("y"), Past::Nothing);
        bench.step(Stream::Error, Some("e"), Past::Nothing);
        let error = (Stream::Error, "secre".to_owned());
        assert_eq!(bench.finish(Past::Nothing).last(), Some(&error));
    }

    proptest! {
        #[test]
        fn each_stream_is_changed_as_a_whole_and_every_piece_stays_in_its_place(
            steps in proptest::collection::vec(
                (any::<bool>(), prop_oneof!["[sec]{1,3}", "secret", "ret", "cret", "[a-c]{1,4}", "s"]),
                0..30,
            ),
        ) {
            let stream = |error| if error { Stream::Error } else { Stream::Out };
            let (mut mixed, mut shown) = (Bench::default(), Bench::default());
            for (error, text) in &steps {
                mixed.step(stream(*error), Some(text), Past::Nothing);
                shown.step(stream(*error), Some(text), Past::Short);
            }
            let (mixed, shown) = (mixed.finish(Past::Nothing), shown.finish(Past::Short));
            // What becomes of each piece does not depend on what stands between.
            let mut pieces = vec![String::new(); steps.len()];
            for error in [false, true] {
                let own = |(index, (of, text)): (usize, &(bool, String))| {
                    (*of == error).then(|| (index, text.clone()))
                };
                let own: Vec<(usize, String)> = steps.iter().enumerate().filter_map(own).collect();
                let mut whole = Stars::default();
                for (_, text) in &own {
                    whole.text.push_str(text);
                    whole.ends.push(whole.text.len());
                }
                let parts = whole.pass(true);
                own.iter().zip(parts).for_each(|((index, _), part)| pieces[*index] = part);
            }
            let mut expected = Vec::new();
            for ((error, _), piece) in steps.iter().zip(&pieces) {
                put(&mut expected, stream(*error), piece);
            }
            prop_assert_eq!(&mixed, &expected);
            let of = |printed: &[(Stream, String)], wanted| -> String {
                let own = printed.iter().filter(|(stream, _)| *stream == wanted);
                own.map(|(_, text)| text.as_str()).collect()
            };
            for stream in [Stream::Out, Stream::Error] {
                let stars = |text: &str| text.matches('*').count();
                let (shown, expected) = (of(&shown, stream), of(&expected, stream));
                prop_assert_eq!(stars(&shown), stars(&expected));
                prop_assert!(!shown.contains(SECRET));
            }
        }
    }
}

//! Puts the texts of both streams in the order in which they came, where a filter holds parts back.
//!
//! What may become a secret stays in its place, and what came behind it from the other stream waits
//! until it is certain. Whether anything is held back says something of the secret: so what is kept
//! waits whatever it is, and what is asked for comes whole. Pure.

use std::collections::VecDeque;

use crate::output::{CleanText, Stream};

/// The most bytes that wait in front of what is held back or behind it. More than ever stands between
/// two parts of a value that was broken over lines.
const WAITING_BYTES_MAX: usize = 256 * 1024;

/// So many bytes of a secret tell nothing of it. As many stand at the end of every other line.
const TELLS_NOTHING_BYTES_MAX: usize = 3;

/// More bytes than a filter holds back of any text (127), line ends not counted.
const LAG_BYTES: usize = 128;

/// The texts that are not out yet.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    places: VecDeque<Place>,
    /// How many bytes at a stream's end wait for more of it, whatever they are.
    lag_bytes: usize,
    ended: Vec<Stream>,
}

/// What is passed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Past {
    /// Nothing that is held back.
    Nothing,
    /// What is so short that it tells nothing; it comes itself.
    Short,
    /// Everything; it comes itself, and what is behind it in the same secret is hidden still.
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
    /// Returns an order in which the end of each stream waits as if all of it might be the beginning of a
    /// secret: what comes out tells nobody whether it is.
    pub(super) fn lagging() -> Self {
        Self { lag_bytes: LAG_BYTES, ..Self::default() }
    }

    /// Begins the place of the next piece.
    pub(super) fn begin(&mut self, stream: Stream) {
        // Until its parts are put it is open, which only a place with something held is.
        let (text, held, ahead) = (String::new(), String::from("."), String::new());
        self.places.push_back(Place { stream, text, held, ahead, is_passed: false });
    }

    /// Puts what became certain of the open pieces of a stream, and what is held of them still.
    pub(super) fn put(&mut self, stream: Stream, parts: &[String], held: &[&str]) {
        let is_open = |place: &&mut Place| place.stream == stream && place.is_open();
        let open: Vec<&mut Place> = self.places.iter_mut().filter(is_open).collect();
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

    /// Says that nothing more comes of a stream.
    pub(super) fn end(&mut self, stream: Stream) {
        self.ended.push(stream);
    }

    /// Returns what can go out.
    pub(super) fn next(&mut self, past: Past) -> Vec<CleanText> {
        let mut texts = self.pass(past);
        let waiting: usize = self.places.iter().map(Place::waiting).sum();
        if waiting > WAITING_BYTES_MAX {
            texts.append(&mut self.pass(Past::Everything));
        }
        texts
    }

    fn pass(&mut self, past: Past) -> Vec<CleanText> {
        let (out, error) = (self.is_short(Stream::Out), self.is_short(Stream::Error));
        let mut lags = if past == Past::Nothing { self.lags() } else { Vec::new() };
        let mut texts = Vec::new();
        for place in &mut self.places {
            let is_short = if place.stream == Stream::Out { out } else { error };
            let stays = place.text.len().saturating_sub(lags.pop().unwrap_or(0));
            let late = place.text.split_off(stays);
            let mut text = std::mem::replace(&mut place.text, late);
            let shows_held = past == Past::Everything || past == Past::Short && is_short;
            if shows_held && place.is_open() {
                text.push_str(place.held.get(place.ahead.len()..).unwrap_or_default());
                place.ahead.clone_from(&place.held);
                place.is_passed = true;
            }
            if !text.is_empty() {
                texts.push(CleanText::new(place.stream, text));
            }
            if (place.is_open() || !place.text.is_empty()) && !place.is_passed {
                break;
            }
        }
        self.places.retain(|place| place.is_open() || !place.text.is_empty());
        texts
    }

    /// Returns how many bytes at the end of each place's text wait, those of the last place first.
    fn lags(&self) -> Vec<usize> {
        let room = |stream| if self.ended.contains(&stream) { 0 } else { self.lag_bytes };
        let (mut out, mut error) = (room(Stream::Out), room(Stream::Error));
        let lags = self.places.iter().rev().map(|place| {
            let room = if place.stream == Stream::Out { &mut out } else { &mut error };
            let held = place.held.get(place.ahead.len()..).unwrap_or_default();
            *room = room.saturating_sub(held.bytes().filter(is_counted).count());
            let mut start = place.text.len();
            for (at, letter) in place.text.char_indices().rev() {
                if *room == 0 {
                    break;
                }
                if !matches!(letter, '\n' | '\r') {
                    *room = room.saturating_sub(letter.len_utf8());
                }
                start = at;
            }
            place.text.len() - start
        });
        lags.collect()
    }

    /// Whether all that is held of a stream is so short that it tells nothing.
    fn is_short(&self, stream: Stream) -> bool {
        let held = self.places.iter().filter(|place| place.stream == stream);
        let bytes = held.flat_map(|place| place.held.bytes());
        bytes.filter(is_counted).count() <= TELLS_NOTHING_BYTES_MAX
    }

    /// Many short pieces that wait are one place.
    fn join_last(&mut self) {
        let Some(last) = self.places.pop_back() else { return };
        let is_whole = |place: &Place| !place.is_open() && !place.is_passed;
        match self.places.back_mut() {
            Some(before) if before.stream == last.stream && is_whole(before) && is_whole(&last) => {
                before.text.push_str(&last.text);
            }
            _ => self.places.push_back(last),
        }
    }
}

impl Place {
    fn is_open(&self) -> bool {
        !self.held.is_empty()
    }

    /// How many bytes of it are not out, those that are held back included.
    fn waiting(&self) -> usize {
        self.text.len() + self.held.len().saturating_sub(self.ahead.len())
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

/// Whether a byte counts where line ends do not.
fn is_counted(byte: &u8) -> bool {
    !matches!(byte, b'\n' | b'\r')
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
            if text.is_none() {
                self.order.end(stream);
            }
            for text in self.order.next(past) {
                put(&mut self.printed, text.stream(), text.as_str());
            }
        }

        fn ask(&mut self) {
            for text in self.order.next(Past::Everything) {
                put(&mut self.printed, text.stream(), text.as_str());
            }
        }

        fn finish(mut self, past: Past) -> Vec<(Stream, String)> {
            self.step(Stream::Out, None, past);
            self.step(Stream::Error, None, past);
            assert!(self.order.places.is_empty(), "{:?}", self.order);
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
    fn what_waits_is_bounded_and_comes_in_its_place() {
        let long = format!("o{}", "x".repeat(WAITING_BYTES_MAX));
        let mut bench = Bench::default();
        bench.step(Stream::Error, Some("a secr"), Past::Nothing);
        bench.step(Stream::Out, Some(&long), Past::Nothing);
        let error = (Stream::Error, "a secr".to_owned());
        assert_eq!((bench.printed.len(), bench.printed.first()), (2, Some(&error)));
        bench.step(Stream::Out, Some("y"), Past::Nothing);
        bench.step(Stream::Error, Some("et"), Past::Nothing);
        let error = (Stream::Error, "*".to_owned());
        assert_eq!(bench.finish(Past::Nothing).last(), Some(&error));
    }

    #[test]
    fn nothing_tells_whether_a_text_may_be_the_beginning_of_a_secret() {
        let long = format!("o{}", "x\n".repeat(WAITING_BYTES_MAX / 2));
        let far = format!("e{}", "z\n".repeat(LAG_BYTES));
        let asked = "?";
        let texts = [
            vec!["eGUESS", asked, "eb\n", asked],
            vec!["ea\nGUESS", "ox\n", "eb\n", asked, "oy\n"],
            vec!["ea GUESS", &long, "eb\n", "oy\n"],
            vec!["eGUESS", "ox\n", asked, "oGUESS", &far, asked],
            vec!["eGUESS", &far, "eGUESS", "oGUESS", &far, &far],
        ];
        for steps in texts {
            let seen = ["secre", "cecre"].map(|guess| {
                let mut bench = Bench { order: InOrder::lagging(), ..Bench::default() };
                let mut seen = Vec::new();
                for step in &steps {
                    let stream = if step.starts_with('o') { Stream::Out } else { Stream::Error };
                    let text = step[1..].replace("GUESS", guess);
                    if *step == asked {
                        bench.ask();
                    } else {
                        bench.step(stream, Some(&text), Past::Nothing);
                    }
                    let texts = bench.printed.iter();
                    let texts = texts.map(|(stream, text)| (*stream, text.replace(guess, "G")));
                    seen.push(texts.collect::<Vec<_>>());
                }
                seen
            });
            assert_eq!(seen[0], seen[1], "{steps:?}");
        }
    }

    #[test]
    fn of_a_secret_that_is_asked_for_in_the_middle_the_rest_is_hidden() {
        let mut bench = Bench { order: InOrder::lagging(), ..Bench::default() };
        bench.step(Stream::Out, Some("a sec"), Past::Nothing);
        bench.ask();
        bench.step(Stream::Out, Some("ret b\n"), Past::Nothing);
        assert_eq!(bench.finish(Past::Nothing), [(Stream::Out, "a sec* b\n".to_owned())]);
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
            let mut kept = Bench { order: InOrder { lag_bytes: 5, ..InOrder::default() }, ..Bench::default() };
            for (error, text) in &steps {
                kept.step(stream(*error), Some(text), Past::Nothing);
                mixed.step(stream(*error), Some(text), Past::Nothing);
                shown.step(stream(*error), Some(text), Past::Short);
            }
            let (mixed, shown) = (mixed.finish(Past::Nothing), shown.finish(Past::Short));
            prop_assert_eq!(&kept.finish(Past::Nothing), &mixed);
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

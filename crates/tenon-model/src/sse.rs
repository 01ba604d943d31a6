//! Server-sent events: bytes in any split go in, whole events come out. Pure.
//!
//! Follows the parsing rules of the HTML standard (section 9.2.6), with two differences: an event
//! is bounded, and what is left at the end of the stream can be taken with [`SseParser::finish`],
//! because servers exist that close without the last blank line.

/// The most bytes of one event: twenty times the largest reply that a model gives in one piece.
const EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// An incremental parser for one stream.
#[derive(Debug, Default)]
pub struct SseParser {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// Whether the last byte was a CR, so that an LF now belongs to the same line end.
    after_cr: bool,
    /// Whether the first line, which may begin with a byte order mark, is behind us.
    begun: bool,
    event: SseEvent,
    has_data: bool,
}

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field; empty where there was none.
    pub name: String,
    /// The `data` lines joined by newlines; bytes that are not UTF-8 are replaced.
    pub data: String,
}

/// One event is larger than 8 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event larger than {} MiB", EVENT_BYTES_MAX >> 20)]
pub struct EventTooLarge;

impl SseParser {
    /// Takes the next bytes of the stream and appends the events that they complete to `events`.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), EventTooLarge> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, after) = rest.split_at(end);
            self.bound(line.len())?;
            if self.line.is_empty() {
                self.take_line(line, events);
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take_line(&whole, events);
                whole.clear();
                self.line = whole;
            }
            rest = match after {
                [b'\r', b'\n', next @ ..] => next,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, next @ ..] => next,
                [] => &[],
            };
        }
        self.bound(rest.len())?;
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the stream and returns the event that no blank line completed, if it has data.
    pub fn finish(mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let mut none = Vec::new();
        if !line.is_empty() {
            self.take_line(&line, &mut none);
        }
        self.has_data.then_some(self.event)
    }

    fn bound(&self, more: usize) -> Result<(), EventTooLarge> {
        let bytes = self.line.len() + self.event.data.len() + self.event.name.len() + more;
        if bytes > EVENT_BYTES_MAX { Err(EventTooLarge) } else { Ok(()) }
    }

    fn take_line(&mut self, line: &[u8], events: &mut Vec<SseEvent>) {
        let first = !std::mem::replace(&mut self.begun, true);
        let line = if first { line.strip_prefix(BOM).unwrap_or(line) } else { line };
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&String::from_utf8_lossy(value));
            }
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            // Comments have an empty field; `id` and `retry` serve reconnecting, which no model
            // server offers.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut events).unwrap();
        }
        events.extend(parser.finish());
        events
    }

    fn check(stream: &str, expected: &[(&str, &str)]) {
        let expected: Vec<SseEvent> = expected
            .iter()
            .map(|(name, data)| SseEvent { name: (*name).into(), data: (*data).into() })
            .collect();
        assert_eq!(parse(&[stream.as_bytes()]), expected, "{stream:?} whole");
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(parse(&bytes), expected, "{stream:?} byte by byte");
    }

    #[test]
    fn streams_are_read_as_the_standard_says() {
        check("data: a\n\ndata:b\n\n", &[("", "a"), ("", "b")]);
        check("event: x\r\ndata: a\r\n\r\n", &[("x", "a")]);
        check("event: x\rdata: a\r\rdata: b\r\r", &[("x", "a"), ("", "b")]);
        check("data: a\r\ndata: b\n\rdata: c\n\n", &[("", "a\nb"), ("", "c")]);
        check(": ping\n\n:\n\ndata: a\n: in between\ndata: b\n\n", &[("", "a\nb")]);
        check("\u{feff}data: bom\n\n", &[("", "bom")]);
        check("id: 7\nretry: 10\nfoo: bar\ndata\n\n", &[("", "")]);
        check("data:  two spaces\n\n", &[("", " two spaces")]);
        check("event: lost\n\ndata: a\n\n", &[("", "a")]);
        check("data: 汉字 👋\n\n", &[("", "汉字 👋")]);
        check("data: no blank line", &[("", "no blank line")]);
        check("event: none\n\n\n\n", &[]);
    }

    #[test]
    fn an_event_is_bounded() {
        let mut parser = SseParser::default();
        let line = vec![b'x'; 1024 * 1024];
        let mut events = Vec::new();
        let refused = (0..9).find(|_| parser.push(&line, &mut events).is_err());
        assert_eq!(refused, Some(8));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced() {
        assert_eq!(parse(&[b"data: \xff\xe6\n\n"])[0].data, "\u{fffd}\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            lines in prop::collection::vec(("(data|event|:|id|x)?", ":? ?", "[a-z汉\u{feff}👋: ]{0,8}", "(\r\n|\n|\r|\n\n|\r\r|\r\n\r\n)"), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let stream: Vec<u8> = lines.iter().flat_map(|(a, b, c, d)| [a, b, c, d]).flat_map(|s| s.bytes()).collect();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            at.extend([0, stream.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(parse(&pieces), parse(&[&stream]));
        }
    }
}

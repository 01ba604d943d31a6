//! Server-sent events.

use tenon_model::{SseEvent, SseParser};

use super::{Check, Target, pieces, shape, size};

pub(crate) const TARGET: Target = Target {
    name: "sse",
    promise: "a stream gives the same events however it is cut",
    seeds: &[
        b"event: ping\ndata: {}\n\n: comment\n\ndata: a\ndata: b\n\n",
        b"\xef\xbb\xbfdata: x\r\n\r\nid: 1\r\nretry: 5\r\ndata\r\n\r\ndata: no end",
        "data: 汉字 👋\r\rdata:\n\ndata: [DONE]\n\n".as_bytes(),
    ],
    words: &[
        "data:", "data: ", "event: ", "id:", "\n\n", "\r\n", "\r", "\n", ": ", "\u{feff}",
        "[DONE]", "汉", "👋",
    ],
    start: || -> Check {
        Box::new(|input| {
            let whole = parsed(&[input]);
            assert_eq!(whole, parsed(&pieces(input)), "cut into pieces");
            assert_eq!(whole, parsed(&input.chunks(1).collect::<Vec<_>>()), "byte by byte");
            let seen = whole.iter().take(2).map(|event| {
                (
                    size(event.name.len()),
                    size(event.data.len()),
                    event.data.matches('\n').count().min(3),
                )
            });
            shape(&(size(whole.len()), seen.collect::<Vec<_>>()))
        })
    },
};

fn parsed(pieces: &[&[u8]]) -> Vec<SseEvent> {
    let mut parser = SseParser::default();
    let mut events = Vec::new();
    for piece in pieces {
        assert!(parser.push(piece, &mut events).is_ok(), "no event of these inputs is too large");
    }
    events.extend(parser.finish());
    events
}

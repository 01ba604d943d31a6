//! The buffer for what a command prints.

use tenon_sandbox::{OutputBuffer, Piece, Stream};

use super::{Check, Target, pieces, shape, size};

/// Small, so that inputs reach it.
const BYTES_MAX: usize = 256;
/// Changes from one stream to the other; no command can print it by this byte alone.
const CHANGE: u8 = 0x1e;

pub(crate) const TARGET: Target = Target {
    name: "output",
    promise: "output is the same however it is cut, bounded, and free of control characters",
    seeds: &[
        b"line 1\nline 2\n\x1eoh no\n\x1eline 3\n",
        b"10%\r20%\r30%\r\n\x1b[31mred\x1b[0m \x1b]0;title\x07\x00\xff\xfe\n",
        "汉字汉字汉字 👋👋👋 no end".as_bytes(),
        b"a\x08b\x1b[2K\x1b[1A\x9b31mx\xc2\x9b32m\n",
    ],
    words: &[
        "\r", "\n", "\r\n", "\u{1b}[", "\u{1b}]", "\u{7}", "\u{1b}\\", "\u{1b}P", "\u{9b}",
        "\u{1e}", "\u{8}", "汉", "👋", "\u{202e}", "31m",
    ],
    start: || -> Check {
        Box::new(|input| {
            let whole = printed(input, |run| vec![run]);
            assert_eq!(whole, printed(input, pieces), "cut into pieces");
            assert_eq!(whole, printed(input, |run| run.chunks(1).collect()), "byte by byte");
            for stream in [Stream::Out, Stream::Error] {
                let texts = whole
                    .iter()
                    .filter(|piece| piece.stream == stream)
                    .map(|piece| piece.text.as_str());
                assert!(
                    texts.clone().map(str::len).sum::<usize>() <= BYTES_MAX,
                    "more than the bound"
                );
                let is_raw = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
                assert!(!texts.clone().any(|text| text.contains(is_raw)), "a control character");
            }
            let seen = whole.iter().take(2).map(|piece| {
                (
                    piece.stream,
                    size(piece.text.len()),
                    piece.text.lines().count().min(4),
                    size(piece.left_out_bytes_before as usize),
                )
            });
            shape(&seen.collect::<Vec<_>>())
        })
    },
};

fn printed(input: &[u8], cut: fn(&[u8]) -> Vec<&[u8]>) -> Vec<Piece> {
    let mut buffer = OutputBuffer::new(BYTES_MAX);
    let mut stream = Stream::Out;
    for run in input.split(|byte| *byte == CHANGE) {
        cut(run).into_iter().for_each(|piece| buffer.push(stream, piece));
        stream = if stream == Stream::Out { Stream::Error } else { Stream::Out };
    }
    buffer.finish(Stream::Out);
    buffer.finish(Stream::Error);
    buffer.pieces()
}

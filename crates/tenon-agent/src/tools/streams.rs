//! The two streams of a command in one text, in the order in which they came, and apart again.

use tenon_sandbox::Stream;

use crate::event::own_lines_at_end;

/// The lines that say which stream follows.
const OUT: &str = "[stdout]";
const ERROR: &str = "[stderr]";

/// Joins pieces in their order; `labels` tell the streams apart.
pub(super) fn joined<'a>(pieces: impl Iterator<Item = (Stream, &'a str)>, labels: bool) -> String {
    let mut text = String::new();
    let mut last = Stream::Out;
    for (stream, part) in pieces.filter(|(_, part)| !part.is_empty()) {
        if labels && stream != last {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(match stream {
                Stream::Out => OUT,
                Stream::Error => ERROR,
            });
            text.push('\n');
        }
        last = stream;
        text.push_str(part);
    }
    text
}

/// Returns a command's result with its standard output first, all of its standard error behind that, and
/// tenon's own lines last: in which order two streams come that are written at the same time is as it
/// happens. `None` if it has no two streams.
pub(crate) fn apart(result: &str) -> Option<String> {
    let lines: Vec<&str> = result.lines().collect();
    let (printed, notes) = lines.split_at(lines.len() - own_lines_at_end(result));
    let (mut out, mut error, mut is_error) = (Vec::new(), vec![ERROR], false);
    for line in printed {
        match *line {
            OUT => is_error = false,
            ERROR => is_error = true,
            line if is_error => error.push(line),
            line => out.push(line),
        }
    }
    (error.len() > 1).then(|| [&*out, &*error, notes].concat().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_came_in_another_order_are_the_same_apart() {
        let notes = "[walls] x\n[changes] 1 new";
        let one = format!("exit code 1\na\n[stderr]\nx\n[stdout]\nb\n[stderr]\ny\n{notes}");
        let apart_one = apart(&one).unwrap();
        assert_eq!(apart_one, format!("exit code 1\na\nb\n[stderr]\nx\ny\n{notes}"));
        for other in ["[stderr]\nx\ny\n[stdout]\na\nb", "a\nb\n[stderr]\nx\ny"] {
            let other = format!("exit code 1\n{other}\n{notes}");
            assert_eq!(apart(&other).as_ref(), Some(&apart_one), "{other}");
        }
        for other in ["b\na\n[stderr]\nx\ny", "a\nb\nx\n[stderr]\ny", "a\nb\n[stderr]\nx"] {
            let other = format!("exit code 1\n{other}\n{notes}");
            assert_ne!(apart(&other).as_ref(), Some(&apart_one), "{other}");
        }
        for other in ["", "a\nb\n", "[stdout]\na", "(no output)\n[changes] 1 new"] {
            assert_eq!(apart(other), None, "{other}");
        }
    }
}

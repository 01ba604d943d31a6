//! Words looked for in the whole texts of long results, which lie in files of their own: of a text that is
//! longer than a model is shown the log has the beginning and the end.
//!
//! A file is read in pieces that overlap, so that it may be as long as it likes.

#![expect(clippy::disallowed_methods, reason = "tenon's own folder of long results")]

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use memchr::memmem;

use super::{
    read::{Session, next_line, read_lines},
    words::{Words, excerpt},
};
use crate::masking::Masking;

/// How the name of such a file begins and ends, with digits between.
const NAME: (&str, &str) = ("output-", ".txt");
/// Hexadecimal digits in it, at most.
const DIGITS_MAX: usize = 32;

/// What is read at once.
const PIECE_BYTES: usize = 1 << 20;
/// What of a piece is read with the next one again: words, what is shown around them, and values that are
/// masked, are far shorter.
const OVERLAP_BYTES: usize = 64 << 10;

/// The words that are in a text, by their places in the list, and the first of them with what stands around.
pub(super) type Hit = (BTreeSet<usize>, String);

/// Returns the folder with the long results of the session of `log`, which lies in `results`.
pub(super) fn folder_of(results: &Path, id: &str, log: &Path) -> io::Result<PathBuf> {
    let (mut log, mut line) = (io::BufReader::new(File::open(log)?), Vec::new());
    next_line(&mut log, &mut line)?;
    let head = read_lines(id, &*line).map_or_else(|_| Session::empty(id), |(head, _)| head);
    let folder = results.join(head.results_of());
    // The name stands in the log; only one that is a single folder's is followed.
    let is_one_name = folder.parent() == Some(results);
    Ok(if is_one_name { folder } else { results.join(id) })
}

/// Returns the names of long results that `text` speaks of, each once.
pub(super) fn named_in(text: &[u8]) -> BTreeSet<String> {
    let (begin, end) = NAME;
    let named = memmem::find_iter(text, begin).filter_map(|at| {
        let rest = text.get(at + begin.len()..)?;
        let count = rest.iter().take(DIGITS_MAX).take_while(|it| it.is_ascii_hexdigit()).count();
        let (digits, rest) = rest.split_at_checked(count)?;
        let is_name = count > 0 && rest.starts_with(end.as_bytes());
        is_name.then(|| format!("{begin}{}{end}", String::from_utf8_lossy(digits)))
    });
    named.collect()
}

/// Looks for `words` in the file at `path`; `None` if it has none of them, is not there any more, or is no file.
pub(super) fn look_in(path: &Path, words: &Words, masking: &Masking) -> Option<Hit> {
    let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
    let mut file = File::open(path).ok().filter(|_| is_file)?;
    let (mut has, mut shown, mut most) = (BTreeSet::new(), String::new(), 0);
    let mut piece = Vec::new();
    loop {
        let wanted = (PIECE_BYTES - piece.len()) as u64;
        // What can be read of it is looked in.
        let read = file.by_ref().take(wanted).read_to_end(&mut piece).unwrap_or_default();
        let (text, is_end) = (String::from_utf8_lossy(&piece), (read as u64) < wanted);
        let in_piece = words.in_text(&text).0;
        if !in_piece.is_empty() {
            // What is near the end of a piece comes again, with what follows it.
            let end =
                if is_end { text.len() } else { text.len().saturating_sub(OVERLAP_BYTES / 2) };
            let mut at = 0;
            for line in text.split_inclusive('\n') {
                let (in_line, first) = words.in_text(line);
                // The line that has most of them is shown.
                if in_line.len() > most
                    && let Some((from, to)) = first
                    && at + from < end
                    && let Some(excerpt) = excerpt(&text, (at + from, at + to), masking)
                {
                    (most, shown) = (in_line.len(), excerpt);
                }
                at += line.len();
            }
            has.extend(in_piece);
        }
        if is_end || most == words.count() {
            break;
        }
        piece.drain(..piece.len().saturating_sub(OVERLAP_BYTES));
    }
    (!shown.is_empty()).then_some((has, shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_what_speaks_of_them() {
        let text =
            b"all of it is in /r/output-00ff.txt) output-1.txt output-.txt output-xy.txt output-";
        let names: Vec<String> = named_in(text).into_iter().collect();
        assert_eq!(names, ["output-00ff.txt", "output-1.txt"]);
    }

    #[test]
    fn a_long_file_is_read_in_pieces_and_words_and_values_at_their_ends_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output-1.txt");
        let masking = Masking::new(Vec::new);
        masking.learn(".env".as_ref(), "A_KEY=k-0123456789a\n");
        let words = Words::new("needle").unwrap();
        for before in (PIECE_BYTES - 24..PIECE_BYTES + 8).chain([3 * PIECE_BYTES]) {
            let text = format!(
                "{}\nkey k-0123456789a needle {}",
                "x ".repeat(before / 2),
                "y ".repeat(99)
            );
            std::fs::write(&path, text).unwrap();
            let (has, shown) = look_in(&path, &words, &masking).unwrap();
            assert_eq!(has.len(), 1);
            assert!(shown.contains("value of A_KEY from .env] needle y"), "{before}: {shown}");
            assert!(!shown.contains("k-0"), "{before}: {shown}");
        }
        assert_eq!(look_in(&folder.path().join("gone"), &words, &masking), None);
        assert_eq!(look_in(folder.path(), &words, &masking), None);
    }

    #[test]
    fn the_line_that_has_most_of_the_words_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output-1.txt");
        std::fs::write(&path, b"one\nthree two\nONE two\n\xff three one\n").unwrap();
        let words = Words::new("one two three").unwrap();
        let (has, shown) = look_in(&path, &words, &Masking::off()).unwrap();
        assert_eq!(has.len(), 3);
        assert!(shown.contains("three two"), "{shown}");
    }
}

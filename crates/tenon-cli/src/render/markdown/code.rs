//! Colours for code: comments, strings, numbers and the words of a language, line by line.
//!
//! Small on purpose. Grammars of an editor would add megabytes to the program and milliseconds to
//! the first block of code, and a terminal has few colours to show what they know.

use super::super::{Meaning, line::Line};

/// What a language looks like.
#[derive(Debug)]
struct Looks {
    names: &'static [&'static str],
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    /// What begins a string; one that begins with three signs goes on over lines.
    strings: &'static [&'static str],
    words: &'static str,
}

const C_STRINGS: &[&str] = &["\"", "'"];
const C_COMMENT: Option<(&str, &str)> = Some(("/*", "*/"));

const LANGUAGES: &[Looks] = &[
    Looks {
        names: &["rust", "rs"],
        line_comments: &["//"],
        block_comment: C_COMMENT,
        strings: &["\""],
        words: "as async await break const continue crate dyn else enum extern false fn for if \
                impl in let loop match mod move mut pub ref return self Self static struct super \
                trait true type unsafe use where while",
    },
    Looks {
        names: &["python", "py"],
        line_comments: &["#"],
        block_comment: None,
        strings: &["\"\"\"", "'''", "\"", "'"],
        words: "False None True and as assert async await break class continue def del elif else \
                except finally for from global if import in is lambda nonlocal not or pass raise \
                return try while with yield",
    },
    Looks {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx"],
        line_comments: &["//"],
        block_comment: C_COMMENT,
        strings: &["`", "\"", "'"],
        words: "as async await break case catch class const continue default delete do else enum \
                export extends false finally for from function if implements import in instanceof \
                interface let new null of private public return static super switch this throw \
                true try type typeof undefined var void while yield",
    },
    Looks {
        names: &["go", "golang"],
        line_comments: &["//"],
        block_comment: C_COMMENT,
        strings: &["`", "\"", "'"],
        words: "break case chan const continue default defer else fallthrough false for func go \
                goto if import interface iota map nil package range return select struct switch \
                true type var",
    },
    Looks {
        names: &["c", "h", "cpp", "c++", "cc", "hpp", "java", "csharp", "cs", "kotlin", "swift"],
        line_comments: &["//"],
        block_comment: C_COMMENT,
        strings: C_STRINGS,
        words: "abstract auto bool boolean break case catch char class const continue default \
                delete do double else enum extends extern false final float for fun func if \
                implements import in int interface internal let long namespace new null nullptr \
                override package private protected public return short signed sizeof static \
                string struct switch template this throw true try typedef typename union unsigned \
                using val var virtual void volatile while",
    },
    Looks {
        names: &["sh", "bash", "shell", "zsh", "console", "fish"],
        line_comments: &["#"],
        block_comment: None,
        strings: C_STRINGS,
        words: "case do done elif else esac export fi for function if in local return set then \
                unset until while",
    },
    Looks {
        names: &["json", "jsonc", "json5"],
        line_comments: &["//"],
        block_comment: None,
        strings: C_STRINGS,
        words: "true false null",
    },
    Looks {
        names: &["toml", "yaml", "yml", "ini", "conf", "dockerfile", "make", "makefile"],
        line_comments: &["#"],
        block_comment: None,
        strings: &["\"\"\"", "\"", "'"],
        words: "true false null yes no FROM RUN COPY ENV WORKDIR CMD ENTRYPOINT",
    },
    Looks {
        names: &["sql"],
        line_comments: &["--"],
        block_comment: C_COMMENT,
        strings: &["'", "\""],
        words: "ALTER AND AS BY CASE CREATE DELETE DESC DISTINCT DROP ELSE END EXISTS FROM GROUP \
                HAVING IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON OR ORDER \
                PRIMARY SELECT SET TABLE THEN UNION UPDATE VALUES WHEN WHERE",
    },
];

/// Draws code line by line.
#[derive(Debug, Clone, Default)]
pub(super) struct Highlighter {
    looks: Option<&'static Looks>,
    is_diff: bool,
    /// What ends the comment or string that the last line left open.
    open: Option<(&'static str, Meaning)>,
}

impl Highlighter {
    /// Returns a highlighter for a language as a fence names it.
    pub(super) fn new(language: &str) -> Self {
        let name = language.split([' ', ',', '{', ':']).next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        let looks = LANGUAGES.iter().find(|looks| looks.names.contains(&name.as_str()));
        Self { looks, is_diff: matches!(name.as_str(), "diff" | "patch"), open: None }
    }

    /// Draws the next line.
    pub(super) fn line(&mut self, text: &str) -> Line {
        let mut line = Line::default();
        if self.is_diff {
            let meaning = match text.bytes().next() {
                Some(b'+') => Meaning::Done,
                Some(b'-') => Meaning::Error,
                Some(b'@') => Meaning::Hint,
                _ => Meaning::Plain,
            };
            line.push(meaning, text);
            return line;
        }
        let Some(looks) = self.looks else { return Line::plain(text) };
        let mut rest = text;
        while !rest.is_empty() {
            let (length, meaning) = self.token(looks, rest, text);
            let (token, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            line.push(meaning, token);
            rest = after;
        }
        line
    }

    /// Returns the length and meaning of what `rest` begins with.
    fn token(&mut self, looks: &Looks, rest: &str, whole: &str) -> (usize, Meaning) {
        if let Some((end, meaning)) = self.open {
            let Some(found) = rest.find(end) else { return (rest.len(), meaning) };
            self.open = None;
            return (found + end.len(), meaning);
        }
        if let Some((begin, end)) = looks.block_comment
            && rest.starts_with(begin)
        {
            self.open = Some((end, Meaning::Aside));
            return (begin.len(), Meaning::Aside);
        }
        let after_space = rest.len() == whole.len()
            || whole.get(..whole.len() - rest.len()).is_some_and(|w| w.ends_with([' ', '\t']));
        let is_comment = |sign: &str| rest.starts_with(sign) && (after_space || sign != "#");
        if looks.line_comments.iter().any(|sign| is_comment(sign)) {
            return (rest.len(), Meaning::Aside);
        }
        if let Some(sign) = looks.strings.iter().find(|sign| rest.starts_with(**sign)) {
            return self.string(sign, rest);
        }
        let word =
            rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        if word == 0 {
            return (rest.chars().next().map_or(1, char::len_utf8), Meaning::Plain);
        }
        let text = rest.get(..word).unwrap_or_default();
        let is_known = looks.words.split_whitespace().any(|known| known == text)
            || looks.names.contains(&"sql")
                && looks.words.split_whitespace().any(|known| known.eq_ignore_ascii_case(text));
        match text.bytes().next() {
            Some(b'0'..=b'9') => (word, Meaning::Literal),
            _ if is_known => (word, Meaning::Keyword),
            _ => (word, Meaning::Plain),
        }
    }

    fn string(&mut self, sign: &'static str, rest: &str) -> (usize, Meaning) {
        let mut from = sign.len();
        while let Some(found) =
            rest.get(from..).and_then(|rest| rest.find([sign.chars().next().unwrap_or('"'), '\\']))
        {
            let place = from + found;
            let tail = rest.get(place..).unwrap_or_default();
            if tail.starts_with(sign) {
                return (place + sign.len(), Meaning::Literal);
            }
            from = place + tail.chars().take(2).map(char::len_utf8).sum::<usize>();
        }
        if sign.len() == 3 || sign == "`" {
            self.open = Some((sign, Meaning::Literal));
        }
        // An apostrophe alone is more often a word's than a string's.
        let is_string = sign != "'" || self.open.is_some();
        if is_string { (rest.len(), Meaning::Literal) } else { (sign.len(), Meaning::Plain) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Style;

    fn painted(language: &str, lines: &[&str]) -> Vec<String> {
        let style = Style::IN_COLOUR;
        let mut highlighter = Highlighter::new(language);
        lines
            .iter()
            .map(|line| highlighter.line(line).paint(&style).replace('\u{1b}', ""))
            .collect()
    }

    #[test]
    fn words_strings_numbers_and_comments_have_a_colour_each() {
        assert_eq!(
            painted("rust", &["let x = \"a\\\"b\"; // 1", "/* open", "fn */ fn f(&'a self) {}"]),
            [
                "[35mlet[0m x = [34m\"a\\\"b\"[0m; [2m// 1[0m",
                "[2m/* open[0m",
                "[2mfn */[0m [35mfn[0m f(&'a [35mself[0m) {}"
            ]
        );
        assert_eq!(
            painted("py", &["s = '''one", "two''' + 3  # 注释", "x = 'it''s'"]),
            ["s = [34m'''one[0m", "[34mtwo'''[0m + [34m3[0m  [2m# 注释[0m", "x = [34m'it''s'[0m"]
        );
        assert_eq!(painted("bash", &["echo ${#a} it's # c"]), ["echo ${#a} it's [2m# c[0m"]);
        assert_eq!(painted("diff", &["+a", "-b", " c"]), ["[32m+a[0m", "[31m-b[0m", " c"]);
        assert_eq!(painted("unknown", &["let 1"]), ["let 1"]);
    }
}

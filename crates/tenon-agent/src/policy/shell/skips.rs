//! What an error skips: where arithmetic fails, a readonly variable is set or `${…}` makes no sense, bash goes
//! on with the next line of the script. What stands behind on the same line may not run.

use super::syntax::AndOr;
use super::walk::Walker;
use super::word::UNKNOWN;
use super::words::is_name;

/// Variables that bash has made readonly.
const READONLY: &[&str] = &["BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"];

/// Operators between two values, the longer ones first.
const BETWEEN: &[&str] = &[
    "<<=", ">>=", "&&", "||", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "&=", "|=",
    "^=", "<", ">", "=", "+", "-", "*", "/", "%", "&", "|", "^", ",",
];

/// Those of them that set a name.
const ASSIGNING: &[&str] = &["<<=", ">>=", "+=", "-=", "*=", "&=", "|=", "^=", "="];

impl Walker {
    /// Takes in that an error may end the line that is being read.
    pub(super) fn may_skip(&mut self) {
        let at = self.changes.len();
        self.sure.skips.get_or_insert(at);
    }

    /// Reads the lines of a script, each of which runs also where an error has ended the one before. A text
    /// within the line (`eval`) may be ended as a whole.
    pub(super) fn lines(&mut self, list: &[AndOr]) {
        let around = self.sure.skips.take();
        for line in list.chunk_by(|one, _| !one.ends_line) {
            self.list(line);
            if let Some(start) = self.sure.skips {
                self.forget_since(start);
            }
            self.sure.skips = self.sure.skips.filter(|_| self.scripts > 1);
        }
        self.sure.skips = around;
    }

    /// Takes in that setting a variable may be an error.
    pub(super) fn note_readonly(&mut self, name: &str) {
        if self.unsteady.contains(name) || READONLY.contains(&name) {
            self.may_skip();
        }
    }

    /// Takes in that a text is taken for arithmetic, as it is or as the offset and length in `${x:…:…}`.
    pub(super) fn note_arithmetic(&mut self, text: &str) {
        let text = text.replace(UNKNOWN, "1");
        let is_sound = match text.strip_prefix(':') {
            Some(cut) => {
                let length = cut.split_once(':').map_or("", |(_, length)| length);
                cut.split(':').all(|part| self.is_sound(part)) && !length.contains('-')
            }
            None => {
                matches!(text.as_str(), "@" | "*") || text.split(';').all(|it| self.is_sound(it))
            }
        };
        if !is_sound {
            self.may_skip();
        }
    }

    /// Says whether arithmetic surely has a value, as far as the line says what is in it.
    fn is_sound(&self, text: &str) -> bool {
        let mut rest = text.trim();
        let (mut depth, mut needs_value) = (0_usize, true);
        // A name may be set if no operator but those that set stands in front of it.
        let (mut may_set, mut is_settable) = (true, false);
        while !rest.is_empty() {
            let word = rest.len() - rest.trim_start_matches(is_of_word).len();
            let (word, behind) = rest.split_at(word);
            if needs_value && !word.is_empty() {
                if !self.is_number(word) {
                    return false;
                }
                (needs_value, is_settable) = (false, may_set && is_name(word));
                rest = behind.trim_start();
            } else if needs_value {
                let Some(after) = rest.strip_prefix(['(', '+', '-', '!', '~']) else {
                    return false;
                };
                depth += usize::from(rest.starts_with('('));
                may_set = rest.starts_with('(');
                rest = after.trim_start();
            } else if let Some(after) = rest.strip_prefix(')') {
                let Some(outer) = depth.checked_sub(1) else { return false };
                (depth, is_settable) = (outer, false);
                rest = after.trim_start();
            } else if let Some(after) =
                rest.strip_prefix("++").or(rest.strip_prefix("--")).filter(|_| is_settable)
            {
                is_settable = false;
                rest = after.trim_start();
            } else {
                let Some(sign) = BETWEEN.iter().find(|sign| rest.starts_with(**sign)) else {
                    return false;
                };
                let after = rest.get(sign.len()..).unwrap_or_default().trim_start();
                let divides = matches!(*sign, "/" | "%");
                if divides && !after.starts_with(|digit| matches!(digit, '1'..='9'))
                    || ASSIGNING.contains(sign) && !is_settable
                {
                    return false;
                }
                (needs_value, may_set) = (true, ASSIGNING.contains(sign) || *sign == ",");
                rest = after;
            }
        }
        depth == 0 && (!needs_value || text.trim().is_empty())
    }

    /// Says whether a word of arithmetic is a number: by itself, or by its value if that is known.
    fn is_number(&self, word: &str) -> bool {
        let is_plain = |text: &str| {
            let digits = text.strip_prefix('-').unwrap_or(text);
            digits.bytes().all(|byte| byte.is_ascii_digit())
                && (!digits.starts_with('0') || digits == "0")
        };
        if !is_name(word) {
            return is_plain(word);
        }
        let value = self.variables.get(word).and_then(Option::as_deref);
        value.is_none_or(|pieces| {
            let value = super::Word { pieces: pieces.to_vec() };
            value.literal().map_or(value.prefix().is_empty(), is_plain)
        })
    }
}

fn is_of_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_'
}

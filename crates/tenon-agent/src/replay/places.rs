//! Paths as they were called where a session was recorded, and as they are called here. Nothing else
//! in a text is ever replaced. Pure.

use serde_json::Value;

/// How the file of a long result is named: this, sixteen hexadecimal digits, and an ending. The
/// digits are random.
const RESULT_FILE: (&str, usize, &str) = ("output-", 16, ".txt");

/// Pairs of names.
#[derive(Debug, Default)]
pub(super) struct PlaceNames {
    /// There and here.
    pairs: Vec<(String, String)>,
    /// The folders above, in what is told of here alone: what was meant there is meant here.
    above: Vec<(String, String)>,
}

impl PlaceNames {
    /// Takes what is called otherwise, and the folders above it.
    pub(super) fn new(pairs: Vec<(String, String)>, above: Vec<(String, String)>) -> Self {
        let is_name = |(there, here): &(String, String)| there.len() > 1 && here.len() > 1;
        // A name follows, and what is beneath `/` begins with that.
        let beneath = |(there, here): (String, String)| match there.as_str() {
            "/" => (String::new(), here),
            _ => (there, here),
        };
        Self {
            pairs: pairs.into_iter().filter(is_name).collect(),
            above: above.into_iter().map(beneath).filter(|(_, here)| here.len() > 1).collect(),
        }
    }

    /// Returns `text` with the names of here.
    pub(super) fn here(&self, text: &str) -> String {
        let pairs = self.pairs.iter().map(|(there, here)| (there.as_str(), here.as_str()));
        replaced(text, &pairs.collect::<Vec<_>>())
    }

    /// Returns `text` with the names of there.
    pub(super) fn there(&self, text: &str) -> String {
        let pairs = self.pairs.iter().chain(&self.above);
        let pairs = pairs.map(|(there, here)| (here.as_str(), there.as_str()));
        replaced(text, &pairs.collect::<Vec<_>>())
    }

    /// Returns `value` with the names of here in each of its texts.
    pub(super) fn here_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.here(text)),
            Value::Array(values) => values.iter().map(|value| self.here_in(value)).collect(),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| (name.clone(), self.here_in(value));
                fields.iter().map(field).collect()
            }
            other => other.clone(),
        }
    }

    /// Learns how the files of long results in `here` are called in `there`, which say the same.
    pub(super) fn learn_results(&mut self, there: &str, here: &str) {
        let (there, here) = (result_files(there), result_files(here));
        if there.len() == here.len() {
            let new = there.into_iter().zip(here).filter(|(there, here)| there != here);
            self.pairs.extend(new.map(|(there, here)| (there.to_owned(), here.to_owned())));
        }
    }
}

/// Replaces every name, the longest where several begin at one place, and none twice.
fn replaced(text: &str, pairs: &[(&str, &str)]) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let fits = |(from, _): &&(&str, &str)| rest.strip_prefix(from).is_some_and(ends_a_name);
        let (taken, put) = match pairs.iter().filter(fits).max_by_key(|(from, _)| from.len()) {
            Some((from, to)) => (from.len(), *to),
            None => (next.len_utf8(), rest.get(..next.len_utf8()).unwrap_or_default()),
        };
        whole.push_str(put);
        rest = rest.get(taken..).unwrap_or_default();
    }
    whole
}

/// Whether a name ends in front of `rest`: `/work` is not in `/workshop`, nor in `/work.old`.
fn ends_a_name(rest: &str) -> bool {
    let mut rest = rest.chars();
    let goes_on = |character: char| character.is_alphanumeric() || "_-".contains(character);
    match rest.next() {
        Some('.') => !rest.next().is_some_and(goes_on),
        Some(character) => !goes_on(character),
        None => true,
    }
}

fn result_files(text: &str) -> Vec<&str> {
    let (start, digits, end) = RESULT_FILE;
    let length = start.len() + digits + end.len();
    let names = text.match_indices(start).filter_map(|(at, _)| text.get(at..at + length));
    let is_file = |name: &&str| {
        name.ends_with(end)
            && name
                .get(start.len()..start.len() + digits)
                .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    names.filter(is_file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_whole_and_once() {
        let pairs =
            [("/home/u/work", "/copy/0"), ("/home/u/work/sub", "/copy/1"), ("/copy/0", "/x")];
        let pairs = pairs.map(|(there, here)| (there.to_owned(), here.to_owned()));
        let names = PlaceNames::new(pairs.to_vec(), Vec::new());
        for (there, here) in [
            ("cd /home/u/work && ls", "cd /copy/0 && ls"),
            ("/home/u/work/a /home/u/work/sub/b", "/copy/0/a /copy/1/b"),
            (
                "/home/u/workshop /home/u/work.old /home/u/work-2",
                "/home/u/workshop /home/u/work.old /home/u/work-2",
            ),
            ("In /home/u/work. 汉字:/home/u/work", "In /copy/0. 汉字:/copy/0"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(names.here(there), here);
            assert_eq!(names.there(here), there, "{here}");
        }
        let value = serde_json::json!({"a": ["/home/u/work", 1], "/home/u/work": null});
        let expected = serde_json::json!({"a": ["/copy/0", 1], "/home/u/work": null});
        assert_eq!(names.here_in(&value), expected);
    }

    #[test]
    fn folders_above_are_called_as_there_and_never_as_here() {
        let pair = |there: &str, here: &str| (there.to_owned(), here.to_owned());
        let above = vec![pair("/u", "/c/roots"), pair("/", "/c")];
        let names = PlaceNames::new(vec![pair("/u/work", "/c/roots/0")], above);
        assert_eq!(names.there("/c/roots/0/a /c/roots/out /c/x /cc"), "/u/work/a /u/out /x /cc");
        assert_eq!(names.here("/u/work/a /u/out /x"), "/c/roots/0/a /u/out /x");
    }

    #[test]
    fn files_of_long_results_are_known_again() {
        let mut names = PlaceNames::default();
        let (there, here) =
            ("in /r/output-0123456789abcdef.txt)", "in /r/output-fedcba9876543210.txt)");
        names.learn_results(there, here);
        assert_eq!((names.there(here).as_str(), names.here(there).as_str()), (there, here));
        assert!(result_files("output-x output-0123456789abcdeg.txt output-").is_empty());
    }
}

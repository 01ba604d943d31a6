//! Small models repeat themselves, give up at errors, claim what they have not done, and write a
//! whole file where a line was to be added.
//!
//! Pure: looks at the conversation and at the reply that is about to count, and returns the hint
//! with which the model is asked once more. The rest of the program never sees those replies.

use crate::{
    generate::Limits,
    grammar::Allowed,
    known::Known,
    prompt::{CHINESE_PLEASE, Kind, Line, Speaker, is_han},
    tags::Block,
};

/// How often one reply is asked for again.
pub(crate) const HINTS_MAX: usize = 2;
/// Results in a row that may hold an answer back, should the model not do what they say.
const OVERLOOKED_MAX: usize = 3;
/// A claim of change stands in the first sentence or two.
pub(crate) const CLAIM_BYTES: usize = 160;

/// Words that claim a change of files.
const CLAIMS: [&str; 24] = [
    "created",
    "added",
    "updated",
    "changed",
    "edited",
    "renamed",
    "fixed",
    "replaced",
    "wrote",
    "written",
    "removed",
    "deleted",
    "modified",
    "has been",
    "is now",
    "now has",
    "now says",
    "已",
    "改成",
    "修改了",
    "创建了",
    "添加了",
    "替换",
    "删除了",
];

/// Words with which a function is ordered.
const ADDS: [&str; 6] = ["add", "create", "write", "make", "define", "implement"];
/// Of these, what is no description of how things stand.
const SURE_CLAIMS: [&str; 2] = ["has been", "have been"];

/// What came before the reply, as far as the guards care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing<'a> {
    last_call: Option<&'a Block>,
    after_error: bool,
    /// How many results came since a change left something undone; 0 if none did.
    overlooked: usize,
    /// The word that the last such change left standing.
    left: Option<&'a str>,
    /// Whether something ran in this turn that may have changed files.
    changed: bool,
    asked_for_change: bool,
    prompt: &'a str,
}

impl<'a> Standing<'a> {
    /// Looks at the lines since the person's last prompt.
    pub(crate) fn of(lines: &'a [Line]) -> Self {
        let prompt = lines
            .iter()
            .rposition(|line| line.speaker == Speaker::User && line.kind == Kind::Text)
            .unwrap_or(0);
        let text = lines.get(prompt).map_or("", |line| line.text.as_str());
        let mut standing = Self {
            prompt: text,
            last_call: None,
            after_error: false,
            overlooked: 0,
            left: None,
            changed: false,
            asked_for_change: asks_for_change(text),
        };
        for line in lines.iter().skip(prompt) {
            match &line.kind {
                Kind::Block(block) => standing.last_call = Some(block),
                Kind::Result { failed, overlooked } => {
                    standing.after_error = *failed;
                    let changes = matches!(
                        standing.last_call,
                        Some(Block::Bash { .. } | Block::WriteFile { .. } | Block::EditFile { .. })
                    );
                    standing.changed |= changes && !failed;
                    // Looking does not do what is left to do.
                    match overlooked {
                        Some(hint) => {
                            standing.overlooked += 1;
                            standing.left = hint.split(' ').next();
                        }
                        None if changes && !failed => standing.overlooked = 0,
                        None if standing.overlooked > 0 => standing.overlooked += 1,
                        None => {}
                    }
                }
                Kind::Text => {}
            }
        }
        standing
    }

    /// Returns what the reply must hold.
    pub(crate) fn limits<'k>(&self, known: &'k Known) -> Limits<'k>
    where
        'a: 'k,
    {
        let undone = self.allowed() == Allowed::Edits;
        Limits {
            known,
            old_holds: self.left.filter(|_| undone),
            new_holds: if self.changed { None } else { missing_name(self.prompt) },
        }
    }

    /// Returns what the reply may be: no answer yet where it is known what is left to do.
    pub(crate) fn allowed(&self) -> Allowed {
        let undone = (1..=OVERLOOKED_MAX).contains(&self.overlooked) && self.asked_for_change;
        if undone { Allowed::Edits } else { Allowed::All }
    }

    /// Returns whether an answer, whatever it says, would be sent back.
    pub(crate) fn forbids_answer(&self) -> bool {
        self.after_error && self.asked_for_change
    }

    /// Returns whether an answer may be sent back for what it claims.
    pub(crate) fn doubts_answer(&self) -> bool {
        !self.changed || self.prompt.ends_with(CHINESE_PLEASE)
    }

    fn loss(&self, block: &Block) -> Option<String> {
        match block {
            Block::WriteFile { path, content } if would_lose(self.prompt, path, content) => {
                Some(format!(
                    "{path} exists, and this would delete what stands in it. Use edit_file: \
                     repeat the lines next to the place in <old>, and in <new> with the change."
                ))
            }
            _ => None,
        }
    }

    fn claims_falsely(&self, answer: &str) -> bool {
        let claims: &[&str] = if self.asked_for_change { &CLAIMS } else { &SURE_CLAIMS };
        !self.changed && !is_question(self.prompt) && claims_change(answer, claims)
    }

    /// Returns the hint with which `block` is sent back, if it is.
    pub(crate) fn hint(&self, block: &Block) -> Option<String> {
        match block {
            Block::Answer { .. } if self.forbids_answer() => Some(
                "The last call failed. Mend it with another call if the task is not done. \
                 If nothing can be done, answer and say what failed."
                    .into(),
            ),
            Block::Answer { text } if self.claims_falsely(text) => {
                let hint = if self.asked_for_change {
                    "No file was changed. Do it now with edit_file, write_file or bash."
                } else {
                    "That was not done in this turn. Answer with what the file holds."
                };
                Some(hint.into())
            }
            Block::Answer { text } if self.prompt.ends_with(CHINESE_PLEASE) && !is_han(text) => {
                Some(CHINESE_PLEASE.into())
            }
            Block::Answer { .. } => None,
            call if self.last_call == Some(call) => Some(
                "You have just done exactly that; its result is above. \
                 Do the next thing, or answer if everything is done."
                    .into(),
            ),
            Block::EditFile { .. } | Block::WriteFile { .. } if !self.asked_for_change => {
                Some("The person asked for no change of files. Answer with what you saw.".into())
            }
            Block::WriteFile { .. } => self.loss(block),
            _ => None,
        }
    }
}

/// Returns the function to be added that the person named, where nothing that is shown has it.
fn missing_name(prompt: &str) -> Option<&str> {
    let (shown, _) = prompt.rsplit_once("\n\n").unwrap_or_default();
    let task = task(prompt);
    let adds =
        task.split_whitespace().take(2).any(|word| ADDS.contains(&word.to_lowercase().as_str()));
    let (before, _) = task.split_once('(').filter(|_| adds)?;
    let other = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '_');
    let name = before.rsplit(other).next()?;
    (name.len() >= 3 && !shown.contains(name)).then_some(name)
}

/// Returns whether writing `content` would drop most lines of a file that the prompt shows.
fn would_lose(prompt: &str, path: &str, content: &str) -> bool {
    let shown = format!("Content of {path}:\n```\n");
    let Some((_, rest)) = prompt.split_once(&shown) else { return false };
    let before = rest.split("\n```").next().unwrap_or(rest);
    let lines: Vec<&str> = before.lines().filter(|line| !line.trim().is_empty()).collect();
    let kept = lines.iter().filter(|line| content.lines().any(|new| new == **line)).count();
    kept * 2 < lines.len()
}

/// Returns whether `text` says that something was changed.
fn claims_change(text: &str, claims: &[&str]) -> bool {
    let (start, _) = text.split_at(text.floor_char_boundary(CLAIM_BYTES));
    let start = start.to_lowercase();
    claims.iter().any(|claim| start.contains(claim))
}

/// What begins with these words, or ends with a question mark, is answered from what is there.
const LOOKS: [&str; 20] = [
    "what",
    "how many",
    "which",
    "who",
    "where",
    "why",
    "does ",
    "is ",
    "are ",
    "read ",
    "show ",
    "look ",
    "open ",
    "run ",
    "execute ",
    "tell ",
    "please run",
    "please read",
    "运行",
    "检查",
];

/// Unless one of these is asked for besides: `and fix it`, not `the edit`.
const CHANGES: [&str; 13] = [
    "fix", "change", "add", "edit", "write", "create", "rename", "replace", "update", "make",
    "repair", "remove", "delete",
];
const CHANGES_CHINESE: [char; 5] = ['改', '修', '加', '写', '删'];

fn asks_for_change(prompt: &str) -> bool {
    let task = task(prompt).to_lowercase();
    let looks = LOOKS.iter().any(|word| task.starts_with(word)) || is_question(prompt);
    let words: Vec<&str> = task.split_whitespace().collect();
    let besides = words.array_windows().any(|[before, word]| {
        matches!(*before, "and" | "then" | "to" | "please")
            && CHANGES.iter().any(|change| word.starts_with(change))
    });
    !looks || besides || task.contains(CHANGES_CHINESE)
}

fn is_question(prompt: &str) -> bool {
    task(prompt).ends_with(['?', '\u{ff1f}'])
}

/// Returns what the person wrote, without what stands in front of it.
fn task(prompt: &str) -> &str {
    let task = prompt.rsplit("\n\n").next().unwrap_or(prompt);
    task.trim_end_matches(CHINESE_PLEASE).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str) -> Line {
        Line::text(Speaker::User, text)
    }

    fn result(failed: bool) -> Line {
        Line {
            speaker: Speaker::User,
            text: "Result".into(),
            kind: Kind::Result { failed, overlooked: None },
        }
    }

    fn bash(command: &str) -> Block {
        Block::Bash { command: command.into() }
    }

    fn answer(text: &str) -> Block {
        Block::Answer { text: text.into() }
    }

    fn check(lines: &[Line], block: &Block, hint_start: Option<&str>) {
        let hint = Standing::of(lines).hint(block);
        let fits = match (&hint, hint_start) {
            (Some(hint), Some(start)) => hint.starts_with(start),
            (None, None) => true,
            _ => false,
        };
        assert!(fits, "{block:?}: {hint:?}");
    }

    #[test]
    fn the_same_call_twice_in_a_row_is_sent_back() {
        let lines = [prompt("List the files"), Line::block(bash("ls")), result(false)];
        check(&lines, &bash("ls"), Some("You have just done"));
        check(&lines, &bash("ls -l"), None);
        let later = [&lines[..], &[prompt("Again")]].concat();
        check(&later, &bash("ls"), None);
    }

    #[test]
    fn an_answer_straight_after_an_error_is_sent_back() {
        let mut lines = vec![prompt("Fix it"), Line::block(bash("x")), result(true)];
        check(&lines, &answer("Done."), Some("The last call failed"));
        lines.extend([Line::block(bash("y")), result(false)]);
        check(&lines, &answer("Done."), None);
        let lines = [prompt("Run x"), Line::block(bash("x")), result(true)];
        check(&lines, &answer("It failed."), None);
    }

    #[test]
    fn changes_nobody_asked_for_are_sent_back() {
        let edit = Block::EditFile { path: "a".into(), old: "b".into(), new: "c".into() };
        let refused = Some("The person asked for no change");
        check(&[prompt("Run python3 test.py and tell me whether it passes")], &edit, refused);
        check(&[prompt("What is in a?")], &edit, refused);
        check(&[prompt("Read a to verify the edit worked")], &edit, refused);
        check(&[prompt("Run the tests and fix what fails")], &edit, None);
        check(&[prompt("运行 a,修好它")], &edit, None);
        check(&[prompt("Let a say c")], &edit, None);
    }

    #[test]
    fn a_first_change_brings_the_function_that_was_named() {
        let check = |task: &str, expected: Option<&str>| {
            let prompt = format!("Content of a:\n```\ndef one(): pass\n```\n\n{task}");
            assert_eq!(missing_name(&prompt), expected, "{task}");
        };
        check("Add a function two(x) to a", Some("two"));
        check("Please add two(x) to a", Some("two"));
        check("Add a docstring to one()", None);
        check("Fix two(x)", None);
        check("Add a line (any)", None);
    }

    #[test]
    fn what_was_overlooked_comes_before_the_answer() {
        let edit = Block::EditFile { path: "a".into(), old: "b".into(), new: "c".into() };
        let left = Line {
            kind: Kind::Result { failed: false, overlooked: Some("b".into()) },
            ..result(false)
        };
        let mut lines = vec![prompt("Rename b to c"), Line::block(edit), left.clone()];
        assert_eq!(Standing::of(&lines).allowed(), Allowed::Edits);
        lines.extend([Line::block(bash("x")), result(false)]);
        assert_eq!(Standing::of(&lines).allowed(), Allowed::All);
        lines.extend(vec![left; 4]);
        assert_eq!(Standing::of(&lines).allowed(), Allowed::All);
    }

    #[test]
    fn writing_over_a_file_that_is_shown_is_sent_back() {
        let shown = [prompt("Files: a\n\nContent of a:\n```\none\n\ntwo\n```\n\nAdd three to a")];
        let write = |path: &str, content: &str| Block::WriteFile {
            path: path.into(),
            content: content.into(),
        };
        check(&shown, &write("a", "three\n"), Some("a exists"));
        check(&shown, &write("a", "one\ntwo\nthree\n"), None);
        check(&shown, &write("b", "three\n"), None);
    }

    #[test]
    fn a_claim_of_change_without_one_is_sent_back() {
        let ask = || prompt("Files: a\n\nAdd a line to a");
        check(&[ask()], &answer("I have added the line."), Some("No file was changed"));
        check(&[ask()], &answer("已添加。"), Some("No file was changed"));
        check(&[ask()], &answer("There is no file a."), None);
        check(&[prompt("Read a")], &answer("a has been updated."), Some("That was not done"));
        check(&[prompt("Read a")], &answer("a is now red."), None);
        check(&[prompt("What has been updated?")], &answer("It has been updated."), None);
        let wrote = Block::WriteFile { path: "a".into(), content: "x".into() };
        check(&[ask(), Line::block(wrote), result(false)], &answer("I added it."), None);
    }
}

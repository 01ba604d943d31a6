//! Small models repeat themselves, give up at errors and claim what they have not done.
//!
//! Pure: looks at the conversation and at the reply that is about to count, and returns the hint
//! with which the model is asked once more. The rest of the program never sees those replies.

use crate::{
    prompt::{Kind, Line, Speaker},
    tags::Block,
};

/// How often one reply is asked for again.
pub(crate) const HINTS_MAX: usize = 2;
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

/// What came before the reply, as far as the guards care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing<'a> {
    last_call: Option<&'a Block>,
    after_error: bool,
    /// Whether something ran in this turn that may have changed files.
    changed: bool,
    asked_for_change: bool,
}

impl<'a> Standing<'a> {
    /// Looks at the lines since the person's last prompt.
    pub(crate) fn of(lines: &'a [Line]) -> Self {
        let prompt = lines
            .iter()
            .rposition(|line| line.speaker == Speaker::User && line.kind == Kind::Text)
            .unwrap_or(0);
        let mut standing = Self {
            last_call: None,
            after_error: false,
            changed: false,
            asked_for_change: lines.get(prompt).is_some_and(|line| asks_for_change(&line.text)),
        };
        for line in lines.iter().skip(prompt) {
            match &line.kind {
                Kind::Block(block) => standing.last_call = Some(block),
                Kind::Result { failed } => {
                    standing.after_error = *failed;
                    let changes = matches!(
                        standing.last_call,
                        Some(Block::Bash { .. } | Block::WriteFile { .. } | Block::EditFile { .. })
                    );
                    standing.changed |= changes && !failed;
                }
                Kind::Text => {}
            }
        }
        standing
    }

    /// Returns whether an answer, whatever it says, would be sent back.
    pub(crate) fn forbids_answer(&self) -> bool {
        self.after_error
    }

    /// Returns whether an answer may be sent back for what it claims.
    pub(crate) fn doubts_answer(&self) -> bool {
        self.asked_for_change && !self.changed
    }

    /// Returns the hint with which `block` is sent back, if it is.
    pub(crate) fn hint(&self, block: &Block) -> Option<String> {
        match block {
            Block::Answer { .. } if self.after_error => Some(
                "The last call failed. Mend it with another call if the task is not done. \
                 If nothing can be done, answer and say what failed."
                    .into(),
            ),
            Block::Answer { text } if self.doubts_answer() && claims_change(text) => Some(
                "No file was changed yet. Do it now with edit_file, write_file or bash.".into(),
            ),
            Block::Answer { .. } => None,
            call if self.last_call == Some(call) => Some(
                "You have just done exactly that; its result is above. \
                 Do the next thing, or answer if everything is done."
                    .into(),
            ),
            _ => None,
        }
    }
}

/// Returns whether `text` says that something was changed.
pub(crate) fn claims_change(text: &str) -> bool {
    let (start, _) = text.split_at(text.floor_char_boundary(CLAIM_BYTES));
    let start = start.to_lowercase();
    CLAIMS.iter().any(|claim| start.contains(claim))
}

/// Questions that the person asks with these words are answered from what is there.
fn asks_for_change(prompt: &str) -> bool {
    let task = prompt.rsplit("\n\n").next().unwrap_or(prompt).to_lowercase();
    let question =
        ["what", "how many", "which", "who", "where", "why", "does ", "is ", "read ", "show "];
    !question.iter().any(|word| task.starts_with(word)) && !task.ends_with(['?', '?'])
}

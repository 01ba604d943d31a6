//! What a call would write, as far as the person who is asked about it must see it. Pure.

use tenon_agent::{Leaves, Question};
use tenon_sandbox::Access;

/// Bytes of what would be written that are shown: nobody reads more before answering, and all of it is
/// made ready for the screen at once.
pub(crate) const SHOWN_BYTES_MAX: usize = 256 * 1024;

/// The arguments that go into a file, or say what is taken out of it.
const WRITTEN: [&str; 3] = ["content", "new_text", "old_text"];

/// Returns whether a yes needs all of it to have been shown: what other programs take commands from, and
/// what is outside of the workspace or where secrets are.
pub(crate) fn must_be_seen(question: &Question) -> bool {
    let leaves = question.decision.leaves.as_ref();
    let is_write = |leaves: &Leaves| match leaves {
        Leaves::ProtectedFile => true,
        Leaves::Path { access, .. } => *access == Access::Write,
        _ => false,
    };
    question.tool == "written" || leaves.is_some_and(is_write)
}

/// Returns the texts that go with the subject, each with its name: what would be written, what is
/// searched for.
pub(crate) fn texts(question: &Question) -> Vec<(&str, &str)> {
    let arguments = question.arguments.as_object().into_iter().flatten();
    let texts = arguments.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    // The subject is where the path leads.
    let stands_above =
        |name: &str, text: &str| !WRITTEN.contains(&name) && text == question.subject;
    texts
        .filter(|(name, text)| *name != "path" && !text.is_empty() && !stands_above(name, text))
        .collect()
}

/// Returns how many bytes it is long if that is too long to be shown.
pub(crate) fn too_long(question: &Question) -> Option<usize> {
    let bytes = texts(question).iter().map(|(_, text)| text.len()).sum();
    Some(bytes).filter(|bytes| *bytes > SHOWN_BYTES_MAX)
}

/// Returns whether an edit is of more than one place.
pub(crate) fn replaces_all(question: &Question) -> bool {
    question.arguments.get("replace_all").and_then(serde_json::Value::as_bool) == Some(true)
}

//! Instructions that a project or a user keeps for agents (AGENTS.md), bounded in size.

/// The most bytes of instructions that are put in front of the first prompt: about 8,000 tokens,
/// more than any well-kept file and less than what would crowd out the work.
///
/// ```
/// use tenon_agent::{INSTRUCTIONS_BYTES_MAX, Instruction};
///
/// let text = "Run the tests.\n".repeat(10_000);
/// let instruction = Instruction { source: "AGENTS.md".into(), text };
/// // Worth a warning before the session starts: the model will not see all of it.
/// assert!(instruction.text.len() > INSTRUCTIONS_BYTES_MAX);
/// ```
pub const INSTRUCTIONS_BYTES_MAX: usize = 32 * 1024;

/// One file of instructions.
///
/// ```
/// # use tenon_agent::{AgentOptions, Instruction};
/// # use std::sync::Arc;
/// # use tenon_model::ScriptedProvider;
/// # use tenon_sandbox::Workspace;
/// # let provider = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Hello."}]}"#)?);
/// # let workspace = Workspace::open(".".as_ref())?;
/// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
/// let instruction =
///     |source: &str, text: &str| Instruction { source: source.into(), text: text.into() };
/// let mut options = AgentOptions::new(provider, workspace, sandbox);
/// options.instructions = vec![
///     instruction("AGENTS.md", "Run `make check` after a change."),
///     instruction("docs/AGENTS.md", "Wrap lines at 80 columns."),
/// ];
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Where it comes from, for the model and for people: a path.
    pub source: String,
    /// What it says.
    pub text: String,
}

/// Returns the text for the model, and a note for people if something had to be cut. The
/// instructions come in the order of `instructions`; the last ones are nearest to the work, so
/// what is cut is cut from the first.
pub(crate) fn render(instructions: &[Instruction]) -> (Option<String>, Option<String>) {
    let mut left = INSTRUCTIONS_BYTES_MAX;
    let mut parts = Vec::new();
    let mut notes = Vec::new();
    for instruction in instructions.iter().rev() {
        let text = instruction.text.trim();
        if text.is_empty() {
            continue;
        }
        let kept = head(text, left);
        left -= kept.len();
        let mut part = format!("Instructions from {}:\n\n{kept}", instruction.source);
        if kept.len() < text.len() {
            let note = format!(
                "{}: {} of {} bytes are left out (the limit for instructions is {} bytes)",
                instruction.source,
                text.len() - kept.len(),
                text.len(),
                INSTRUCTIONS_BYTES_MAX
            );
            part.push_str(&format!("\n\n[{note}]"));
            notes.push(note);
        }
        parts.push(part);
    }
    parts.reverse();
    let joined = |parts: Vec<String>, between| (!parts.is_empty()).then(|| parts.join(between));
    (joined(parts, "\n\n"), joined(notes, "; "))
}

fn head(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(source: &str, text: String) -> Instruction {
        Instruction { source: source.into(), text }
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(render(&[]), (None, None));
        assert_eq!(render(&[instruction("a", "  \n".into())]), (None, None));
    }

    #[test]
    fn what_is_nearest_to_the_work_is_kept_and_a_cut_is_said() {
        let far = instruction("far", "汉".repeat(INSTRUCTIONS_BYTES_MAX));
        let near = instruction("near", "near".into());
        let (text, note) = render(&[far, near]);
        let (text, note) = (text.unwrap(), note.unwrap());
        assert!(text.ends_with("Instructions from near:\n\nnear"), "{text}");
        assert!(text.contains(&note) && note.starts_with("far: "), "{note}");
        assert!(text.len() < INSTRUCTIONS_BYTES_MAX + 400);
    }
}

//! `/undo [N]`, `/redo` and `/changes`: the past of the session that goes on.
//!
//! The model is told with the next prompt, so that it does not rely on work that is gone.

use tenon_agent::Agent;
use tenon_sandbox::{CheckpointId, Conflict, Conflicts};

use crate::{
    error::CliError,
    past::{self, Outcome, Past},
    question,
    screen::{Screen, print_error},
    texts::Text,
};

/// What is asked of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Put back what the last calls changed, so many.
    Undo(usize),
    Redo,
    List,
}

/// Does it and says so; without a `past` nothing is recorded.
pub(super) async fn carry_out(wish: Wish, past: Option<&Past>, agent: &mut Agent, screen: &Screen) {
    let Some(past) = past else {
        screen.say(&format!("{}\n", Text::UndoOff.template(screen.language())));
        return;
    };
    let done = match wish {
        Wish::Undo(count) => undo(past, count, agent, screen).await,
        Wish::Redo => redo(past, agent, screen).await,
        Wish::List => list(past, screen),
    };
    if let Err(error) = done {
        print_error(&error.text());
    }
}

async fn undo(
    past: &Past,
    count: usize,
    agent: &mut Agent,
    screen: &Screen,
) -> Result<(), CliError> {
    let calls = past.last(count)?;
    let ids: Vec<CheckpointId> = calls.iter().map(|call| call.id).collect();
    if take_back(past, &ids, Text::UndoDone, screen).await? {
        let labels: Vec<&str> = calls.iter().map(|call| call.label.as_str()).collect();
        let labels = past::shown(&labels.join("; "));
        agent.tell(format!(
            "[undo] The user undid what these calls changed, newest first: {labels}. The files are \
             as before them; read again what you rely on."
        ));
    }
    Ok(())
}

async fn redo(past: &Past, agent: &mut Agent, screen: &Screen) -> Result<(), CliError> {
    let undo = past.last_undo()?;
    if take_back(past, &[undo], Text::RedoDone, screen).await? {
        agent.tell(
            "[undo] The user took the last undo back: what it had undone is as you left it again.",
        );
    }
    Ok(())
}

/// Returns whether anything was touched.
async fn take_back(
    past: &Past,
    ids: &[CheckpointId],
    done: Text,
    screen: &Screen,
) -> Result<bool, CliError> {
    let language = screen.language();
    let asks = question::can_ask(screen);
    let ask = async |found: &[Conflict]| match asks {
        true => question::ask_conflicts(found, screen).await,
        false => None,
    };
    match past.take_back(ids, Conflicts::Refuse, ask).await? {
        Outcome::Done { changes, kept } => {
            screen.say(&past::told(done, &changes, &kept, language));
            Ok(true)
        }
        Outcome::Refused(found) => {
            let said = Text::UndoRefused.template(language);
            screen.say(&format!("{said}\n{}", past::listed(&found, language)));
            Ok(false)
        }
    }
}

fn list(past: &Past, screen: &Screen) -> Result<(), CliError> {
    let language = screen.language();
    let calls = past.calls()?;
    if calls.is_empty() {
        screen.say(&format!("{}\n", Text::NoChanges.template(language)));
    }
    for call in &calls {
        screen.say(&format!(
            "{}{}",
            past::line(call, language),
            past::files(&call.changes, language)
        ));
    }
    Ok(())
}

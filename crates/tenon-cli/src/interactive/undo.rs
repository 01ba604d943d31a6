//! `/undo [N]`, `/redo` and `/changes` in plain lines.

use tenon_agent::Agent;
use tenon_sandbox::{Conflict, Conflicts};

use crate::{
    error::CliError,
    past::{self, Outcome, Past, Wish},
    question,
    screen::{Screen, print_error},
    texts::Text,
};

/// What is asked of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Take something back.
    Wish(Wish),
    List,
}

/// Does it and says so; without a `past` nothing is recorded.
pub(super) async fn carry_out(
    asked: Asked,
    past: Option<&Past>,
    agent: &mut Agent,
    screen: &Screen,
) {
    let Some(past) = past else {
        screen.say(&format!("{}\n", Text::UndoOff.template(screen.language())));
        return;
    };
    let done = match asked {
        Asked::Wish(wish) => take_back(wish, past, agent, screen).await,
        Asked::List => past.list(screen.language()).map(|list| screen.say(&list)),
    };
    if let Err(error) = done {
        print_error(&error.text());
    }
}

async fn take_back(
    wish: Wish,
    past: &Past,
    agent: &mut Agent,
    screen: &Screen,
) -> Result<(), CliError> {
    let plan = past.plan(wish)?;
    let language = screen.language();
    let asks = question::can_ask(screen);
    let ask = async |found: &[Conflict]| match asks {
        true => question::ask_conflicts(found, screen).await,
        false => None,
    };
    match past.take_back(&plan.ids, Conflicts::Refuse, ask).await? {
        Outcome::Done { changes, kept } => {
            screen.say(&past::told(plan.done, &changes, &kept, language));
            agent.tell(plan.news);
        }
        Outcome::Refused(found) => {
            let said = Text::UndoRefused.template(language);
            screen.say(&format!("{said}\n{}", past::listed(&found, language)));
        }
    }
    Ok(())
}

//! What the loop waits for, each for ever where there is nothing of its kind.

use std::pin::Pin;

use tenon_agent::{Agent, LogError, TurnOutcome};
use tokio::signal::unix::Signal as WindowChange;

use super::{
    editor::Editor,
    keyboard::{Came, Keyboard},
    own_command::{OwnCommand, Step},
};

/// What the agent is asked to do: a turn, or to make the conversation shorter, which has no outcome.
pub(super) type Turn =
    Pin<Box<dyn Future<Output = (Agent, Result<Option<TurnOutcome>, LogError>)>>>;

pub(super) async fn next_event(keyboard: Option<&mut Keyboard>) -> Came {
    match keyboard {
        Some(keyboard) => keyboard.next().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn next_size(resized: Option<&mut WindowChange>) {
    match resized {
        Some(resized) => drop(resized.recv().await),
        None => std::future::pending().await,
    }
}

pub(super) async fn finished(
    turn: Option<&mut Turn>,
) -> (Agent, Result<Option<TurnOutcome>, LogError>) {
    match turn {
        Some(turn) => turn.await,
        None => std::future::pending().await,
    }
}

pub(super) async fn next_step(own: Option<&mut OwnCommand>) -> Step {
    match own {
        Some(own) => own.next().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn edited(editor: Option<&mut Editor>) -> Result<String, String> {
    match editor {
        Some(editor) => editor.wait().await,
        None => std::future::pending().await,
    }
}

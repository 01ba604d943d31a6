//! The interactive session on a terminal that can do more than print: what is finished stands in
//! the terminal's own scrollback, and beneath it a live part is redrawn.
//!
//! This file joins the parts: events of the terminal and of the agent go into [`app::App`], and what it
//! wants done is done here. Nothing runs while nothing happens: there is no timer without a turn.

mod app;
mod approval;
pub(crate) mod charts;
pub(crate) mod commands;
mod composer;
mod conflict;
mod editor;
mod frame;
mod front;
mod guard;
mod keyboard;
mod outside;
mod own_command;
mod pager;
mod picker;
mod preview;
mod sections;
mod session;
mod status;
mod surface;
mod surroundings;
mod takeover;
mod transcript;
mod waits;

#[cfg(test)]
mod tests;

use crate::render::line;

pub(crate) use outside::{Outside, Terminal};
pub(crate) use own_command::{OwnCommand, Step};
pub(crate) use session::{Another, Choices, Ended, Place, model_about, run};

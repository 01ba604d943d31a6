//! The agent's end of helper processes: starting them, what is said to them, reaping them.
//!
//! What they do is in `linux`.

mod bubblewrap;
mod process;
mod warm;

pub(crate) use self::bubblewrap::bubblewrap;
pub(crate) use self::process::{HelperProcess, start_helper};
pub(crate) use self::warm::{Begun, WarmHelper};

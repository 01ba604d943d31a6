//! A session as it is kept: the log on disk, and the recorder that writes an event there before
//! anybody sees it.

mod log;
mod recall;
mod recorder;

pub use log::{LogError, Session, SessionLog, SessionSummary, list, read};
pub(crate) use recorder::Recorder;

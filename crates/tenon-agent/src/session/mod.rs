//! A session as it is kept: the log on disk, the recorder that writes an event there before
//! anybody sees it, and what is made of a log again: the conversation, what it cost, what is
//! found in it.

mod clock;
mod fold;
mod kept_images;
mod last_check;
mod ledger;
mod list;
mod log;
mod log_error;
mod long_results;
mod names;
mod prefix;
mod prompts;
mod read;
mod recall;
mod recorder;
mod remove;
mod search;
mod seen;
mod spending;
mod tree;
mod undo_news;
mod words;

pub(crate) use fold::{Fold, Restored, results_message};
pub use ledger::{Prefix, RequestCost, ledger};
pub use list::{SessionSummary, UnreadSession, list, list_all};
pub use log::SessionLog;
pub use log_error::LogError;
pub use names::{SESSION_NAME_CHARS_MAX, rename};
pub(crate) use prefix::PrefixHasher;
pub use prompts::{EarlierPrompt, prompts};
pub(crate) use read::is_elsewhere;
pub use read::{Session, read};
pub(crate) use recall::shortened;
pub(crate) use recorder::Recorder;
pub use remove::{Removable, removable, remove};
pub use search::{Found, search};
pub(crate) use seen::SeenNews;
pub use spending::Spending;
pub(crate) use undo_news::WENT_BACK;

//! Why a list of changes may not be whole, or why a call failed.

use std::path::{Path, PathBuf};

use super::named::named;
use crate::linux::wire::{Reader, Writer};

/// Why there may be more changes than a list says, or why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// A system call was refused because what it would change could not be saved.
    Refused {
        /// What it would have changed, as far as that is known.
        path: PathBuf,
        /// The error number.
        code: i32,
    },
    /// A system call was refused because a rule forbids what it would do.
    Forbidden {
        /// What it would have made, changed, renamed or removed.
        path: PathBuf,
        /// The rule: `write(src/**)`. Empty where one may speak of something in a folder with too much in it.
        rule: String,
        /// It was opened for reading as well, and need not have been changed.
        reads: bool,
    },
    /// This folder of the workspace is not where it was: what is recorded of it can be undone once it is back.
    Moved(PathBuf),
    /// The agent ended before the call did; the list was made afterwards.
    Interrupted,
    /// The command ran, or ended, without being watched.
    NotWatched,
    /// The file tree was compared before and after the command, because this kernel cannot say
    /// what a command is about to change.
    Compared,
}

impl Trouble {
    /// Returns in one sentence which change was refused, as far as that is known; `None` if the trouble
    /// is another.
    ///
    /// ```
    /// use tenon_sandbox::Trouble;
    ///
    /// let refused = Trouble::Refused { path: "a.txt".into(), code: 28 };
    /// let said = refused.refusal();
    /// assert_eq!(said.as_deref(), Some("a change of a.txt was refused: there is no room to save it for undo"));
    /// assert_eq!(Trouble::Interrupted.refusal(), None);
    /// ```
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        self.refusal_of(|path| path.display().to_string())
    }

    pub(super) fn refusal_of(&self, named: impl Fn(&Path) -> String) -> Option<String> {
        let has_no_room = |code: i32| [libc::ENOSPC, libc::EDQUOT].contains(&code);
        Some(match self {
            Self::Refused { path, code } if has_no_room(*code) => match path.as_os_str().is_empty()
            {
                true => "a change was refused: there is no room to save it for undo".to_owned(),
                false => format!(
                    "a change of {} was refused: there is no room to save it for undo",
                    named(path)
                ),
            },
            Self::Refused { path, .. } if path.as_os_str().is_empty() => {
                "a change was refused: it could not be saved".to_owned()
            }
            Self::Refused { path, .. } => {
                format!("a change of {} was refused: it could not be saved", named(path))
            }
            Self::Forbidden { path, rule, .. } if rule.is_empty() => {
                format!(
                    "a change of {} was refused: a rule may forbid it for something in it",
                    named(path)
                )
            }
            Self::Forbidden { path, rule, reads: true } => {
                format!(
                    "opening {} for writing was refused: the rule {rule} forbids it",
                    named(path)
                )
            }
            Self::Forbidden { path, rule, reads: false } => {
                format!("a change of {} was refused: the rule {rule} forbids it", named(path))
            }
            Self::Moved(_) | Self::Interrupted | Self::NotWatched | Self::Compared => return None,
        })
    }

    /// Returns in one sentence which folder of the workspace is not where it was; `None` if the trouble is
    /// another.
    ///
    /// ```
    /// use tenon_sandbox::Trouble;
    ///
    /// let said = Trouble::Moved("/work".into()).absence();
    /// assert_eq!(said.as_deref(), Some("/work was moved: nothing of it is undone until it is back"));
    /// ```
    #[must_use]
    pub fn absence(&self) -> Option<String> {
        let Self::Moved(path) = self else { return None };
        Some(format!("{} was moved: nothing of it is undone until it is back", named(path)))
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        match self {
            Self::Refused { path, code } => {
                writer.number(0);
                writer.field(path.as_os_str());
                writer.number(u64::from(code.cast_unsigned()));
            }
            Self::Interrupted => writer.number(1),
            Self::NotWatched => writer.number(2),
            Self::Compared => writer.number(3),
            Self::Forbidden { path, rule, reads } => {
                writer.number(if *reads { 5 } else { 4 });
                writer.field(path.as_os_str());
                writer.field(rule.as_ref());
            }
            Self::Moved(path) => {
                writer.number(6);
                writer.field(path.as_os_str());
            }
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(match reader.number()? {
            0 => Self::Refused {
                path: reader.path()?,
                code: u32::try_from(reader.number()?).ok()?.cast_signed(),
            },
            1 => Self::Interrupted,
            2 => Self::NotWatched,
            3 => Self::Compared,
            kind @ (4 | 5) => {
                let (path, rule) = (reader.path()?, reader.text()?);
                Self::Forbidden { path, rule, reads: kind == 5 }
            }
            6 => Self::Moved(reader.path()?),
            _ => return None,
        })
    }
}

//! What a session finds around itself: the size of the terminal, the branch, its own name.

use std::io;

use rustix::termios::tcgetwinsize;
use tenon_sandbox::Workspace;

use super::{
    line::{Line, Wrap},
    surface::Size,
};
use crate::{
    masked::masked,
    render::Meaning,
    texts::{Language, Text},
};

/// The size of a screen that does not say its own.
const SIZE: Size = Size { columns: 80, rows: 24 };
/// The most bytes of `.git/HEAD`: the name of a branch.
const HEAD_BYTES_MAX: u64 = 4_096;

/// Returns what is said first.
pub(crate) fn welcome(
    model: &str,
    workspace: &Workspace,
    columns: usize,
    language: Language,
) -> Vec<Line> {
    let folder = masked(workspace.root().to_string_lossy());
    let version = env!("CARGO_PKG_VERSION");
    let values: [(&str, &dyn std::fmt::Display); 3] =
        [("version", &version), ("model", &model), ("folder", &folder)];
    let first = Line::of(Meaning::Name, &Text::Welcome.say(language, &values));
    [first, Line::of(Meaning::Aside, Text::WelcomeKeys.template(language))]
        .into_iter()
        .flat_map(|line| {
            let none = Line::default();
            line.wrapped(columns, Wrap::Words, &none, &none)
        })
        .collect()
}

/// Returns the branch that is checked out, if the workspace is the root of a repository; as it may be
/// shown.
pub(crate) fn branch(workspace: &Workspace) -> Option<String> {
    let head = workspace.read(".git/HEAD", HEAD_BYTES_MAX).ok()?;
    let head = String::from_utf8_lossy(&head);
    let head = head.trim();
    match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => Some(masked(branch)),
        // A commit without a branch: its first digits.
        None => head.get(..7).map(str::to_owned),
    }
}

/// Returns the size of the terminal as it is now: it may have changed before anybody said so.
pub(crate) fn size() -> Size {
    let told = tcgetwinsize(io::stdout()).ok();
    let told = told.map(|size| Size { columns: size.ws_col.into(), rows: size.ws_row.into() });
    told.filter(|size| size.columns > 0 && size.rows > 0).unwrap_or(SIZE)
}

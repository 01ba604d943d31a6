//! Where a command's standard input is from, by its redirects.

use super::syntax::{Operator, Target, WrittenRedirect};
use super::{Redirect, RedirectKind};

/// What the names of terminals begin with.
const TERMINALS: &[&str] = &["/dev/console", "/dev/pts/", "/dev/tty"];

/// Says whether a redirect is of the input.
pub(super) fn is_input(redirect: &Redirect) -> bool {
    matches!(redirect.kind, RedirectKind::Read | RedirectKind::Text)
}

/// Says whether a descriptor is taken for the standard input: `<&3`.
pub(super) fn copies_input(written: &[WrittenRedirect]) -> bool {
    written.iter().any(|one| {
        let closes = matches!(&one.target, Target::Word(word) if word.plain() == Some("-"));
        one.operator == Operator::Copy && !closes
    })
}

/// Says whether the last redirect of the input is from a text or a file that is no terminal; `None` if
/// there is none.
pub(super) fn feeds(redirects: &[Redirect]) -> Option<bool> {
    let last = redirects.iter().rfind(|one| is_input(one))?;
    let file = last.target.prefix();
    let is_terminal = TERMINALS.iter().any(|terminal| file.starts_with(terminal));
    Some(last.kind == RedirectKind::Text || !is_terminal)
}

//! What a command is told of renames and hard links in the workspace, and between it and private folders, that the
//! mounts of its walls refused.
//!
//! Which they were is known, and that nothing took their place; whether the command failed by that is not. So one is
//! told of a complaint that may mean it, and of a command that said nothing while the old name is still there.

use std::path::Path;

use tenon_sandbox::{Barrier, Exit, RefusedMove, Wish};

use super::{
    listed, outside,
    refused_files::{self, PROTECTED_HELD, Place, REFUSED, REFUSED_IN_PASSING, is_same},
    refused_toolchains,
    said::{Said, first_words},
};

/// What programs say where two names are on different mounts.
const ACROSS: [&str; 3] = ["cross-device link", "inter-device move failed", "exdev"];

/// What is said of two names that are on one mount without walls.
const APART: &str = "files: between folders that the walls mount by themselves (the session's, private temporary ones, \
                     toolchains, protected ones, those above them) commands rename nothing and make no hard link; a copy is possible, \
                     --sandbox off would let them";

/// What stands in it before the paths.
const NO_LINK: &str = "make no hard link";

/// What stands before the path in what is said of protected names.
const CLOSED: &str = "are closed to commands";

/// What is said of a protected name that would go.
const GOES: &str = "files: protected names in the workspace are not moved away or linked to by commands; no rule would \
                    allow it, the user can, and --sandbox off would let them";

/// What stands before the path in it.
const BY_COMMANDS: &str = "by commands";

/// Returns what to say of the lines that complain of two mounts, once of each kind, and the other lines.
pub(super) fn of_lines<'a>(
    said: &Said<'_>,
    lines: impl Iterator<Item = &'a str>,
) -> (Vec<String>, Vec<&'a str>) {
    let mut sentences: Vec<String> = Vec::new();
    let is_other = |line: &&str| {
        let of_move = of_line(said, line);
        let is_other = of_move.is_none();
        let is_told = |it: &String| sentences.iter().any(|told| is_same(told, it));
        sentences.extend(of_move.filter(|it| !is_told(it)));
        is_other
    };
    let others = lines.filter(is_other).collect();
    (sentences, others)
}

/// Returns what to say of a line that complains of two mounts: of the move of whose names most stand in it, or of
/// the last, if the line names nothing. `None` where the walls refused none that it may mean.
fn of_line(said: &Said<'_>, line: &str) -> Option<String> {
    let small = line.to_lowercase();
    let is_across = ACROSS.iter().any(|words| small.contains(words));
    // Of a protected name that the line says, it is known better which rule would allow it.
    if said.output.only_reads || !is_across || refused_files::place(said, line) == Place::Protected
    {
        return None;
    }
    let named = |it: &&RefusedMove| {
        [&it.from, &it.to].into_iter().filter(|path| is_in_line(line, path)).count()
    };
    let moves = said.output.moves.iter();
    let found = moves.filter(|it| it.barrier == Barrier::Apart).max_by_key(named)?;
    if named(&found) == 0 && refused_files::names_something(line) {
        return None;
    }
    sentence(said, found, REFUSED)
}

/// Returns what to say of a command that said nothing, or whose complaints were thrown away: of a move whose names both
/// stand in the script, or else of the last, if the command failed. Whether it failed by that, or went on otherwise,
/// nobody knows.
pub(super) fn silent(said: &Said<'_>) -> Option<String> {
    let is_silent = outside::is_silent(said);
    if said.output.only_reads || !(is_silent || said.throws_away()) {
        return None;
    }
    let has_failed = matches!(said.output.exit, Exit::Code(code) if code != 0);
    // What was copied, and moved on, is gone there. Of a private folder nobody knows what came there.
    let is_known = |it: &&RefusedMove| is_there(said, &it.from) && is_of_session(said, &it.to);
    let mut moves = said.output.moves.iter().filter(is_known);
    let is_named =
        |it: &&RefusedMove| [&it.from, &it.to].iter().all(|path| outside::script_names(said, path));
    if let Some(named) = moves.clone().rfind(is_named) {
        let is_sure = has_failed || said.throws_away();
        return sentence(said, named, if is_sure { REFUSED } else { REFUSED_IN_PASSING });
    }
    let is_meant = has_failed && is_silent && !outside::ends_with_answer(said);
    let last = moves.next_back().filter(|_| is_meant)?;
    sentence(said, last, REFUSED_IN_PASSING)
}

fn is_there(said: &Said<'_>, path: &Path) -> bool {
    let found = said.context.workspace.locate(&path.to_string_lossy());
    found.is_ok_and(|found| found.kind.is_some())
}

fn is_of_session(said: &Said<'_>, path: &Path) -> bool {
    said.context.workspace.roots().iter().any(|root| path.starts_with(root))
}

fn is_protected(said: &Said<'_>, path: &Path) -> bool {
    let found = said.context.workspace.locate(&path.to_string_lossy());
    found.is_ok_and(|found| refused_toolchains::is_protected_elsewhere(&found))
}

/// Whether a line names a path, or its last name.
fn is_in_line(line: &str, path: &Path) -> bool {
    line.contains(&*path.to_string_lossy())
        || first_words(line).any(|word| Path::new(word).file_name() == path.file_name())
}

/// Returns what is said of a move, with `refused` before its paths: what keeps one of its two places closed to commands
/// counts before that they are mounts.
fn sentence(said: &Said<'_>, it: &RefusedMove, refused: &str) -> Option<String> {
    let put = |sentence: &str, behind: &str, paths: &str| {
        sentence.replacen(behind, &format!("{behind}{refused}{paths})"), 1)
    };
    let goes = if it.links { Wish::Link } else { Wish::Remove };
    for (path, wish) in [(&it.from, goes), (&it.to, Wish::Write)] {
        if let Some(closed) = refused_files::of_closed(said, path, wish) {
            return Some(closed);
        }
        let name = listed::name(path);
        if is_protected(said, path) {
            return Some(match wish {
                Wish::Write => put(PROTECTED_HELD, CLOSED, &name),
                _ => put(GOES, BY_COMMANDS, &name),
            });
        }
        // A link leaves the toolchain as it is.
        if wish != Wish::Link
            && it.barrier != Barrier::Mount
            && is_of_session(said, path)
            && let Some((sentence, behind)) = refused_toolchains::of_change(said, path)
        {
            return Some(put(&sentence, behind, &name));
        }
    }
    match it.barrier {
        Barrier::Apart => {
            let (from, to) = (listed::name(&it.from), listed::name(&it.to));
            let link = if it.links { "as a link " } else { "" };
            Some(put(APART, NO_LINK, &format!("{from} {link}to {to}")))
        }
        Barrier::OnlyRead => None,
        Barrier::Mount => {
            let mut paths = [&it.from, &it.to].into_iter();
            let known = paths.find_map(|path| refused_toolchains::of_mounted(said, path));
            known.map(|it| it.replacen(REFUSED, refused, 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sentence_has_a_place_for_the_paths() {
        for (sentence, behind) in [(APART, NO_LINK), (PROTECTED_HELD, CLOSED), (GOES, BY_COMMANDS)]
        {
            assert_eq!(sentence.matches(behind).count(), 1, "{sentence}");
        }
    }
}

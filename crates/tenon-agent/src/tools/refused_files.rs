//! What a command is told of files that walls kept from it, by what its complaints say and where the files
//! lie that they name.

use std::path::{Path, PathBuf};

use tenon_sandbox::{
    EntryKind, FileError, Location, OutOfSight, OutsideWrite, Wish, is_closed_to_user,
    is_in_repository_outside,
};

use super::{
    ToolContext, kernel, led_up, listed, outside, ran_in,
    refused_calls::DENIED,
    refused_own::{self, is_closed},
    refused_toolchains::{self, is_protected_elsewhere},
    refused_words::{How, NOT_PERMITTED, READ_ONLY, how, is_by_git},
    said::{Said, first_words, is_quoted},
    sight, unlisted,
};
use crate::policy::shell;

/// What stands in the complaint of a program that would remove a file or move it away.
const GOES: [&str; 4] = ["cannot remove", "failed to remove", "cannot unlink", ", unlink"];
const MOVES: &str = "cannot move";

/// What stands in it of one that would give a file other permissions, and what code calls for that.
const SETS_MODE: [&str; 2] = ["changing permissions", ", chmod "];
const CALLS_CHMOD: &str = "chmod(";

/// The same of one that would give it another owner.
const SETS_OWNER: [&str; 3] = ["changing ownership", "changing group", ", chown "];

/// What a shell says in front of the name of a file that it does not make.
const CREATES: &str = "cannot create";

/// Stands between the two names of a file that is moved, and in front of the one that is there of a file that is linked.
const TO: &str = " to ";
const LINKS_TO: &str = " => ";

pub(super) const FILES_HELD: &str = "files: outside of the workspace commands write only in private temporary \
                          folders; --add-dir FOLDER would add a folder";
pub(super) const FILES_HELD_IN_C: &str = "files: outside of the workspace commands in tier C write only in private temporary \
                               folders, and read nothing of homes but toolchains, nor of /run, /tmp and other \
                               disks; --add-dir FOLDER would open a folder";
/// The same of what the user may not do without walls either.
pub(super) const FILES_CLOSED: &str = "files: outside of the workspace commands write only in private temporary folders, and the \
                            user's own permissions refuse this, too";
const FILES_CLOSED_IN_C: &str = "files: outside of the workspace commands in tier C write only in private temporary folders, \
                                 and read nothing of homes but toolchains, nor of /run, /tmp and other disks; the \
                                 user's own permissions refuse this, too";
pub(super) const READING_HELD: &str = "files: this command counts as one that only reads, so it changes nothing but what is \
                            in private temporary folders";
pub(super) const PROTECTED_HELD: &str = "files: protected names in the workspace (.git/hooks, .envrc and the like) are \
                              closed to commands; write_file and edit_file write them with the user's yes";

/// Of the repository that a linked worktree or a submodule belongs to, which commands write but for these.
const REPOSITORY_HELD: &str = "files: protected names of a repository (.git/hooks, .git/config and the like) are closed to \
                               commands, also where --add-dir adds it; --sandbox off would let them write";

/// What stands before the path that is known, in the sentences above, and around it.
const PRIVATE: &str = "private temporary folders";
const REPOSITORY: &str = "also where --add-dir adds it";
const KERNEL: &str = "commands change nothing in /proc and /sys";
pub(super) const REFUSED: &str = " (refused: ";
/// The same where the command failed and nobody knows whether by that.
pub(super) const REFUSED_IN_PASSING: &str = " (refused, perhaps in passing: ";

/// Where there are the usual devices alone, and no folder can be added.
const DEVICES: &str = "/dev";

/// What bash makes a socket of, and what is no file.
pub(super) const TCP: &str = "/dev/tcp/";
pub(super) const UDP: &str = "/dev/udp/";

/// Lines of output that are looked at for the file that was refused. The first lines tell.
const LINES_MAX: usize = 20;

/// Where the file lies that a line is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Protected,
    /// In one of the user's home.
    Toolchain(PathBuf),
    Elsewhere(PathBuf),
    /// In the workspace, or beneath a folder there that nobody looks into.
    Work,
    Unknown,
}

/// What no rule lets commands do to a protected file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Never {
    /// Remove it or move it away.
    Go,
    /// Give it other permissions.
    SetMode,
}

/// A protected file that a command did not change.
pub(super) struct Unwritten {
    /// From the workspace's root.
    pub(super) path: String,
    /// What a command would have done that no rule allows.
    pub(super) never: Option<Never>,
    /// Whether it is a file, or would be one.
    pub(super) is_file: bool,
    /// Whether it was git that would have written it, or removed it, for a work tree.
    pub(super) by_git: bool,
}

/// Returns what to say of the files that `lines` are about, once each.
pub(super) fn sentences<'a>(said: &Said<'_>, lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let mut lines = lines.peekable();
    let is_told = lines.peek().is_some();
    let refused = lines.filter_map(|line| Some((line, how(line, said.in_c)?)));
    for (line, how) in refused.take(LINES_MAX) {
        for sentence in of_line(said, line, how) {
            // A path is named once, of the first line that is about a known one.
            match sentences.iter_mut().find(|told| is_same(told, &sentence)) {
                Some(told) if !names_path(told) => *told = sentence,
                Some(_) => {}
                None => sentences.push(sentence),
            }
        }
    }
    if sentences.is_empty() && is_told {
        sentences.extend(outside::unnamed(said).map(|it| of_write(said, it, REFUSED_IN_PASSING)));
    }
    sentences
}

/// Whether two sentences say the same but for the path, also where one has none.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|sentence| {
        let fixed = listed::without_names(sentence);
        [REFUSED, REFUSED_IN_PASSING]
            .iter()
            .fold(fixed, |it, mark| it.replace(&format!("{mark})"), ""))
    });
    one == other
}

fn names_path(sentence: &str) -> bool {
    [REFUSED, REFUSED_IN_PASSING].iter().any(|mark| sentence.contains(mark))
}

/// Whether a path lies in a repository outside whose other files commands write.
fn is_in_repository(said: &Said<'_>, path: &Path) -> bool {
    is_in_repository_outside(&said.context.workspace.roots(), path)
}

/// Returns what to say of what the kernel was asked to change.
fn of_write(said: &Said<'_>, write: &OutsideWrite, refused: &str) -> String {
    let OutsideWrite { path, wish } = write;
    if path.starts_with(DEVICES) {
        return sight::sentence(&OutOfSight::Device, said.in_c, true);
    }
    if let Some(closed) = of_closed(said, path, *wish) {
        return closed;
    }
    let (sentence, behind): (String, &str) = if *wish == Wish::Link {
        let (sentence, behind) = outside::LINK_HELD;
        (sentence.to_owned(), behind)
    } else if kernel::is_of_kernel(path) {
        (kernel::SETTINGS_HELD.to_owned(), KERNEL)
    } else if is_in_repository(said, path) {
        (REPOSITORY_HELD.to_owned(), REPOSITORY)
    } else if let Some(told) = refused_toolchains::of_change(said, path) {
        told
    } else {
        (held_elsewhere(said, is_closed_anyway(said, path, *wish)).to_owned(), PRIVATE)
    };
    sentence.replacen(behind, &format!("{behind}{refused}{})", listed::name(path)), 1)
}

/// Returns what is said of a change outside of the workspace.
fn held_elsewhere(said: &Said<'_>, is_closed_anyway: bool) -> &'static str {
    match (said.in_c, is_closed_anyway) {
        (true, true) => FILES_CLOSED_IN_C,
        (true, false) => FILES_HELD_IN_C,
        (false, true) => FILES_CLOSED,
        (false, false) => FILES_HELD,
    }
}

/// Says of a change of what is closed to commands in whatever folder it lies, which would allow it.
pub(super) fn of_closed(said: &Said<'_>, path: &Path, wish: Wish) -> Option<String> {
    if refused_own::is_own(said, path) {
        return Some(refused_own::closed(path));
    }
    if !is_closed(said, path) {
        return None;
    }
    let found = said.context.workspace.outside(&path.to_string_lossy());
    let is_own = found.is_ok_and(|found| found.is_some_and(|it| it.closed().is_some()));
    let closed = closed(path);
    Some(match wish {
        _ if is_own => refused_own::closed(path),
        Wish::Write => {
            format!("{closed}; write_file asks the user for it, --sandbox off would open it")
        }
        _ => format!("{closed}; --sandbox off would open it"),
    })
}

/// Begins what is said of a change of what is closed to commands.
pub(super) fn closed(path: &Path) -> String {
    format!("files: {} is closed to commands", listed::name(path))
}

/// Returns what to say of one line: that this command writes nothing, or of toolchains, of protected names, or
/// of files elsewhere; of the last two where it tells of both or of neither.
fn of_line(said: &Said<'_>, line: &str, how: How) -> Vec<String> {
    let only_reads = said.output.only_reads;
    let place = place(said, line);
    if let Some(write) = of_noted(said, line, how, &place) {
        return vec![write];
    }
    if let (How::ReadOnly | How::Busy | How::Apart, false, Place::Elsewhere(path)) =
        (how, only_reads, &place)
        && let Some(closed) = of_closed(said, path, wish(line, path))
    {
        return vec![closed];
    }
    if (how == How::Busy && place != Place::Protected)
        && let Some(stays) = refused_toolchains::of_move(said, line)
    {
        return vec![stays];
    }
    let sentences: &[&str] = match (how, place) {
        (How::Database, _) => &[],
        // In tier C nothing is mounted.
        (How::Apart, _) if said.in_c => &[],
        (How::Busy | How::Apart, place) => {
            match place == Place::Protected || names_protected(said, line) {
                true => &[PROTECTED_HELD],
                false => &[],
            }
        }
        (How::ReadOnly, _) if only_reads => &[READING_HELD],
        (How::ReadOnly, Place::Protected) => &[PROTECTED_HELD],
        (How::ReadOnly, Place::Unknown) => of_unknown(said, line),
        (How::ReadOnly, Place::Elsewhere(path)) => {
            let is_named = line.contains(&*path.to_string_lossy());
            let write = OutsideWrite { wish: wish(line, &path), path };
            if is_named {
                return vec![outside::unless_noted(said, of_write(said, &write, REFUSED))];
            }
            let is_closed = is_closed_anyway(said, &write.path, write.wish);
            if is_closed { &[FILES_CLOSED] } else { &[FILES_HELD] }
        }
        (How::ReadOnly, Place::Work) => &[FILES_HELD],
        // It need not be about a file.
        (How::NotPermitted, Place::Unknown) => &[],
        (How::NotPermitted, _) if only_reads => &[READING_HELD],
        (How::Denied, Place::Unknown) if only_reads => &[READING_HELD],
        // What is in the workspace its own permissions close.
        (How::Denied | How::NotPermitted, Place::Work | Place::Protected) => &[],
        // Of what lies there reading may be closed, too.
        (How::Denied | How::NotPermitted, Place::Elsewhere(path)) => {
            return of_elsewhere(said, &path, line).into_iter().collect();
        }
        (How::Denied, Place::Unknown) => &[FILES_HELD_IN_C],
        (How::Denied, Place::Toolchain(path))
            if unlisted::is_of_toolchain(said, &path, (line, wish(line, &path))) =>
        {
            &[unlisted::OF_TOOLCHAIN]
        }
        (_, Place::Toolchain(path)) => {
            let told = refused_toolchains::of_change(said, &path);
            return told.map(|(sentence, _)| sentence).into_iter().collect();
        }
    };
    sentences.iter().map(|sentence| (*sentence).to_owned()).collect()
}

/// Returns what to say of the change that a line complains of, where the kernel was asked for it and that is known better
/// than what the line says.
fn of_noted(said: &Said<'_>, line: &str, how: How, place: &Place) -> Option<String> {
    let is_known_better = match how {
        How::ReadOnly | How::Apart => *place != Place::Protected,
        How::Database => true,
        How::Denied => *place == Place::Unknown || is_noted(said, place),
        How::NotPermitted => is_noted(said, place),
        How::Busy => false,
    };
    if !is_known_better || said.output.only_reads {
        return None;
    }
    let named = match place {
        Place::Elsewhere(path) | Place::Toolchain(path) => Some(path.as_path()),
        _ => None,
    };
    // A word that leads nowhere may be none of a path.
    let is_sure = *place == Place::Work
        || how == How::Apart && names_something(line)
        || named.is_some_and(|path| line.contains(&*path.to_string_lossy()));
    let write = outside::of_line(said, line, (named, is_sure))?;
    let is_its = how != How::Database || outside::is_named(said, line, write);
    Some(of_write(said, write, if is_its { REFUSED } else { REFUSED_IN_PASSING }))
}

/// Whether a line names a path, or has something in quotes.
pub(super) fn names_something(line: &str) -> bool {
    line.contains(['/', '\'', '"'])
}

/// Whether a place in sight is one that the kernel was asked to change.
fn is_noted(said: &Said<'_>, place: &Place) -> bool {
    let Place::Elsewhere(path) = place else { return false };
    let writes = said.output.outside.as_deref().unwrap_or_default();
    writes.iter().any(|it| it.path == *path && it.wish != Wish::Link) && !is_closed(said, path)
}

/// Returns what to say of a line that names no place and says that something is read-only.
fn of_unknown(said: &Said<'_>, line: &str) -> &'static [&'static str] {
    match &said.output.outside {
        // Known is that it lies nowhere else.
        Some(_) => &[PROTECTED_HELD],
        // The line of a job goes on, so no protected name is guessed that it does not say.
        None if said.is_job && !names_protected(said, line) => &[FILES_HELD],
        None => &[PROTECTED_HELD, FILES_HELD],
    }
}

/// Says of a path in tier C that lies elsewhere why it is closed: of a secret no flag opens the folder, and
/// what is in sight and only read, its own permissions close.
fn of_elsewhere(said: &Said<'_>, path: &Path, line: &str) -> Option<String> {
    match said.context.sandbox.out_of_sight(path) {
        Some(why @ (OutOfSight::Secret(_) | OutOfSight::Hidden(_) | OutOfSight::Device)) => {
            return Some(sight::sentence(&why, true, true));
        }
        None => {
            let unlisted = unlisted::elsewhere(said, path, (line, wish(line, path)));
            if unlisted.is_some() || said.output.only_reads || is_closed_to_user(path, Wish::Read) {
                return unlisted;
            }
        }
        _ => {}
    }
    let is_closed = is_closed_anyway(said, path, wish(line, path));
    Some(if is_closed { FILES_CLOSED_IN_C } else { FILES_HELD_IN_C }.to_owned())
}

/// Whether a sentence is one of what tier C holds elsewhere.
pub(super) fn is_held_in_c(sentence: &str) -> bool {
    [FILES_HELD_IN_C, FILES_CLOSED_IN_C].iter().any(|it| is_same(it, sentence))
}

/// Whether the user's own permissions refuse something elsewhere, too. In a folder that is out of sight nobody
/// looks: there the folder itself says it.
fn is_closed_anyway(said: &Said<'_>, path: &Path, wish: Wish) -> bool {
    match said.context.sandbox.out_of_sight(path) {
        Some(OutOfSight::Covered(folder)) => is_closed_to_user(&folder, Wish::Enter),
        Some(_) => false,
        None => is_closed_to_user(path, wish),
    }
}

/// Returns what a line says would have been done to the file that it names.
fn wish(line: &str, path: &Path) -> Wish {
    let owns = || SETS_MODE.iter().chain(&SETS_OWNER).any(|words| line.contains(words));
    let path_text = path.to_string_lossy();
    // A program in its folder calls it by its last name.
    let name = match path.file_name() {
        Some(name) if !line.contains(&*path_text) => name.to_string_lossy(),
        _ => path_text,
    };
    let is_linked = || line.split_once(&*name).is_some_and(|(front, _)| front.contains(LINKS_TO));
    match goes(line, &name) {
        true => Wish::Remove,
        false if owns() => Wish::Own,
        false if is_linked() => Wish::Read,
        false => Wish::Write,
    }
}

/// Returns what is said of a file elsewhere that the line says it writes, where complaints of that were
/// thrown away. Of one that is not watched nobody knows whether it tried.
pub(super) fn thrown_away(said: &Said<'_>) -> Option<String> {
    let ToolContext { workspace, sandbox, .. } = said.context;
    let of_toolchain = |path: &String| refused_toolchains::of_name(said, path);
    let is_held = |path: &String| {
        let is_elsewhere = matches!(workspace.locate(path), Err(FileError::Escapes { .. }));
        let path = Path::new(path);
        let is_private = || {
            matches!(sandbox.out_of_sight(path), Some(OutOfSight::Home | OutOfSight::Private(_)))
        };
        let is_of_kernel = ["/dev", "/proc", "/sys"].iter().any(|top| path.starts_with(top));
        is_elsewhere && !is_of_kernel && !sandbox.is_in_toolchain(path) && !is_private()
    };
    let is_held = |path: &String| of_toolchain(path).is_some() || is_held(path);
    let written = said.commands.iter().flat_map(|command| {
        let paths = shell::writes(command).into_iter();
        paths.flat_map(move |write| led_up::led_to(said, command, &write.path))
    });
    if !said.throws_away() {
        return None;
    }
    let held: Vec<String> = written.take(LINES_MAX).filter(is_held).collect();
    if let Some(writes) = &said.output.outside {
        let is_named = |write: &&OutsideWrite| {
            held.iter().any(|it| Path::new(it).file_name() == write.path.file_name())
        };
        let named = writes.iter().find(is_named).or_else(|| outside::in_text(said));
        return named.map(|write| of_write(said, write, REFUSED));
    }
    let is_closed = held.iter().all(|it| is_closed_anyway(said, Path::new(it), Wish::Write));
    let elsewhere = held_elsewhere(said, is_closed);
    let sentence = held.iter().find_map(of_toolchain).unwrap_or_else(|| elsewhere.to_owned());
    (!held.is_empty()).then(|| sentence.replacen("files: ", "files: if it was tried: ", 1))
}

/// Returns what is said of a write outside that a command which failed without a word may mean.
pub(super) fn silent(said: &Said<'_>) -> Option<String> {
    let (write, is_sure) = outside::silently(said)?;
    Some(of_write(said, write, if is_sure { REFUSED } else { REFUSED_IN_PASSING }))
}

/// Returns the place of the file that a line names. Programs put it before their complaint or behind
/// it, within quotes or not, and as it is called from the folder that they run in. Of two names what is closed
/// counts before a toolchain's, and that before any other elsewhere.
pub(super) fn place(said: &Said<'_>, line: &str) -> Place {
    let ToolContext { workspace, sandbox, .. } = said.context;
    let speakers = ran_in::speakers(said.commands, line);
    let mut found = Place::Unknown;
    let speaker = speaker(line);
    for word in first_words(line).filter(|word| Some(*word) != speaker).chain(speaker) {
        if Some(word) == speaker && found != Place::Unknown {
            break;
        }
        // Of bash's own making, which it says of sockets.
        if word.starts_with(TCP) || word.starts_with(UDP) {
            continue;
        }
        if word.starts_with("..") && ran_in::moves(said.script) {
            continue;
        }
        for path in ran_in::meant(&speakers, word, said.context) {
            match workspace.locate(&path) {
                _ if !matches!(found, Place::Toolchain(_))
                    && is_protected(said, word, &path, line) =>
                {
                    return Place::Protected;
                }
                Ok(it) if found == Place::Unknown && is_file(word, &it, line) => {
                    let is_held = refused_toolchains::is_held_within(said, &it.absolute);
                    found = if is_held { Place::Toolchain(it.absolute) } else { Place::Work };
                }
                Err(FileError::PermissionDenied { .. }) if found == Place::Unknown => {
                    found = Place::Work;
                }
                Err(FileError::Escapes { .. })
                    if word.starts_with(['/', '.']) || is_named(word, line) =>
                {
                    let path = workspace.root().join(path);
                    if is_closed(said, &path) {
                        return Place::Elsewhere(path);
                    }
                    found = match found {
                        Place::Toolchain(_) => found,
                        _ if sandbox.is_in_toolchain(&path) => Place::Toolchain(path),
                        _ => Place::Elsewhere(path),
                    };
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns the program that a line begins with which says so of something else.
fn speaker(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(": ")?;
    (name.starts_with('/') && rest.contains(": ") && !name.contains(' ')).then_some(name)
}

/// Whether a word of a line is the name of a file in the workspace, as far as that can be seen.
fn is_file(word: &str, location: &Location, line: &str) -> bool {
    !location.beneath.as_os_str().is_empty()
        && (location.kind.is_some()
            || word.contains('/')
            || is_quoted(line, word)
            || line.contains(&format!("{CREATES} {word}: ")))
}

/// Whether a line complains of what it calls by this word.
pub(super) fn is_named(word: &str, line: &str) -> bool {
    let behind = line.split_once(&format!("{word}: ")).map(|(_, rest)| rest.to_lowercase());
    let reasons = || DENIED.iter().chain(&READ_ONLY).chain(&[NOT_PERMITTED]);
    is_quoted(line, word)
        || behind.is_some_and(|rest| reasons().any(|reason| rest.starts_with(reason)))
}

/// Whether a line that names no protected file, since a program names its own new one instead or the folder
/// that the file is in, is about one all the same.
fn names_protected(said: &Said<'_>, line: &str) -> bool {
    first_words(line).any(|word| word.trim_end_matches('/').ends_with(".git"))
        || !named_in_script(said).is_empty()
}

/// Returns the protected files that the script names.
fn named_in_script(said: &Said<'_>) -> Vec<String> {
    let named = said.commands.iter().flat_map(|command| {
        let words = command.arguments().iter();
        words.flat_map(move |word| ran_in::led_to(command, word, said.context))
    });
    let is_protected = |path: &String| {
        said.context.workspace.locate(path).is_ok_and(|place| is_protected_elsewhere(&place))
    };
    named.filter(is_protected).take(LINES_MAX).collect()
}

/// Whether a word of a line leads to a protected file by `path`. From within a folder of which all is
/// protected each word would, so there the file is there, or the line names it.
fn is_protected(said: &Said<'_>, word: &str, path: &str, line: &str) -> bool {
    let workspace = &said.context.workspace;
    let is_by_itself = || workspace.locate(word).is_ok_and(|place| is_protected_elsewhere(&place));
    workspace.locate(path).is_ok_and(|location| {
        let is_named = location.kind.is_some() || is_named(word, line) || is_by_itself();
        is_protected_elsewhere(&location) && is_named
    })
}

/// Returns the protected files that a command could not change, as what it printed says, once each.
pub(super) fn protected(said: &Said<'_>) -> Vec<Unwritten> {
    let mut files: Vec<Unwritten> = Vec::new();
    let printed = said.printed();
    let lines = printed.lines().filter_map(|line| Some((line, how(line, said.in_c)?)));
    let lines = lines.filter(|it| it.1 != How::Database && (it.1 != How::Apart || !said.in_c));
    for (line, how) in lines.take(LINES_MAX) {
        let speakers = ran_in::speakers(said.commands, line);
        let mut found: Vec<(&str, String)> = first_words(line)
            .flat_map(|word| {
                let paths = ran_in::meant(&speakers, word, said.context).into_iter();
                paths.map(move |path| (word, path))
            })
            .filter(|(word, path)| is_protected(said, word, path, line))
            .take(1)
            .collect();
        if found.is_empty() && matches!(how, How::Busy | How::Apart) {
            found = named_in_script(said).into_iter().map(|path| ("", path)).collect();
        }
        for (name, path) in found {
            let place = said.context.workspace.locate(&path).ok();
            let is_file = place.as_ref().and_then(|it| it.kind) != Some(EntryKind::Directory);
            // By a link on the user's way it has the name that rules know.
            let roots = said.context.workspace.roots();
            let is_named_so = roots.iter().any(|root| Path::new(&path).starts_with(root));
            let led = place.filter(|_| path.starts_with('/') && !is_named_so);
            let path = led.map_or(path, |it| it.absolute.to_string_lossy().into_owned());
            let path = ran_in::shown(&path, said.context);
            let name = if name.is_empty() { path.as_str() } else { name };
            let never = never(line, name, said.script);
            if !files.iter().any(|it| it.path == path) {
                files.push(Unwritten { path, never, is_file, by_git: is_by_git(line) });
            }
        }
    }
    files
}

/// Returns what a line says would have been done to the file that it calls `name`, if no rule allows that.
fn never(line: &str, name: &str, script: &str) -> Option<Never> {
    if goes(line, name) {
        return Some(Never::Go);
    }
    let sets_mode = SETS_MODE.iter().any(|words| line.contains(words));
    (sets_mode || script.contains(CALLS_CHMOD)).then_some(Never::SetMode)
}

/// Whether a line says that the file that it calls `path` would have gone, with nothing in its place.
fn goes(line: &str, path: &str) -> bool {
    let front = line.split(path).next().unwrap_or_default();
    GOES.iter().any(|words| line.contains(words)) || line.contains(MOVES) && !front.contains(TO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_would_leave_nothing_in_its_place_goes() {
        for (line, expected) in [
            ("rm: cannot remove '.envrc': Device or resource busy", true),
            ("unlink: cannot unlink '.envrc': Device or resource busy", true),
            ("Error: EBUSY: resource busy or locked, unlink '.envrc'", true),
            ("mv: cannot move '.envrc' to 'z': Device or resource busy", true),
            ("mv: cannot move 'z' to '.envrc': Device or resource busy", false),
            ("error: unable to unlink old '.envrc': Device or resource busy", false),
            ("touch: cannot touch '.envrc': Read-only file system", false),
        ] {
            assert_eq!(goes(line, ".envrc"), expected, "{line}");
        }
    }
}

//! Files that a command writes by its redirects, and those that its arguments name, and what rules for
//! writing say of them.

use tenon_sandbox::Access;

use super::places::{Places, SOME_FOLDER, Target, is_within};
use super::rule::{ANY, FOLDERS, FOUND, NUMBER, Rule, Rules, Verdict, is_open};
use super::shell::{
    self, Extent, Folders, Holds, Parsed, Piece, Reach, RedirectKind, SimpleCommand, Word,
    WriteKind,
};

/// What is no file of its own: nothing, and what is open already.
const STREAMS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
const OPEN_ALREADY: &str = "/dev/fd/";
/// Beneath these the folders of processes are found under other names.
const OF_PROCESSES: [&str; 2] = ["/proc/", OPEN_ALREADY];
/// What puts something else in the place of a link, or nothing.
const REPLACERS: [&str; 8] = ["cp", "install", "link", "ln", "mv", "rm", "rmdir", "unlink"];
/// Files that a line names which are looked at, each on the disk.
const NAMED_MAX: usize = 1_000;
/// Rules for this tool speak of files that are written whole.
const WRITING_TOOL: &str = "write_file";

/// Returns where the redirects of a command may write, but for streams: from every folder that it may
/// run in.
pub(super) fn written<'a>(
    command: &'a SimpleCommand,
    places: &'a Places,
) -> impl Iterator<Item = Target> + 'a {
    redirected(command).flat_map(move |word| {
        let targets = folders(command).map(|folder| redirect_target(word, folder, places));
        targets.collect::<Vec<_>>()
    })
}

/// Returns what the redirects of a command write, but for streams.
fn redirected(command: &SimpleCommand) -> impl Iterator<Item = &Word> {
    let writes = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Write);
    writes.map(|redirect| &redirect.target).filter(|word| !word.literal().is_some_and(is_stream))
}

fn redirect_target(word: &Word, folder: Option<&[Word]>, places: &Places) -> Target {
    let is_of_process = |path: &str| OF_PROCESSES.iter().any(|start| path.starts_with(start));
    match places.target(word, folder) {
        Target::Exact(path) if is_of_process(&path) => Target::Unknown,
        Target::Beneath { folder, .. } if is_of_process(&format!("{folder}/")) => Target::Unknown,
        target => target,
    }
}

/// Returns the folders that a command may run in, each as changes of folder; `None` for one that is not
/// known.
pub(super) fn folders(command: &SimpleCommand) -> impl Iterator<Item = Option<&[Word]>> {
    let done = command.folder.as_deref().map(Some);
    done.into_iter().chain(command.folders.iter().flat_map(Folders::ways))
}

fn is_stream(path: &str) -> bool {
    let number = path.strip_prefix(OPEN_ALREADY);
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    STREAMS.contains(&path) || number.is_some_and(is_number)
}

/// Something that a command writes because its arguments say so, from one of the folders that it may run in.
struct Named {
    kind: WriteKind,
    reach: Reach,
    path: Target,
    /// Where it is written if the path is a folder.
    inside: Option<Target>,
    /// The path, and where it is written in it, with signs for what is not known of their names ([`open`]).
    open: Option<Target>,
    open_inside: Option<Target>,
}

/// Returns what a command writes because its arguments say so. A pattern is its text, so that it is found by
/// what it looks like.
fn named(command: &SimpleCommand, places: &Places) -> Vec<Named> {
    let mut all = Vec::new();
    for write in shell::named(command) {
        if write.path.literal().is_some_and(is_stream) {
            continue;
        }
        let (path, inside) = (as_text(&write.path), write.inside.as_ref().map(as_text));
        all.extend(folders(command).map(|folder| Named {
            kind: write.kind,
            reach: write.reach,
            path: places.target(&path, folder),
            inside: inside.as_ref().map(|inside| places.target(inside, folder)),
            open: open(&write.path).map(|path| places.target(&path, folder)),
            open_inside: write.inside.as_ref().and_then(open).map(|it| places.target(&it, folder)),
        }));
    }
    all
}

/// Returns a word with patterns as their text.
fn as_text(word: &Word) -> Word {
    let as_text = |piece: &Piece| match piece {
        Piece::Glob(text) => Piece::Text(text.clone()),
        piece => piece.clone(),
    };
    Word { pieces: word.pieces.iter().map(as_text).collect() }
}

/// Returns a word with signs for patterns and for what is not known in it, if that surely has no `/` or is
/// whole folders, and if there is any of these.
fn open(word: &Word) -> Option<Word> {
    let mut text = Vec::new();
    // A bracket is open: what is in it, and where it ends, is not looked at.
    let mut is_bracket = false;
    let mut is_any = false;
    for piece in &word.pieces {
        let piece = match piece {
            Piece::Text(known) if is_bracket => {
                let Some((_, behind)) = known.split_once('/') else { continue };
                is_bracket = false;
                Piece::Text(format!("/{behind}"))
            }
            Piece::Glob(pattern) => {
                is_any = true;
                if is_bracket {
                    continue;
                }
                is_bracket = pattern == "[";
                Piece::Text(FOUND.to_string())
            }
            Piece::Unknown(unknown) => {
                is_any = true;
                match (unknown.holds, unknown.extent) {
                    (Holds::Number, _) => Piece::Text(NUMBER.to_string()),
                    (Holds::Plain, _) | (Holds::Name | Holds::Numbers, Extent::One) => {
                        Piece::Text(ANY.to_string())
                    }
                    (Holds::Folders, _) => Piece::Text(FOLDERS.to_string()),
                    (Holds::Anything | Holds::Name | Holds::Numbers, _) => return None,
                }
            }
            piece => piece.clone(),
        };
        text.push(piece);
    }
    is_any.then_some(Word { pieces: text })
}

impl Named {
    /// Returns where it is written as far as that is known. Of a target that may be a folder only itself is one.
    fn target(&self) -> Target {
        self.filled(&self.path, '*')
    }

    /// Returns something in a folder that is filled, by a sign for its name.
    fn filled(&self, target: &Target, name: char) -> Target {
        match target {
            Target::Exact(folder) if self.kind == WriteKind::Filled => {
                Target::Exact(format!("{}/{name}", folder.trim_end_matches('/')))
            }
            target => target.clone(),
        }
    }

    /// Says whether a rule speaks of it: of the path, of what is written with it, and of what is written in it
    /// if the rule itself says that it is a folder.
    fn is_meant(&self, rule: &Rule, places: &Places) -> bool {
        let reaches = |target: &Target| match target {
            Target::Exact(path) if self.reach != Reach::Itself => {
                rule.speaks_within(path, self.reach == Reach::Whole, places)
            }
            _ => false,
        };
        is_of(rule, &self.target(), places)
            || match &self.inside {
                None => reaches(&self.path),
                Some(inside) if self.is_folder_of(rule, places) => {
                    is_of(rule, inside, places) || reaches(inside)
                }
                Some(_) => false,
            }
    }

    /// Says whether a rule says by its own words that the path is a folder.
    fn is_folder_of(&self, rule: &Rule, places: &Places) -> bool {
        matches!(&self.path, Target::Exact(path) if rule.speaks_within(path, false, places))
    }

    /// Says whether a rule may speak of it if what is not known of its name is such.
    fn may_be_meant(&self, rule: &Rule, places: &Places) -> bool {
        // Of what bash finds for a pattern a rule that begins with one would speak almost always.
        let is_found = matches!(self.path, Target::Exact(_)) && !rule.begins_with_a_name();
        let deep = match self.reach {
            Reach::Itself => false,
            Reach::Parts => rule.begins_with_a_name(),
            Reach::Whole => true,
        };
        let may_be = |target: &Target, open: Option<&Target>| match open.filter(|_| !is_found) {
            Some(open) => may_be(rule, open, deep, places),
            None => may_be(rule, target, deep, places),
        };
        let open = self.open.as_ref().map(|open| self.filled(open, FOUND));
        // A folder that is copied to a name which is not there yet is copied as that.
        let may_be_inside = |inside: &Target| {
            self.reach != Reach::Itself || may_be(inside, self.open_inside.as_ref())
        };
        may_be(&self.target(), open.as_ref())
            || self.is_folder_of(rule, places) && self.inside.as_ref().is_some_and(may_be_inside)
    }
}

/// Says whether a rule speaks of a place. One without a path speaks of those in the workspace.
fn is_of(rule: &Rule, target: &Target, places: &Places) -> bool {
    match target {
        Target::Exact(path) if rule.is_sweeping() => places.is_inside(path),
        Target::Exact(path) => rule.matches_path(path, places),
        Target::Beneath { .. } | Target::Unknown => false,
    }
}

/// Says whether a rule may speak of a place of which not all is known, or with `deep` of what is in it.
fn may_be(rule: &Rule, target: &Target, deep: bool, places: &Places) -> bool {
    match target {
        Target::Exact(path) if is_open(path) => rule.may_be_meant_by(path, deep, places),
        Target::Exact(path) => match path.split_once(SOME_FOLDER) {
            Some((folder, _)) => rule.may_match_beneath(folder, places),
            None => false,
        },
        Target::Beneath { folder, .. } => rule.may_match_beneath(folder, places),
        Target::Unknown => true,
    }
}

/// A path that a line names as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedWrite {
    /// From `/` on.
    pub(crate) path: String,
    /// Where it is written if the path is a folder.
    pub(crate) inside: Option<String>,
    pub(crate) kind: WriteKind,
}

/// Returns what a line says it writes, by redirects and by arguments of usual programs, each once. For what
/// is said of it: others are written besides.
pub(crate) fn named_writes(script: &str, places: &Places) -> Vec<NamedWrite> {
    let mut found: Vec<NamedWrite> = Vec::new();
    for command in &shell::parse(script).commands {
        for write in shell::writes(command) {
            for folder in folders(command) {
                let exact = |word: &Word| match places.target(word, folder) {
                    Target::Exact(path) if !path.contains(SOME_FOLDER) => Some(path),
                    _ => None,
                };
                let Some(path) = exact(&write.path) else { continue };
                let inside = write.inside.as_ref().and_then(exact);
                let one = NamedWrite { path, inside, kind: write.kind };
                if !found.contains(&one) && found.len() < NAMED_MAX {
                    found.push(one);
                }
            }
        }
    }
    found
}

/// Says whether a line makes links and writes by a path with the name of one: where that leads is not
/// known.
pub(super) fn writes_by_links(parsed: &Parsed, places: &Places) -> bool {
    let links: Vec<_> = parsed.commands.iter().filter(|one| makes_links(one)).collect();
    let names = links.iter().flat_map(|command| command.arguments());
    let names: Vec<_> =
        names.map(|word| word.literal().and_then(|_| Word::program(word))).collect();
    let is_by_link = |path: &str| {
        path.split('/').any(|part| names.iter().any(|name| name.is_none_or(|name| name == part)))
    };
    // A link is made, and removed, by its own name.
    let others = parsed.commands.iter().filter(|one| !makes_links(one));
    let named = others.flat_map(|one| named(one, places));
    let named = named.filter(|it| it.kind != WriteKind::Removed).map(|it| it.target());
    let redirected = parsed.commands.iter().flat_map(|one| written(one, places));
    !links.is_empty()
        && redirected.chain(named).any(|target| match target {
            Target::Exact(path) => is_by_link(&path),
            Target::Beneath { .. } | Target::Unknown => true,
        })
}

fn makes_links(command: &SimpleCommand) -> bool {
    match command.program() {
        Some("ln" | "link") => true,
        Some("cp") => command.arguments().iter().any(|word| {
            let letters = word.prefix().strip_prefix('-').unwrap_or_default();
            letters.starts_with("-symbolic") || letters.starts_with("-link") || {
                !letters.starts_with('-') && letters.contains(['s', 'l'])
            }
        }),
        _ => false,
    }
}

/// Says whether a line may put something else in the place of a link by which the user came.
pub(super) fn changes_ways(parsed: &Parsed, places: &Places) -> bool {
    let plain = Places { ways: Vec::new(), ..places.clone() };
    let is_above = |target: Target, command: &SimpleCommand| match target {
        Target::Exact(path) => places.ways.iter().any(|(link, _)| is_within(link, &path)),
        Target::Beneath { folder, .. } => {
            places.ways.iter().any(|(link, _)| *link != folder && is_within(link, &folder))
        }
        Target::Unknown => makes_links(command),
    };
    let changes = |command: &SimpleCommand| {
        command.program().is_some_and(|name| REPLACERS.contains(&name))
            && named(command, &plain).into_iter().any(|named| {
                // What is copied to a link to a folder goes into the folder.
                let is_itself = named.inside.is_none() || makes_links(command);
                let inside = named.inside.clone().is_some_and(|inside| is_above(inside, command));
                inside || is_itself && is_above(named.target(), command)
            })
    };
    !places.ways.is_empty() && parsed.commands.iter().any(changes)
}

/// Returns the files of the workspace that a command's redirects write and no rule for writing
/// names: the words of a rule for the command do not say that it writes them.
pub(super) fn open_writes(command: &SimpleCommand, rules: &Rules, places: &Places) -> Vec<String> {
    let in_workspace = written(command, places).filter_map(|target| match target {
        Target::Exact(path) if places.is_inside(&path) => Some(path),
        _ => None,
    });
    let is_named = |path: &String| {
        let mut writing =
            rules.with(Verdict::Allow).filter(|rule| rule.is_for_access(Access::Write));
        writing.any(|rule| rule.matches_path(path, places))
    };
    let mut open = Vec::new();
    for path in in_workspace.filter(|path| !is_named(path)) {
        if !open.contains(&path) {
            open.push(path);
        }
    }
    open
}

/// Says whether a rule for writing speaks of a file that a command writes by its redirects or names as
/// written.
pub(super) fn touches_writes(rule: &Rule, command: &SimpleCommand, places: &Places) -> bool {
    let is_named = |named: &Named| named.kind != WriteKind::Perhaps && named.is_meant(rule, places);
    is_for_writing(rule)
        && (written(command, places).any(|target| is_of(rule, &target, places))
            || named(command, places).iter().any(is_named))
}

/// Says whether a rule for writing speaks of such a file if what is not known of its name is such.
pub(super) fn may_touch_writes(rule: &Rule, command: &SimpleCommand, places: &Places) -> bool {
    if !is_for_writing(rule) {
        return false;
    }
    let redirects = redirected(command).any(|word| {
        let open = open(word);
        let word = open.as_ref().unwrap_or(word);
        folders(command)
            .any(|folder| may_be(rule, &redirect_target(word, folder, places), false, places))
    });
    let is_perhaps = |it: &Named| it.kind == WriteKind::Perhaps && it.is_meant(rule, places);
    let may_be_meant = |it: &Named| is_perhaps(it) || it.may_be_meant(rule, places);
    redirects || named(command, places).iter().any(may_be_meant)
}

/// Says whether a rule for writing speaks of what a command names, if that is a file and no branch.
pub(super) fn may_be_file(rule: &Rule, command: &SimpleCommand, places: &Places) -> bool {
    let is_meant = |named: &Named| named.kind == WriteKind::Perhaps && named.is_meant(rule, places);
    is_for_writing(rule) && named(command, places).iter().any(is_meant)
}

/// Says whether a rule speaks of files that are written.
pub(super) fn is_for_writing(rule: &Rule) -> bool {
    rule.is_for(WRITING_TOOL) || rule.is_for_access(Access::Write)
}

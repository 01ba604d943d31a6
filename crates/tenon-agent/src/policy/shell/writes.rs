//! Files that usual programs write because their arguments name them. What programs write by themselves is
//! not seen: the walls hold that.

use super::arguments::{behind_git_options, git_subcommand};
use super::launch::find_starts;
use super::queries::only_looks;
use super::word::{Piece, Word};
use super::writer::{Operands, Reach, Writer};
use super::writers::WRITERS;
use super::{RedirectKind, SimpleCommand};

/// Something that a command writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) path: Word,
    /// Where it is written if the path is a folder.
    pub(crate) inside: Option<Word>,
    pub(crate) kind: WriteKind,
    /// How much of it is written if it is a folder.
    pub(crate) reach: Reach,
}

/// What becomes of a path that a command names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// It is made, or what is in it is another.
    Changed,
    /// The same, unless it is the name of a branch.
    Perhaps,
    /// It is a folder that is made.
    Made,
    /// It is not there any more.
    Removed,
    /// It is a folder, in which something is written by names that the command does not say.
    Filled,
}

/// Tests and actions of `find` that leave out no file, and those of them that have a value.
const OF_ALL: [&str; 9] =
    ["-delete", "-depth", "-d", "-print", "-print0", "-xdev", "-mount", "-type", "-mindepth"];
const OF_ALL_VALUED: [&str; 2] = ["-type", "-mindepth"];
/// Actions of `find` that write a file.
const OF_FILES: [&str; 4] = ["-fls", "-fprint", "-fprint0", "-fprintf"];

/// Returns what a command writes by its redirects, and by its arguments.
pub(crate) fn writes(command: &SimpleCommand) -> Vec<Write> {
    let redirects = command.redirects.iter().filter(|one| one.kind == RedirectKind::Write);
    redirects.map(|one| changed(one.target.clone())).chain(named(command)).collect()
}

/// Returns what a command writes by its arguments.
pub(crate) fn named(command: &SimpleCommand) -> Vec<Write> {
    let Some(program) = command.program() else { return Vec::new() };
    if program == "find" {
        return of_find(command.arguments());
    }
    let (name, words, base) = match git_subcommand(command.arguments()) {
        Some((subcommand, words)) if program == "git" => {
            (format!("git {subcommand}"), words, git_folder(command.arguments()))
        }
        _ => (program.to_owned(), command.arguments(), None),
    };
    let rows = WRITERS.into_iter().flatten().filter(|writer| writer.names.contains(&name.as_str()));
    let mut found: Vec<Write> = rows.flat_map(|writer| of_row(writer, words)).collect();
    if let Some(base) = base {
        for write in &mut found {
            write.path = beneath(&base, &write.path);
            write.inside = write.inside.as_ref().map(|inside| beneath(&base, inside));
        }
    }
    found
}

/// Returns the folder that options of git's own lead to.
fn git_folder(arguments: &[Word]) -> Option<Word> {
    let own = arguments.len().saturating_sub(behind_git_options(arguments).len());
    let own = arguments.get(..own)?;
    let folders =
        own.iter().zip(own.iter().skip(1)).filter(|(option, _)| option.literal() == Some("-C"));
    folders.map(|(_, folder)| folder.clone()).reduce(|base, folder| beneath(&base, &folder))
}

/// The arguments of a command, told apart.
#[derive(Default)]
struct Given {
    options: Vec<(char, Word)>,
    operands: Vec<Word>,
    /// Whether `--` stands in front of the operands.
    is_parted: bool,
}

impl Given {
    fn has(&self, letters: &str) -> bool {
        self.options.iter().any(|(letter, _)| letters.contains(*letter))
    }

    fn values<'a>(&'a self, letters: &'a str) -> impl Iterator<Item = &'a Word> {
        let is_asked = |(letter, _): &&(char, Word)| letters.contains(*letter);
        self.options.iter().filter(is_asked).map(|(_, value)| value)
    }
}

fn of_row(writer: &Writer, words: &[Word]) -> Vec<Write> {
    let given = given(writer, words);
    let is_of_row = writer.with.is_empty()
        || given.values(writer.with).any(|value| value.prefix().starts_with(writer.value));
    if !is_of_row || given.has(writer.without) {
        return Vec::new();
    }
    let folder = given.values(writer.folder).last();
    let is_file = |word: &&Word| word.literal() != Some("-");
    let files = given.values(writer.files).filter(is_file);
    let files = files.map(|word| changed(at(folder, word)));
    let reach = writer.reach.iter().filter(|(with, _)| with.is_empty() || given.has(with));
    let reach = reach.map(|(_, reach)| *reach).max().unwrap_or_default();
    let reaching = |write: Write| Write { reach: write.reach.max(reach), ..write };
    files.chain(of_operands(writer, &given, folder).into_iter().map(reaching)).collect()
}

/// Returns where a word leads from a folder.
fn at(folder: Option<&Word>, word: &Word) -> Word {
    folder.map_or_else(|| word.clone(), |folder| beneath(folder, word))
}

/// Returns what a command writes by arguments that are no options.
fn of_operands(writer: &Writer, given: &Given, folder: Option<&Word>) -> Vec<Write> {
    let all = given.operands.as_slice();
    let (first, behind) = all.split_at(all.len().min(1));
    let each = |words: &[Word]| words.iter().map(|word| changed(at(folder, word))).collect();
    let removed = |words: &[Word]| removed(folder, words);
    match writer.operands {
        Operands::Read => Vec::new(),
        Operands::Each => each(all),
        Operands::Behind { unless } => each(if given.has(unless) { all } else { behind }),
        Operands::First if all.is_empty() => anything(folder),
        Operands::First => each(first),
        Operands::Second => each(behind.get(..1).unwrap_or_default()),
        Operands::Removed => removed(all),
        Operands::RemovedBehind => removed(behind),
        Operands::Folders => {
            let made = |word: &Word| Write { kind: WriteKind::Made, ..changed(word.clone()) };
            all.iter().map(made).collect()
        }
        Operands::Packed(suffix) => {
            all.iter().map(|word| changed(word.joined(&Word::text(suffix)))).collect()
        }
        Operands::Unpacked(suffixes) => {
            all.iter().map(|word| changed(with_other_end(word, suffixes))).collect()
        }
        Operands::Pieces { option, or } => {
            let start = match option {
                "" => behind.first(),
                option => given.values(option).last(),
            };
            let start = start.cloned().unwrap_or_else(|| Word::text(or));
            let any = Word { pieces: vec![Piece::Glob("*".to_owned())] };
            vec![changed(start.joined(&any))]
        }
        Operands::Named(start) => {
            // The last one counts.
            let named = all.iter().rev().find_map(|word| word.strip_prefix(start));
            named.map(changed).into_iter().collect()
        }
        Operands::Members if !all.is_empty() => each(all),
        Operands::Members | Operands::Anything => anything(folder),
        Operands::Trees => trees(folder, all),
        Operands::Everything => trees(folder, &[]),
        Operands::Switched => switched(given),
        Operands::Stashed => stashed(all),
        Operands::Copies => copies(given, folder),
        Operands::Moves => {
            let sources =
                if folder.is_some() { all } else { all.split_last().map_or(all, |it| it.1) };
            let gone = self::removed(None, sources).into_iter().map(whole);
            copies(given, folder).into_iter().chain(gone).collect()
        }
        Operands::Links => match all {
            [only] if folder.is_none() => vec![changed(name_of(only))],
            _ => copies(given, folder),
        },
        Operands::Mirrors => mirrored(given),
        Operands::Addresses => {
            all.iter().filter_map(fetched).map(|name| changed(at(folder, &name))).collect()
        }
        Operands::Database { before, script } => {
            let mut done = given.values(before).chain(behind).peekable();
            let looks = done.peek().is_some() && done.all(only_looks) && !given.has(script);
            each(if looks { &[] } else { first })
        }
    }
}

fn changed(path: Word) -> Write {
    Write { path, inside: None, kind: WriteKind::Changed, reach: Reach::Itself }
}

fn removed(folder: Option<&Word>, words: &[Word]) -> Vec<Write> {
    let gone = |word| Write { kind: WriteKind::Removed, ..changed(at(folder, word)) };
    words.iter().map(gone).collect()
}

/// Returns what is written by names that the command does not say, in a folder that it says or where it runs.
fn anything(folder: Option<&Word>) -> Vec<Write> {
    let reach = if folder.is_some() { Reach::Parts } else { Reach::Itself };
    vec![Write { reach, ..filled(at(folder, &Word::text("."))) }]
}

/// The same with all that is in it.
fn whole(write: Write) -> Write {
    Write { reach: Reach::Whole, ..write }
}

fn filled(path: Word) -> Write {
    Write { kind: WriteKind::Filled, ..changed(path) }
}

/// Returns what is written in folders, whatever there is in them.
fn trees(folder: Option<&Word>, words: &[Word]) -> Vec<Write> {
    let here = [Word::text(".")];
    let words = if words.is_empty() { &here } else { words };
    let tree = |word| Write { reach: Reach::Parts, ..filled(at(folder, word)) };
    words.iter().map(tree).collect()
}

/// Returns what `git checkout` takes out of a commit. What may be a branch is one: then files are written
/// whose names it does not say.
fn switched(given: &Given) -> Vec<Write> {
    let file = |word: &Word| Write { reach: Reach::Parts, ..changed(word.clone()) };
    let is_forced = given.has("f");
    match given.operands.as_slice() {
        [] if given.is_parted || !is_forced => Vec::new(),
        [] => trees(None, &[]),
        [first, files @ ..] if !given.is_parted && !given.has("23") && may_be_branch(first) => {
            let perhaps = Write { kind: WriteKind::Perhaps, ..file(first) };
            let others = files.is_empty().then(|| filled(Word::text(".")));
            [perhaps].into_iter().chain(others).chain(files.iter().map(file)).collect()
        }
        files => files.iter().map(file).collect(),
    }
}

/// Says whether a word may name a commit.
fn may_be_branch(word: &Word) -> bool {
    let is_name = |text: &str| {
        let is_path = text.starts_with(['.', '/', ':']) || text.ends_with('/');
        !is_path && !["//", "/.", "*", "?", "[", "\\", " "].iter().any(|no| text.contains(no))
    };
    let has_pattern = word.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_)));
    word.literal().map_or(!has_pattern, is_name)
}

/// Returns what `git stash` writes: it puts changes away, or puts them back.
fn stashed(all: &[Word]) -> Vec<Write> {
    match all.split_first().map(|(first, rest)| (first.literal(), rest)) {
        Some((Some("list" | "show" | "drop" | "clear" | "create" | "store"), _)) => Vec::new(),
        Some((Some("apply" | "branch" | "pop" | "save"), _)) => trees(None, &[]),
        Some((Some("push"), files)) => trees(None, files),
        _ => trees(None, all),
    }
}

/// Returns what `find` removes or writes by itself; what it runs is another command.
fn of_find(words: &[Word]) -> Vec<Write> {
    let starts = find_starts(words);
    let is_test = |word: &&Word| word.prefix().starts_with(['-', '(', '!']);
    let expression = words.iter().skip_while(|word| !is_test(word) || is_link_option(word));
    let expression: Vec<_> = expression.collect();
    let behind = |at: usize| expression.get(at + 1).copied();
    let is_one_of =
        |names: &[&str], word: &Word| word.literal().is_some_and(|it| names.contains(&it));
    let is_value = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| expression.get(before));
        before.is_some_and(|before| is_one_of(&OF_ALL_VALUED, before))
    };
    let all_of = |(at, word): (usize, &&Word)| is_one_of(&OF_ALL, word) || is_value(at);
    let deletes = expression.iter().any(|word| word.literal() == Some("-delete"));
    let mut found = Vec::new();
    if deletes && expression.iter().enumerate().all(all_of) {
        found.extend(removed(None, &starts).into_iter().map(whole));
    }
    let written = expression.iter().enumerate().filter(|(_, word)| is_one_of(&OF_FILES, word));
    found.extend(written.filter_map(|(at, _)| behind(at)).cloned().map(changed));
    found
}

fn is_link_option(word: &Word) -> bool {
    matches!(word.literal(), Some("-H" | "-L" | "-P"))
}

/// Returns a name with another end, where it has one of these.
fn with_other_end(word: &Word, ends: &[(&str, &str)]) -> Word {
    let mut pieces = word.pieces.clone();
    if let Some(Piece::Text(text)) = pieces.last_mut() {
        let found = ends.iter().find_map(|(end, other)| Some((text.strip_suffix(end)?, other)));
        if let Some((name, other)) = found {
            *text = format!("{name}{other}");
        }
    }
    Word { pieces }
}

/// Returns where copies of files come to be: in `folder`, or else at the last operand or in it.
fn copies(given: &Given, folder: Option<&Word>) -> Vec<Write> {
    let inside = |folder: &Word, source: &Word| beneath(folder, &name_of(source));
    if let Some(folder) = folder {
        return given.operands.iter().map(|source| changed(inside(folder, source))).collect();
    }
    match given.operands.as_slice() {
        [_, target] if given.has("T") => vec![changed(target.clone())],
        [source, target] if !is_folder(target) => {
            vec![Write { inside: Some(inside(target, source)), ..changed(target.clone()) }]
        }
        [sources @ .., target] => {
            sources.iter().map(|source| changed(inside(target, source))).collect()
        }
        [] => Vec::new(),
    }
}

/// Returns the same of programs that copy all of a folder whose name has a `/` behind it.
fn mirrored(given: &Given) -> Vec<Write> {
    let Some((target, sources)) = given.operands.split_last() else { return Vec::new() };
    let is_remote = |word: &Word| {
        let host = word.prefix().split('/').next().unwrap_or_default();
        host.contains(':')
    };
    if is_remote(target) || sources.is_empty() {
        return Vec::new();
    }
    if sources.iter().any(is_folder) {
        return vec![filled(target.clone())];
    }
    copies(given, None)
}

/// Tells options, their values and the other arguments apart.
fn given(writer: &Writer, words: &[Word]) -> Given {
    let mut given = Given::default();
    let mut rest = words;
    if writer.bundle
        && let Some((first, behind)) = words.split_first()
        && first.is_no_option()
    {
        rest = behind;
        for letter in first.prefix().chars() {
            let value = match arity(writer, letter) {
                1 => next(&mut rest),
                _ => Word::default(),
            };
            given.options.push((letter, value));
        }
    }
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        let is_option = word.prefix().starts_with('-') && word.literal() != Some("-");
        if word.literal() == Some("--") || writer.stops && !is_option {
            given.is_parted = is_option;
            if writer.parts {
                given.operands.clear();
            }
            let first = (!is_option).then_some(word);
            given.operands.extend(first.into_iter().chain(rest).cloned());
            break;
        }
        if !is_option {
            given.operands.push(word.clone());
        } else if let Some((letter, value)) = long(writer, word) {
            let is_next = value.is_none() && arity(writer, letter) == 1;
            let value = if is_next { next(&mut rest) } else { value.unwrap_or_default() };
            given.options.push((letter, value));
        } else if !word.prefix().starts_with("--") && (writer.single || !writer.one_dash) {
            row(writer, word, &mut rest, &mut given);
        }
    }
    given
}

/// Reads a row of letters behind a dash.
fn row(writer: &Writer, word: &Word, rest: &mut &[Word], given: &mut Given) {
    let letters = word.prefix();
    for (at, letter) in letters.char_indices().skip(1) {
        let arity = arity(writer, letter);
        let behind = letters.get(..at + letter.len_utf8());
        let value = behind.filter(|_| arity > 0).and_then(|behind| word.strip_prefix(behind));
        let is_next = arity == 1 && value.as_ref().is_some_and(|value| value.literal() == Some(""));
        let value = if is_next { next(rest) } else { value.unwrap_or_default() };
        given.options.push((letter, value));
        if arity > 0 || writer.single {
            return;
        }
    }
}

/// Takes the next word.
fn next(rest: &mut &[Word]) -> Word {
    let all = *rest;
    *rest = all.get(1..).unwrap_or_default();
    all.first().cloned().unwrap_or_default()
}

/// Returns the letter that a long option means, be it only the beginning of its name, and its value behind `=`.
fn long(writer: &Writer, word: &Word) -> Option<(char, Option<Word>)> {
    let text = word.prefix();
    let dashes = if text.starts_with("--") { "--" } else { "-" };
    let is_whole = dashes == "-";
    let name = text.strip_prefix(dashes).filter(|_| !is_whole || writer.one_dash)?;
    let name = name.split('=').next().unwrap_or_default();
    let known = |is: &dyn Fn(&str) -> bool| writer.long.iter().find(|(long, _)| is(long));
    let found = known(&|long| long == name);
    let begun = || known(&|long| !is_whole && !name.is_empty() && long.starts_with(name));
    let (_, letter) = found.or_else(begun)?;
    Some((*letter, word.strip_prefix(&format!("{dashes}{name}="))))
}

/// Returns 0 for an option without a value, 1 for one that has a value, 2 for one that has it in the same word
/// or not at all.
fn arity(writer: &Writer, letter: char) -> usize {
    let behind = writer.letters.split_once(letter).map_or("", |(_, behind)| behind);
    behind.chars().take_while(|sign| *sign == ':').count()
}

/// Returns a path from another folder on.
fn beneath(folder: &Word, path: &Word) -> Word {
    let is_absolute = match path.pieces.first() {
        Some(Piece::Text(text)) => text.starts_with('/'),
        Some(Piece::Home(_) | Piece::Folder | Piece::Begin) => true,
        _ => false,
    };
    if is_absolute { path.clone() } else { folder.joined(&Word::text("/")).joined(path) }
}

/// Returns the name that a copy of a file has.
fn name_of(source: &Word) -> Word {
    let mut pieces = source.pieces.clone();
    if let Some(Piece::Text(text)) = pieces.last_mut() {
        *text = text.trim_end_matches('/').to_owned();
    }
    let has_folder = |piece: &Piece| match piece {
        Piece::Text(text) => text.contains('/'),
        Piece::Home(_) | Piece::Folder | Piece::Begin => true,
        _ => false,
    };
    if let Some(last) = pieces.iter().rposition(has_folder) {
        pieces.drain(..last);
    }
    match pieces.first_mut() {
        Some(Piece::Text(text)) => {
            let name = text.rsplit('/').next().unwrap_or_default();
            // Of `..` what is in it is copied.
            *text = if name == ".." { "." } else { name }.to_owned();
        }
        Some(first @ (Piece::Home(_) | Piece::Folder | Piece::Begin)) => {
            *first = Piece::Glob("*".to_owned());
        }
        _ => {}
    }
    Word { pieces }
}

/// Says whether a path is that of a folder by how it is written.
fn is_folder(word: &Word) -> bool {
    match word.pieces.last() {
        Some(Piece::Text(text)) => {
            text.ends_with('/') || matches!(text.rsplit('/').next(), Some("." | ".."))
        }
        Some(Piece::Home(_) | Piece::Folder | Piece::Begin) => true,
        _ => false,
    }
}

/// Returns the name that what is fetched from an address has.
fn fetched(address: &Word) -> Option<Word> {
    // `?` is no pattern there.
    let address = address.unknown().next().is_none().then(|| address.shown())?;
    let path = address.split(['?', '#']).next()?;
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let name = path.split_once('/').map_or("", |(_, path)| path).rsplit('/').next()?;
    Some(Word::text(if name.is_empty() { "index.html" } else { name }))
}

//! Forms of rules that would match nothing, as people write them for a shell or another agent. Each is
//! refused with the form that says what is meant.

use std::cmp::Ordering;

use super::{COMMAND_TOOL, Verdict, glob, words::Words};
use crate::policy::shell::{self, RedirectKind, SimpleCommand, Word};

/// Rules for these speak of paths.
const PATHS: [&str; 7] = ["read", "write", "read_file", "write_file", "edit_file", "grep", "glob"];

/// Rules for these speak of every call.
const WITHOUT_PATTERN: [&str; 2] = ["jobs", "recall"];

/// Signs that join commands or stand for what is only known when they run.
const JOINS: [char; 8] = [';', '&', '|', '<', '>', '(', ')', '`'];

const ONE_COMMAND: &str = "a rule speaks of one command by its words, and a sign of the shell that is one of them stands in quotes";

const BLANKS: &str =
    "a blank at the beginning or the end of a path stands in quotes, or is none of it";

const ONE_PATH: &str = "a rule has one path, or several in braces";

/// Why a form is none, and what is meant.
pub(super) type Meant = (&'static str, String);

/// Returns what is wrong with the pattern of a rule for `tool`, with the blanks around it.
pub(super) fn wrong(tool: &str, inner: &str, verdict: Verdict) -> Option<Meant> {
    let rule = |pattern: &str| format!("{tool}({pattern})");
    let (padded, inner) = (inner, inner.trim());
    if let Some(first) = several(inner) {
        return Some(("a rule is one, and others are given on their own", rule(first)));
    }
    let begins = if tool == COMMAND_TOOL { inner.strip_suffix(":*") } else { None };
    if begins.unwrap_or(inner).trim().is_empty() && verdict == Verdict::Allow {
        // A variable of a script that was empty would allow all commands.
        Some(("a rule for every call has no brackets", tool.to_owned()))
    } else if WITHOUT_PATTERN.contains(&tool) && !matches!(inner, "" | "*" | "**") {
        Some(("a rule for it speaks of every call", tool.to_owned()))
    } else if tool == COMMAND_TOOL {
        of_command(inner)
    } else if PATHS.contains(&tool) && padded != inner {
        let quoted = (!inner.contains('"')).then(|| rule(&format!("\"{padded}\"")));
        let or = quoted.map(|quoted| format!(" or {quoted}")).unwrap_or_default();
        Some((BLANKS, rule(inner) + &or))
    } else if PATHS.contains(&tool) {
        let (why, patterns) = of_path(inner, verdict)?;
        Some((why, patterns.iter().map(|pattern| rule(pattern)).collect::<Vec<_>>().join(" and ")))
    } else {
        None
    }
}

/// Returns the first pattern where another rule follows behind its parenthesis.
fn several(inner: &str) -> Option<&str> {
    inner.match_indices(')').find_map(|(at, _)| {
        let behind = inner.get(at + 1..)?.trim_start_matches([',', ';', ' ']);
        let (name, _) = behind.split_once('(')?;
        let is_tool = PATHS.contains(&name) || matches!(name, COMMAND_TOOL | "net");
        is_tool.then(|| inner.get(..at)).flatten()
    })
}

fn of_path(inner: &str, verdict: Verdict) -> Option<(&'static str, Vec<String>)> {
    let one = |why, pattern: String| Some((why, vec![pattern]));
    let inner = &glob::unquoted(inner);
    if let Some(rest) = inner.strip_prefix('!') {
        return one("a rule takes nothing back from another one", rest.to_owned());
    }
    if let Some(path) = inner.strip_prefix("file://") {
        return one("a rule names a path and no address", path.to_owned());
    }
    if glob::is_variable(inner) {
        let name = inner.trim_start_matches(['$', '{']);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, behind) = name.split_at(end.unwrap_or(name.len()));
        let behind = behind.trim_start_matches('}').trim_start_matches('/');
        return match name {
            "HOME" => one("a rule knows no variables", format!("~/{behind}")),
            "PWD" | "CLAUDE_PROJECT_DIR" if !behind.is_empty() => {
                one("a rule knows no variables", behind.to_owned())
            }
            _ => one(
                "a rule knows no variables, and a path that begins with the sign has ./ in front",
                format!("./{inner}"),
            ),
        };
    }
    if let Some(rest) = inner.strip_prefix('~').filter(|rest| !rest.is_empty())
        && !rest.starts_with('/')
    {
        let why = "`~` is one's own home, and a name that begins with it has ./ in front";
        return match rest.strip_prefix("+/") {
            Some(rest) => one(why, rest.to_owned()),
            None if rest.contains('/') => one(why, format!("/home/{rest}")),
            None => one(why, format!("./{inner}")),
        };
    }
    if verdict != Verdict::Allow
        && let Some((why, meant)) = unclosed(inner)
    {
        return one(why, meant);
    }
    let Some(globs) = glob::alternatives(inner) else {
        return one("its braces stand for too many paths", "**".to_owned());
    };
    if let Some(apart) = globs.iter().find_map(|glob| stars_apart(glob)) {
        return match inner.split_once(',') {
            Some(_) if globs.len() == 1 => {
                let parts = inner.split(',').map(|part| part.trim().to_owned());
                Some((ONE_PATH, parts.collect()))
            }
            _ => one("`**` stands for whole folders, between slashes", apart),
        };
    }
    if verdict != Verdict::Allow
        && globs.len() == 1
        && inner.contains(", ")
        && !inner.contains("\\,")
    {
        let parts = inner.split(',').map(|part| part.trim().to_owned());
        return Some((ONE_PATH, parts.collect()));
    }
    if verdict == Verdict::Allow && globs.iter().any(|glob| glob::has_class(glob)) {
        let why = "brackets stand for themselves in a permission, and one of several signs is said by braces";
        return one(why, inner.replace('[', "\\["));
    }
    None
}

/// Returns what is meant by a glob with a sign that has lost its other half, or with `\` for `/`: as it is
/// written it speaks of names that nobody gives. In a permission, which tenon writes, too, such a
/// sign is itself.
fn unclosed(glob: &str) -> Option<Meant> {
    let is_quote = |sign: char| matches!(sign, '"' | '\'') && glob.matches(sign).count() == 1;
    let bare = glob.trim_start_matches(is_quote).trim_end_matches(is_quote);
    if bare.len() < glob.len() {
        return Some(("a quote in it is not closed", bare.to_owned()));
    }
    let with_slash = |at: usize| {
        let (before, behind) = glob.split_at(at);
        format!("{before}\\{behind}")
    };
    let plain = |wanted: char| glob::plain_places(glob).filter(move |(_, sign)| *sign == wanted);
    if let Some((at, _)) = plain('[').find(|(at, _)| glob::is_open_class(glob, *at)) {
        return Some((r"a bracket that is not closed has \ in front", with_slash(at)));
    }
    let more = match plain('{').count().cmp(&plain('}').count()) {
        Ordering::Greater => plain('{').last(),
        Ordering::Less => plain('}').last(),
        Ordering::Equal => None,
    };
    if let Some((at, _)) = more {
        return Some((r"a brace that is not closed has \ in front", with_slash(at)));
    }
    plain('\\').next().map(|_| {
        let meant = glob.replace('\\', "/");
        let why = r"folders stand apart by /, and a \ that is part of a name is written twice";
        (why, meant.trim_end_matches('/').to_owned())
    })
}

/// Returns a glob with each `**` between slashes, if one is not.
fn stars_apart(glob: &str) -> Option<String> {
    let is_mixed = |name: &&str| {
        let bare = name.replace("\\*", "_");
        bare.contains("**") && !bare.trim_matches('*').is_empty()
    };
    glob.split('/').find(is_mixed)?;
    let apart = |name: &str| match name.split_once("**") {
        Some((before, behind)) if !before.is_empty() || !behind.is_empty() => {
            let before = if before.is_empty() { String::new() } else { format!("{before}*/") };
            let behind = behind.trim_start_matches('*');
            let behind = if behind.is_empty() { String::new() } else { format!("/*{behind}") };
            format!("{before}**{behind}")
        }
        _ => name.to_owned(),
    };
    Some(glob.split('/').map(apart).collect::<Vec<_>>().join("/"))
}

fn of_command(inner: &str) -> Option<Meant> {
    let (line, mark) = match inner.strip_suffix(":*") {
        Some(line) => (line, ":*"),
        None => (inner, ""),
    };
    let rule = |line: &str| match line.strip_suffix(" *") {
        Some(line) if mark.is_empty() => format!("bash({line}:*)"),
        _ => format!("bash({line}{mark})"),
    };
    let words = Words::read(line)?;
    let first = words.first().unwrap_or_default();
    let has_blank = first.contains(char::is_whitespace);
    if let Some(text) = quoted_whole(line).filter(|text| has_blank || text.ends_with(":*"))
        && !first.starts_with(['/', '.', '~'])
    {
        return Some(("quotes make one word of what is in them", rule(text)));
    }
    let bare = bare(line);
    if bare.iter().any(|sign| JOINS.contains(sign)) {
        return Some((ONE_COMMAND, commands(line, mark)));
    }
    let of_program = bare.split(|sign| sign.is_whitespace()).next().unwrap_or_default();
    let has = |sign: char| of_program.contains(&sign) && !of_program.contains(&'/');
    let braced = glob::alternatives(line).filter(|lines| lines.len() > 1 && bare.contains(&'{'));
    let listed = || line.split(',').map(|part| part.trim().trim_end_matches(":*").to_owned());
    let lines = match braced {
        Some(lines) => lines,
        None if has(',') => listed().collect(),
        None => Vec::new(),
    };
    if !lines.is_empty() {
        let rules: Vec<_> = lines.iter().map(|line| rule(line)).collect();
        return Some((ONE_COMMAND, rules.join(" and ")));
    }
    let is_assigned = |(name, _): (&str, &str)| is_name(name);
    if of_program.contains(&'=') && first.split_once('=').is_some_and(is_assigned) {
        return Some(("variables in front are no words of a command", commands(line, mark)));
    }
    if has(':') && first != ":" {
        let why = "`:*` stands at the end, and blanks stand between words";
        let line = line.replace(':', " ");
        return Some((why, rule(&line.split_whitespace().collect::<Vec<_>>().join(" "))));
    }
    if bare.contains(&'$') {
        let why = "a rule knows no variables, and the sign itself stands in quotes";
        return Some((
            why,
            match line.replace("${HOME}", "$HOME").replace("$HOME/", "~/") {
                line if !self::bare(&line).contains(&'$') => rule(&line),
                _ => format!("bash({words}{mark})"),
            },
        ));
    }
    None
}

fn is_name(text: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(is_of_name)
}

/// Returns what is in the quotes, if they are around all of a text.
fn quoted_whole(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|sign| matches!(sign, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(quote)).then_some(inner)
}

/// Returns the signs that are in no quotes and have no `\` in front.
fn bare(text: &str) -> Vec<char> {
    let mut all = Vec::new();
    let mut rest = text.chars();
    while let Some(sign) = rest.next() {
        match sign {
            '\\' => drop(rest.next()),
            '\'' => drop(rest.by_ref().find(|next| *next == '\'')),
            '"' => {
                while let Some(next) = rest.next().filter(|next| *next != '"') {
                    if next == '\\' {
                        rest.next();
                    }
                }
            }
            other => all.push(other),
        }
    }
    all
}

/// Returns the rules for the commands of a line.
fn commands(line: &str, mark: &str) -> String {
    let mut rules = Vec::new();
    for command in shell::parse(line).commands {
        let words: Vec<_> = command.words.iter().map(shown).collect();
        let words = words.join(" ");
        rules.extend((!words.is_empty()).then(|| format!("bash({words}{mark})")));
        rules.extend(written(&command));
    }
    rules.dedup();
    if rules.is_empty() { "bash(make:*)".to_owned() } else { rules.join(" and ") }
}

/// Returns the rules for the files that the redirects of a command write.
fn written(command: &SimpleCommand) -> impl Iterator<Item = String> {
    let writes = command.redirects.iter().filter(|one| one.kind == RedirectKind::Write);
    let file = |target: &Word| target.literal().map(|file| format!("write({file})"));
    writes.filter_map(move |one| file(&one.target))
}

/// Returns a word as a rule has it; of what is not known a star.
fn shown(word: &Word) -> String {
    match word.literal() {
        Some(text) => Words::exactly(std::iter::once(text), false).to_string(),
        None if word.unknown().next().is_some() => "*".to_owned(),
        None => word.shown(),
    }
}

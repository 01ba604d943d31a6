//! Rules: one line of configuration each, such as `bash(git push:*)` or `edit_file(src/**)`.
//!
//! A rule for commands is matched by the words of one simple command, never by text within them.
//! A rule for paths is a glob. Whether several rules agree is decided elsewhere.

mod exact;
mod glob;

use std::fmt;

use serde::{Deserialize, Serialize};

use self::glob::glob_matches;
use super::places::{Places, clean};
use super::shell::{SimpleCommand, Word, arguments::behind_git_options};

/// What is to be done with a call.
///
/// The stricter verdict is the greater one:
///
/// ```
/// use tenon_agent::Verdict;
///
/// let several = [Verdict::Allow, Verdict::Deny, Verdict::Ask];
/// assert_eq!(several.into_iter().max(), Some(Verdict::Deny));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It does not run.
    Deny,
}

/// Where a rule was written.
///
/// It is what a refusal speaks of:
///
/// ```
/// use tenon_agent::{Action, Mode, Origin, Places, Rule, Rules, Verdict, decide};
///
/// let rule = Rule::parse("web_search", Verdict::Deny, Origin::CommandLine)?;
/// let rules: Rules = [rule].into_iter().collect();
/// let action = Action::Other { subject: "rust".into() };
/// let decision = decide("web_search", &action, &rules, Mode::Auto, &Places::default());
/// assert_eq!(decision.reason, "--deny web_search forbids it");
/// # Ok::<(), tenon_agent::RuleError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// In the user's configuration file.
    Config,
    /// On the command line of the program.
    CommandLine,
}

/// One rule.
///
/// ```
/// use tenon_agent::{Origin, Rule, Verdict};
///
/// let rule = Rule::parse("bash( git  push:* )", Verdict::Ask, Origin::Config)?;
/// assert_eq!(rule.to_string(), "bash(git push:*)");
/// # Ok::<(), tenon_agent::RuleError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    pattern: Option<Pattern>,
    verdict: Verdict,
    origin: Origin,
}

/// Why a text is not a rule.
///
/// ```
/// use tenon_agent::{Origin, Rule, RuleError, Verdict};
///
/// let error = Rule::parse("bash(git push", Verdict::Allow, Origin::Config);
/// assert_eq!(error, Err(RuleError::Unclosed("bash(git push".into())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The tool's name is missing or has other characters than letters, digits, `_`, `-` and `.`.
    #[error("a rule begins with the name of a tool, such as bash(git push:*), not `{0}`")]
    Tool(String),
    /// The parenthesis that opens the pattern is not closed at the end.
    #[error("the pattern of the rule `{0}` does not end with )")]
    Unclosed(String),
    /// A quote within the pattern is not closed.
    #[error("a quote in the rule `{0}` is not closed")]
    Quote(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// Words of a command; whether more may follow.
    Words { words: Vec<Wild>, open: bool },
    /// A path, or the subject of a tool of one's own.
    Glob(String),
}

/// Text with `*` for anything: the parts between the stars.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wild {
    parts: Vec<String>,
}

/// The tools whose pattern is a command.
const COMMAND_TOOL: &str = "bash";

/// All rules of a session, in the order in which they were given.
///
/// Whatever the order, deny comes before ask and ask before allow:
///
/// ```
/// use tenon_agent::{Action, Mode, Origin, Places, Rule, Rules, Verdict, decide};
///
/// let rules: Rules = [("fetch", Verdict::Allow), ("fetch(*.internal)", Verdict::Deny)]
///     .into_iter()
///     .map(|(text, verdict)| Rule::parse(text, verdict, Origin::Config))
///     .collect::<Result<_, _>>()?;
/// let action = Action::Other { subject: "wiki.internal".into() };
/// let decision = decide("fetch", &action, &rules, Mode::Auto, &Places::default());
/// assert_eq!(decision.rule, "fetch(*.internal)");
/// # Ok::<(), tenon_agent::RuleError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// Adds a rule behind the others. Order decides only which one is named: deny comes before
    /// ask, ask before allow.
    ///
    /// ```
    /// use tenon_agent::{Origin, Rule, Rules, Verdict};
    ///
    /// let mut rules = Rules::default();
    /// for text in ["bash(cargo:*)", "edit_file(src/**)"] {
    ///     rules.add(Rule::parse(text, Verdict::Allow, Origin::CommandLine)?);
    /// }
    /// # Ok::<(), tenon_agent::RuleError>(())
    /// ```
    pub fn add(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    pub(crate) fn with(&self, verdict: Verdict) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.verdict == verdict)
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Rules {
        Rules { rules: rules.into_iter().collect() }
    }
}

impl Rule {
    /// Reads a rule: `TOOL`, `TOOL(*)`, `bash(WORDS)`, `bash(WORDS:*)` or `TOOL(GLOB)`.
    /// `read(GLOB)` and `write(GLOB)` speak of every tool that reads or writes files; with a path
    /// from `/` or `~/` they also let such tools leave the workspace.
    ///
    /// Words are quoted as in a shell; an unquoted `*` stands for any text within a word. `:*` at
    /// the end lets further words follow. `TOOL` is the name of a tool, or `*` for all.
    ///
    /// ```
    /// use tenon_agent::{Origin, Rule, Verdict};
    ///
    /// // A tool, a command as it stands, commands that begin so, files beneath a folder.
    /// for text in ["web_search", "bash(make check)", "bash(git log:*)", "edit_file(src/**)"] {
    ///     let rule = Rule::parse(text, Verdict::Allow, Origin::Config)?;
    ///     assert_eq!(rule.to_string(), text);
    /// }
    /// # Ok::<(), tenon_agent::RuleError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the text has another form.
    pub fn parse(text: &str, verdict: Verdict, origin: Origin) -> Result<Rule, RuleError> {
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            Some((tool, rest)) => {
                let inner =
                    rest.strip_suffix(')').ok_or_else(|| RuleError::Unclosed(text.into()))?;
                (tool.trim(), Some(inner.trim()))
            }
            None => (text, None),
        };
        let named = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if tool != "*" && (tool.is_empty() || !tool.chars().all(named)) {
            return Err(RuleError::Tool(text.to_owned()));
        }
        let pattern = match pattern {
            None | Some("*" | "**" | "") => None,
            Some(inner) if tool == COMMAND_TOOL => {
                let (line, open) = match inner.strip_suffix(":*") {
                    Some(line) => (line, true),
                    None => (inner, false),
                };
                let words = split(line).ok_or_else(|| RuleError::Quote(text.to_owned()))?;
                Some(Pattern::Words { words, open })
            }
            Some(inner) => Some(Pattern::Glob(inner.to_owned())),
        };
        Ok(Rule { tool: tool.to_owned(), pattern, verdict, origin })
    }

    /// Returns the rule that covers commands which begin with these words.
    pub(crate) fn for_words<'a>(words: impl Iterator<Item = &'a str>) -> Rule {
        let words = words.map(|word| Wild { parts: vec![word.to_owned()] }).collect();
        let pattern = Some(Pattern::Words { words, open: true });
        Rule { pattern, ..Rule::for_tool(COMMAND_TOOL) }
    }

    /// Returns the rule that allows a tool for one path or subject.
    pub(crate) fn for_glob(tool: &str, glob: &str) -> Rule {
        Rule { pattern: Some(Pattern::Glob(glob.to_owned())), ..Rule::for_tool(tool) }
    }

    /// Returns the rule that allows all calls of a tool.
    pub(crate) fn for_tool(tool: &str) -> Rule {
        let (verdict, origin) = (Verdict::Allow, Origin::CommandLine);
        Rule { tool: tool.to_owned(), pattern: None, verdict, origin }
    }

    /// Returns what the rule says.
    pub(crate) fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Returns where the rule was written.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// Says whether the rule names no command, path or subject.
    pub(crate) fn is_sweeping(&self) -> bool {
        self.pattern.is_none()
    }

    /// Says whether the rule speaks of files by name and not only by folder.
    pub(crate) fn names_a_file(&self) -> bool {
        matches!(&self.pattern, Some(Pattern::Glob(glob))
            if glob.rsplit('/').next().and_then(glob::only).is_some())
    }

    pub(crate) fn is_for(&self, tool: &str) -> bool {
        self.tool == "*" || self.tool == tool
    }

    /// Says whether the rule allows this command: word by word as written, the program by its
    /// plain name or where the system keeps it.
    pub(crate) fn allows_command(&self, command: &SimpleCommand) -> bool {
        match &self.pattern {
            None => true,
            Some(Pattern::Words { words, open }) => matches_words(words, *open, &command.words),
            Some(Pattern::Glob(_)) => false,
        }
    }

    /// Says whether the rule speaks of this command: as written, however the program is named and
    /// whatever options stand before the subcommand of git.
    pub(crate) fn touches_command(&self, command: &SimpleCommand) -> bool {
        let Some(Pattern::Words { words, open }) = &self.pattern else {
            return self.pattern.is_none();
        };
        let plain = plain_name(command);
        matches_words(words, *open, &command.words)
            || matches_words(words, *open, &plain)
            || git_words(&plain).is_some_and(|git| matches_words(words, *open, &git))
    }

    /// Says whether the rule speaks of this command if what is not known of its words is such.
    pub(crate) fn may_touch_command(&self, command: &SimpleCommand) -> bool {
        let Some(Pattern::Words { words, .. }) = &self.pattern else { return false };
        let plain = plain_name(command);
        let may_be = |given: &[Word]| {
            let given = given.get(..words.len()).unwrap_or(given);
            given.iter().any(|word| word.literal().is_none())
                && words.iter().zip(given).all(|(wild, word)| wild.may_be(word))
        };
        command.program().is_some()
            && (may_be(&plain) || git_words(&plain).is_some_and(|git| may_be(&git)))
    }

    /// Says whether the rule speaks of a command that may run, if what is not known of its words is
    /// such; some of them may be several.
    pub(crate) fn may_be_meant(&self, words: &[Word]) -> bool {
        let Some(Pattern::Words { words: pattern, .. }) = &self.pattern else { return false };
        let may_be = |given: &[Word]| {
            let mut given = given.iter();
            for wild in pattern {
                match given.next() {
                    Some(word) if !wild.may_be(word) => return false,
                    Some(word) if word.is_many() => return true,
                    Some(_) => {}
                    None => return false,
                }
            }
            true
        };
        let plain = plain_name(&SimpleCommand { words: words.to_vec(), ..Default::default() });
        may_be(&plain) || git_words(&plain).is_some_and(|git| may_be(&git))
    }

    /// Says whether a rule for paths matches this one.
    pub(crate) fn matches_path(&self, path: &str, places: &Places) -> bool {
        let Some(Pattern::Glob(glob)) = &self.pattern else { return self.pattern.is_none() };
        let path = places.absolute(path);
        absolute_globs(glob, places).any(|glob| glob_matches(&glob, &path))
    }

    /// Says whether a rule for paths may match one beneath this folder, by what the rule begins with.
    pub(crate) fn may_match_beneath(&self, folder: &str, places: &Places) -> bool {
        let Some(Pattern::Glob(glob)) = &self.pattern else { return self.pattern.is_none() };
        let folder = format!("{}/", folder.trim_end_matches('/'));
        absolute_globs(glob, places).any(|glob| {
            let known = glob::beginning(&glob);
            known.starts_with(&folder) || folder.starts_with(&known)
        })
    }

    /// Says whether a rule matches the main argument of a tool of one's own.
    pub(crate) fn matches_subject(&self, subject: &str) -> bool {
        let Some(Pattern::Glob(glob)) = &self.pattern else { return self.pattern.is_none() };
        Wild::new(glob).matches(subject)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        match &self.pattern {
            None => Ok(()),
            Some(Pattern::Glob(glob)) => write!(f, "({glob})"),
            Some(Pattern::Words { words, open }) => {
                let words = words.iter().map(Wild::to_string).collect::<Vec<_>>().join(" ");
                // Stars alone would be read as all commands, not as those of one word.
                let quote = if !open && matches!(words.as_str(), "*" | "**") { "\"\"" } else { "" };
                write!(f, "({quote}{words}{})", if *open { ":*" } else { "" })
            }
        }
    }
}

impl Wild {
    fn new(text: &str) -> Wild {
        Wild { parts: text.split('*').map(str::to_owned).collect() }
    }

    fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.parts.split_first() else { return text.is_empty() };
        let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
        let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
        for part in middle {
            let Some(position) = left.find(part.as_str()) else { return false };
            left = left.get(position + part.len()..).unwrap_or_default();
        }
        left.ends_with(last.as_str())
    }

    /// Says whether a word may be this; of some only the beginning is known.
    fn may_be(&self, word: &Word) -> bool {
        let (first, begins) = (self.parts.first().map_or("", String::as_str), word.prefix());
        let begins_so = || first.starts_with(begins) || self.parts.len() > 1;
        word.literal().map_or_else(begins_so, |text| self.matches(text))
    }

    /// Says whether this names a program: as written, or by its plain name where the system keeps
    /// it. A star of a plain name stands for no path: `l*` is not `l/x`.
    fn names_program(&self, program: &str) -> bool {
        let is_path = self.parts.iter().any(|part| part.contains('/'));
        let is_plain = |name: &str| !name.contains('/') && self.matches(name);
        is_plain(program)
            || (is_path && self.matches(program))
            || ["/bin/", "/usr/bin/", "/usr/local/bin/"]
                .iter()
                .any(|folder| program.strip_prefix(folder).is_some_and(is_plain))
    }
}

impl fmt::Display for Wild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_alphanumeric() || "_-./=@%+:,^~".contains(c);
        if self.parts.len() == 1 && self.parts.iter().all(String::is_empty) {
            return f.write_str("\"\"");
        }
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                f.write_str("*")?;
            }
            // A colon at the end could be taken for the mark of an open rule.
            if part.chars().all(plain) && !part.ends_with(':') {
                f.write_str(part)?;
            } else {
                write!(f, "\"{}\"", part.replace('\\', "\\\\").replace('"', "\\\""))?;
            }
        }
        Ok(())
    }
}

/// Returns a glob from `/` on: one that is relative speaks of each root.
fn absolute_globs<'a>(glob: &'a str, places: &'a Places) -> impl Iterator<Item = String> + 'a {
    let fixed = match glob.strip_prefix("~/") {
        Some(rest) => Some(clean(&format!("{}/{rest}", places.home))),
        None => glob.starts_with('/').then(|| clean(glob)),
    };
    let relative = glob.strip_prefix("./").unwrap_or(glob);
    let roots = places.roots.iter().filter(move |_| !glob.starts_with(['/', '~']));
    fixed.into_iter().chain(roots.map(move |root| clean(&format!("{root}/{relative}"))))
}

fn matches_words(pattern: &[Wild], open: bool, words: &[Word]) -> bool {
    if words.len() < pattern.len() || (!open && words.len() > pattern.len()) {
        return false;
    }
    pattern.iter().zip(words).enumerate().all(|(index, (wild, word))| match word.literal() {
        Some(text) if index == 0 => wild.names_program(text),
        Some(text) => wild.matches(text),
        // A lone star stands for a word that is not known, too, but never for the program.
        None => index > 0 && wild.parts.iter().all(String::is_empty) && wild.parts.len() > 1,
    })
}

fn plain_name(command: &SimpleCommand) -> Vec<Word> {
    let mut words = command.words.clone();
    if let (Some(name), Some(first)) = (command.program(), words.first_mut()) {
        *first = Word::text(name);
    }
    words
}

/// Returns a git command without git's own options.
fn git_words(words: &[Word]) -> Option<Vec<Word>> {
    let (git, arguments) = words.split_first()?;
    if git.literal() != Some("git") {
        return None;
    }
    Some(std::iter::once(git).chain(behind_git_options(arguments)).cloned().collect())
}

/// Splits a pattern into words; `None` if a quote is open.
fn split(text: &str) -> Option<Vec<Wild>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<String>> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character.is_whitespace() {
            words.extend(word.take().map(|parts| Wild { parts }));
            continue;
        }
        let parts = word.get_or_insert_with(|| vec![String::new()]);
        if character == '*' {
            parts.push(String::new());
            continue;
        }
        let Some(last) = parts.last_mut() else { continue };
        match character {
            '\\' => last.push(characters.next()?),
            '\'' | '"' => loop {
                match characters.next()? {
                    other if other == character => break,
                    '\\' if character == '"' => last.push(characters.next()?),
                    other => last.push(other),
                }
            },
            other => last.push(other),
        }
    }
    words.extend(word.map(|parts| Wild { parts }));
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::{Origin, Rule, RuleError, Verdict};
    use crate::policy::shell;

    fn rule(text: &str) -> Rule {
        Rule::parse(text, Verdict::Allow, Origin::Config).expect(text)
    }

    #[test]
    fn rules_are_read_and_shown_alike() {
        for (text, shown) in [
            ("bash", "bash"),
            ("bash(*)", "bash"),
            ("bash( git   push:* )", "bash(git push:*)"),
            ("bash(git commit -m 'a b')", "bash(git commit -m \"a b\")"),
            ("bash(cargo t*:*)", "bash(cargo t*:*)"),
            ("bash(echo '*':*)", "bash(echo \"*\":*)"),
            ("bash(a \"b:\":*)", "bash(a \"b:\":*)"),
            ("bash(a '' b)", "bash(a \"\" b)"),
            // All commands of one word, and not all commands.
            ("bash('' *)", "bash(\"\" *)"),
            ("bash(''*)", "bash(\"\"*)"),
            ("bash(*''*)", "bash(\"\"**)"),
            ("bash(***)", "bash(***)"),
            ("bash(*:*)", "bash(*:*)"),
            ("write_file(src/**)", "write_file(src/**)"),
            ("*", "*"),
        ] {
            assert_eq!(rule(text).to_string(), shown);
            assert_eq!(rule(shown), rule(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_rule_is_named() {
        let parse = |text| Rule::parse(text, Verdict::Deny, Origin::Config).map(|_| ());
        assert!(matches!(parse("(x)"), Err(RuleError::Tool(_))));
        assert!(matches!(parse(""), Err(RuleError::Tool(_))));
        assert!(matches!(parse("git push"), Err(RuleError::Tool(_))));
        assert!(matches!(parse("bash(git"), Err(RuleError::Unclosed(_))));
        assert!(matches!(parse("bash(git 'x)"), Err(RuleError::Quote(_))));
    }

    #[test]
    fn commands_are_matched_by_words() {
        for (text, command, allows, touches) in [
            ("bash(git push:*)", "git push", true, true),
            ("bash(git push:*)", "git push origin main", true, true),
            ("bash(git push)", "git push origin", false, false),
            ("bash(git push:*)", "git pushx", false, false),
            ("bash(git push:*)", "git -C x push", false, true),
            ("bash(git push:*)", "git -c a=b --no-pager push x", false, true),
            ("bash(git push:*)", "/usr/bin/git push", true, true),
            ("bash(git push:*)", "./git push", false, true),
            ("bash(git push:*)", "'gi't \"push\"", true, true),
            ("bash(git push:*)", "echo git push", false, false),
            ("bash(git push:*)", "$X push", false, false),
            ("bash(cargo t*:*)", "cargo test -p x", true, true),
            ("bash(cargo * -q)", "cargo build -q", true, true),
            ("bash(cargo * -q)", "cargo $X -q", true, true),
            ("bash(l*)", "ls", true, true),
            ("bash(l*)", "l/x", false, false),
            ("bash(x*)", "l/x", false, true),
            ("bash(l*)", "/usr/bin/ls", true, true),
            ("bash(./l*)", "./l/x", true, true),
            ("bash(rm '*')", "rm \\*", true, true),
            ("bash(rm '*')", "rm x", false, false),
            ("bash", "anything", true, true),
        ] {
            let parsed = shell::parse(command);
            let first = parsed.commands.first().expect(command);
            assert_eq!(rule(text).allows_command(first), allows, "{text} allows {command}");
            assert_eq!(rule(text).touches_command(first), touches, "{text} touches {command}");
        }
    }
}

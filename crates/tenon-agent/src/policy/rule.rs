//! Rules: one line of configuration each, such as `bash(git push:*)` or `edit_file(src/**)`.
//!
//! A rule for commands is matched by the words of one simple command, never by text within them.
//! A rule for paths is a glob. Whether several rules agree is decided elsewhere.

mod exact;
mod forms;
mod glob;
mod meet;
mod ready;
mod words;

use std::fmt;

use serde::{Deserialize, Serialize};

use self::glob::Glob;
use self::words::{Wild, Words};
use super::places::{Places, clean, is_within};
use super::shell::{SimpleCommand, Word};

pub(super) use self::meet::{ANY, FOLDERS, FOUND, NUMBER, is_open};
pub(super) use self::ready::Ready;

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
    /// It would match nothing as it is written: a line of several commands, quotes around words, `**`
    /// within a name and the like.
    #[error("{why}; write {meant}")]
    Form {
        /// What does not stand in a rule.
        why: &'static str,
        /// What says it: one or more rules.
        meant: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// Words of a command.
    Words(Words),
    /// A path, or the subject of a tool of one's own.
    Glob(Glob),
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
    /// If the text has another form, or would match nothing as it is written.
    pub fn parse(text: &str, verdict: Verdict, origin: Origin) -> Result<Rule, RuleError> {
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            Some((tool, rest)) => {
                let inner =
                    rest.strip_suffix(')').ok_or_else(|| RuleError::Unclosed(text.into()))?;
                (tool.trim(), Some(inner))
            }
            None => (text, None),
        };
        let named = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if tool != "*" && (tool.is_empty() || !tool.chars().all(named)) {
            return Err(RuleError::Tool(text.to_owned()));
        }
        if let Some(inner) = pattern
            && let Some((why, meant)) = forms::wrong(tool, inner, verdict)
        {
            return Err(RuleError::Form { why, meant });
        }
        let pattern = match pattern.map(str::trim) {
            None | Some("*" | "**" | "") => None,
            Some(inner) if tool == COMMAND_TOOL => {
                let words = Words::read(inner).ok_or_else(|| RuleError::Quote(text.to_owned()))?;
                Some(Pattern::Words(words))
            }
            Some(inner) => Some(Pattern::Glob(Glob::new(inner))),
        };
        Ok(Rule { tool: tool.to_owned(), pattern, verdict, origin })
    }

    /// Returns the rule that covers commands which begin with these words.
    pub(crate) fn for_words<'a>(words: impl Iterator<Item = &'a str>) -> Rule {
        let pattern = Some(Pattern::Words(Words::exactly(words, true)));
        Rule { pattern, ..Rule::for_tool(COMMAND_TOOL) }
    }

    /// Returns the rule that allows a tool for one path or subject.
    pub(crate) fn for_glob(tool: &str, glob: &str) -> Rule {
        Rule { pattern: Some(Pattern::Glob(Glob::new(glob))), ..Rule::for_tool(tool) }
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
        let is_name = |path: &str| path.rsplit('/').next().and_then(glob::only).is_some();
        matches!(&self.pattern, Some(Pattern::Glob(glob)) if glob.paths().all(is_name))
    }

    pub(crate) fn is_for(&self, tool: &str) -> bool {
        self.tool == "*" || self.tool == tool
    }

    /// Says whether the rule allows this command: word by word as written, the program by its
    /// plain name or where the system keeps it.
    pub(crate) fn allows_command(&self, command: &SimpleCommand) -> bool {
        match &self.pattern {
            None => true,
            Some(Pattern::Words(words)) => words.are(&command.words),
            Some(Pattern::Glob(_)) => false,
        }
    }

    /// Says whether the rule speaks of this command: as written, however the program is named and
    /// whatever options stand before what is done.
    pub(crate) fn touches_command(&self, command: &SimpleCommand) -> bool {
        match &self.pattern {
            Some(Pattern::Words(words)) => words.speak_of(command),
            pattern => pattern.is_none(),
        }
    }

    /// Says whether the rule speaks of this command if what is not known of its words is such.
    pub(crate) fn may_touch_command(&self, command: &SimpleCommand) -> bool {
        matches!(&self.pattern, Some(Pattern::Words(words)) if words.may_speak_of(command))
    }

    /// Says whether the rule speaks of a command that may run, if what is not known of its words is
    /// such; some of them may be several.
    pub(crate) fn may_be_meant(&self, words: &[Word]) -> bool {
        matches!(&self.pattern, Some(Pattern::Words(pattern)) if pattern.may_be_meant(words))
    }

    /// Says whether a rule for paths matches this one. What denies or asks also speaks of all that is
    /// beneath what it names.
    pub(crate) fn matches_path(&self, path: &str, places: &Places) -> bool {
        let Some(Pattern::Glob(glob)) = &self.pattern else { return self.pattern.is_none() };
        glob.paths().any(|glob| self.glob_matches(glob, path, places))
    }

    fn glob_matches(&self, glob: &str, path: &str, places: &Places) -> bool {
        let is_strict = self.verdict != Verdict::Allow;
        let path = places.absolute(path);
        absolute_globs(glob, places).any(|glob| glob::matches(&glob, &path, is_strict))
    }

    /// Says whether a rule for paths surely speaks of something in this folder, by the names that it begins with;
    /// one that begins with a pattern only where `all` that is in the folder is meant.
    pub(crate) fn speaks_within(&self, folder: &str, all: bool, places: &Places) -> bool {
        let Some(Pattern::Glob(glob)) = &self.pattern else { return false };
        let is_within = |glob: String| is_within(&glob::fixed(&glob), folder);
        let mut globs = glob.paths().filter(|glob| {
            let relative = glob.strip_prefix("./").unwrap_or(glob);
            all || !glob::fixed(relative).is_empty()
        });
        globs.any(|glob| absolute_globs(glob, places).any(is_within))
    }

    /// Says whether a rule for paths may speak of one of which not all signs are known ([`meet`]), or of something
    /// in it if it is `deep`.
    pub(crate) fn may_be_meant_by(&self, path: &str, deep: bool, places: &Places) -> bool {
        let Some(Pattern::Glob(glob)) = &self.pattern else { return places.is_inside(path) };
        let is_above = |glob: &str, path: &str| {
            let (fixed, mut names) = (glob::fixed(glob), path.split('/'));
            let is_shared = fixed.split('/').zip(names.by_ref()).all(|(a, b)| meet::may_be(a, b));
            is_shared && names.next().is_none()
        };
        let mut globs = glob.paths().flat_map(|glob| absolute_globs(glob, places));
        globs.any(|glob| {
            let may_be =
                |path: String| meet::may_match(&glob, &path) || deep && is_above(&glob, &path);
            meet::depths(path, &glob).any(may_be)
        })
    }

    /// Says whether a rule for paths begins with a name that it says.
    pub(crate) fn begins_with_a_name(&self) -> bool {
        let is_name = |glob: &str| !glob::fixed(glob.strip_prefix("./").unwrap_or(glob)).is_empty();
        matches!(&self.pattern, Some(Pattern::Glob(glob)) if glob.paths().all(is_name))
    }

    /// Says whether a rule for paths may match one beneath this folder, by what the rule begins with.
    pub(crate) fn may_match_beneath(&self, folder: &str, places: &Places) -> bool {
        let Some(Pattern::Glob(glob)) = &self.pattern else { return self.pattern.is_none() };
        let folder = format!("{}/", folder.trim_end_matches('/'));
        let globs = glob.paths().flat_map(|glob| absolute_globs(glob, places));
        globs
            .map(|glob| glob::beginning(&glob))
            .any(|known| known.starts_with(&folder) || folder.starts_with(&known))
    }

    /// Says whether a rule matches the main argument of a tool of one's own.
    pub(crate) fn matches_subject(&self, subject: &str) -> bool {
        let Some(Pattern::Glob(glob)) = &self.pattern else { return self.pattern.is_none() };
        Wild::new(glob.text()).matches(subject)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        match &self.pattern {
            None => Ok(()),
            Some(Pattern::Glob(glob)) => write!(f, "({})", glob.text()),
            Some(Pattern::Words(words)) => write!(f, "({words})"),
        }
    }
}

/// Says whether a pattern for one name, with `\` in front of signs that are themselves, matches a name.
pub(super) fn name_matches(pattern: &str, name: &str) -> bool {
    glob::component_matches(pattern, name, false)
}

/// Returns a glob from `/` on: one that is relative speaks of each root.
fn absolute_globs<'a>(glob: &'a str, places: &'a Places) -> impl Iterator<Item = String> + 'a {
    let fixed = match glob.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))
    {
        Some(rest) => Some(places.led(&format!("{}/{rest}", places.home))),
        None => glob.starts_with('/').then(|| places.led(glob)),
    };
    let relative = glob.strip_prefix("./").unwrap_or(glob);
    let roots = places.roots.iter().filter(move |_| !glob.starts_with(['/', '~']));
    fixed.into_iter().chain(roots.map(move |root| clean(&format!("{root}/{relative}"))))
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

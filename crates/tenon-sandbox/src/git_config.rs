//! Finds the settings of git that run a program or read another file, in the text of its
//! configuration, and takes them out or puts them back.
//!
//! Pure, and a reader of our own rather than git's: git would have to be run on a file that a
//! command wrote. What this reader is not sure about it does not accept, and the caller then keeps
//! the file as it was.

use std::ops::Range;

/// One `name = value`, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// In lower case.
    section: String,
    subsection: Option<String>,
    /// In lower case.
    name: String,
    /// From the name to the end of the value's last line.
    place: Range<usize>,
    /// The value begins like `ext::`, as an address does that a program opens.
    names_a_program: bool,
}

/// Every name in these sections counts. `http` says which files are read and written, and whom git
/// believes; the last three are other programs', which read git's settings.
const SECTIONS: [&str; 20] = [
    "include",
    "includeif",
    "alias",
    "pager",
    "filter",
    "mergetool",
    "difftool",
    "credential",
    "url",
    "protocol",
    "browser",
    "man",
    "sendemail",
    "guitool",
    "hook",
    "http",
    "instaweb",
    "annex",
    "svn",
    "tig",
];

/// Section and name, whatever stands between them.
const NAMES: [(&str, &str); 44] = [
    ("core", "hookspath"),
    ("core", "fsmonitor"),
    ("core", "sshcommand"),
    ("core", "pager"),
    ("core", "editor"),
    ("core", "askpass"),
    ("core", "gitproxy"),
    ("core", "worktree"),
    ("core", "attributesfile"),
    ("core", "alternaterefscommand"),
    ("core", "packedrefscommand"),
    ("diff", "external"),
    // A path to a script that is read, if it has a slash.
    ("diff", "tool"),
    ("diff", "guitool"),
    ("merge", "tool"),
    ("merge", "guitool"),
    ("diff", "command"),
    ("diff", "textconv"),
    ("merge", "driver"),
    ("remote", "uploadpack"),
    ("remote", "receivepack"),
    ("remote", "vcs"),
    ("remote", "proxy"),
    ("gpg", "program"),
    ("gpg", "defaultkeycommand"),
    ("sequence", "editor"),
    // `%n` begins a line of the list of steps, and `exec` is a step.
    ("rebase", "instructionformat"),
    ("web", "browser"),
    ("uploadpack", "packobjectshook"),
    ("gc", "recentobjectshook"),
    ("trailer", "command"),
    ("trailer", "cmd"),
    ("tar", "command"),
    ("imap", "tunnel"),
    ("interactive", "difffilter"),
    ("delta", "pager"),
    ("submodule", "update"),
    ("init", "templatedir"),
    ("fsmonitor", "socketdir"),
    ("receive", "procreceiverefs"),
    ("lfs", "path"),
    ("lfs", "clean"),
    ("lfs", "smudge"),
    ("lfs", "standalonetransferagent"),
];

/// What git-annex takes of a remote, programs among it, begins so.
const ANNEX: &str = "annex-";

/// Parts of names of what only the user and a server know.
const SECRETS: [&str; 5] = ["token", "pass", "secret", "extraheader", "cookie"];

/// What `http` says of whom to trust and how to speak, without a file that is written.
const TRUST: [&str; 5] = ["sslcainfo", "sslcapath", "sslverify", "postbuffer", "version"];

impl Entry {
    fn runs_a_program(&self) -> bool {
        let names = ["url", "pushurl", "remote", "pushremote", "pushdefault"];
        let is_address = names.contains(&self.name.as_str());
        SECTIONS.contains(&self.section.as_str())
            || is_address && self.names_a_program
            || self.section == "remote" && self.name.starts_with(ANNEX)
            || NAMES.contains(&(self.section.as_str(), self.name.as_str()))
    }

    /// Whether a command may have it of the user's own settings: it is no secret, and what it says
    /// of servers is how they are trusted.
    fn may_be_shared(&self, text: &str) -> bool {
        let whole = [self.subsection.as_deref().unwrap_or_default(), text].join(" ");
        let is_secret = SECRETS.iter().any(|part| self.name.contains(part))
            || whole.contains("://") && whole.contains('@');
        let is_trust = self.section == "http" && TRUST.contains(&self.name.as_str());
        (!self.runs_a_program() || is_trust) && !is_secret && !self.is_of_signing()
    }

    /// Whether it wants a key.
    fn is_of_signing(&self) -> bool {
        self.section == "gpg" || matches!(self.name.as_str(), "gpgsign" | "signingkey")
    }

    /// Whether it names a file with more settings.
    fn includes(&self) -> bool {
        matches!(self.section.as_str(), "include" | "includeif") && self.name == "path"
    }

    /// What it says, in `text`.
    fn said<'a>(&'a self, text: &'a str) -> (&'a str, Option<&'a str>, &'a str, Option<&'a str>) {
        let line = text.get(self.place.clone()).map(str::trim);
        (&self.section, self.subsection.as_deref(), &self.name, line)
    }

    /// As it stands above the entries of a section.
    fn header(&self) -> String {
        match &self.subsection {
            Some(name) => {
                let name = name.replace('\\', "\\\\").replace('"', "\\\"");
                format!("[{} \"{name}\"]\n\t", self.section)
            }
            None => format!("[{}]\n\t", self.section),
        }
    }

    fn shown(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{subsection}.{}", self.section, self.name),
            None => format!("{}.{}", self.section, self.name),
        }
    }
}

/// Returns what commands may have of the user's own settings: no program, no secret, nothing of signing,
/// and no line of comment, which may be any of these. What stands for a file that they include says
/// `included`, given the condition and the path. `None` for what cannot be read for sure.
pub(crate) fn shared(
    text: &str,
    included: &mut dyn FnMut(Option<&str>, &str) -> String,
) -> Option<String> {
    let mut shared = String::new();
    for entry in entries(text)? {
        let said = text.get(entry.place.clone())?;
        if entry.includes() {
            let path = plain_value(said.split_once('=').map_or("", |(_, path)| path));
            shared.push_str(&included(entry.subsection.as_deref(), &path));
        } else if entry.may_be_shared(said) {
            shared.push_str(&format!("{}{}\n", entry.header(), said.trim_end()));
        }
    }
    Some(shared)
}

/// Returns what a setting without a subsection is in the end; its names in lower case.
pub(crate) fn last(text: &str, section: &str, name: &str) -> Option<String> {
    let is_it = |entry: &Entry| {
        (entry.section.as_str(), entry.name.as_str()) == (section, name)
            && entry.subsection.is_none()
    };
    let entry = entries(text)?.into_iter().rfind(is_it)?;
    let (_, value) = text.get(entry.place)?.split_once('=')?;
    Some(plain_value(value))
}

/// Returns the files that the settings include, as they name them, whatever the condition; none for
/// what cannot be read for sure.
pub(crate) fn included(bytes: &[u8]) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    let entries = entries(text).unwrap_or_default();
    let paths =
        entries.into_iter().filter(Entry::includes).filter_map(|entry| text.get(entry.place));
    paths.filter_map(|setting| Some(plain_value(setting.split_once('=')?.1))).collect()
}

/// Returns a value without quotes, comments and what continues lines.
fn plain_value(written: &str) -> String {
    let (mut value, mut quoted) = (String::new(), false);
    // Blanks at the end are no part of it unless they are quoted.
    let mut kept = 0;
    let mut letters = written.trim_start().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                quoted = !quoted;
                kept = value.len();
            }
            '#' | ';' if !quoted => break,
            '\\' => match letters.next() {
                Some('\r') => drop(letters.next()),
                Some('\n') | None => {}
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(other) => value.push(other),
            },
            other => value.push(other),
        }
        if quoted || !letter.is_ascii_whitespace() {
            kept = value.len();
        }
    }
    value.truncate(kept);
    value
}

/// Returns `after` with the settings that run a program as they were in `before`, and the names of
/// those that were taken out or put back: `before` itself where all other settings are as they were.
/// `may_stay` judges a new one by its name and text. `None` for what cannot be read with certainty.
pub(crate) fn put_back(
    before: Option<&[u8]>,
    after: &[u8],
    may_stay: impl Fn(&str, &str) -> bool,
) -> Option<(Vec<u8>, Vec<String>)> {
    let before_text = std::str::from_utf8(before.unwrap_or_default()).ok()?;
    let text = std::str::from_utf8(after).ok()?;
    let (known, found) = (entries(before_text)?, entries(text)?);
    let mut left: Vec<&Entry> = known.iter().filter(|entry| entry.runs_a_program()).collect();
    let mut result = String::with_capacity(text.len());
    let mut names = Vec::new();
    let (mut copied, mut stayed) = (0, 0);
    for entry in found.iter().filter(|entry| entry.runs_a_program()) {
        let said = entry.said(text);
        if let Some(index) = left.iter().position(|known| known.said(before_text) == said) {
            left.remove(index);
            continue;
        }
        if may_stay(&entry.shown(), text.get(entry.place.clone())?) {
            stayed += 1;
            continue;
        }
        result.push_str(text.get(copied..entry.place.start)?);
        copied = entry.place.end;
        names.push(entry.shown());
    }
    result.push_str(text.get(copied..)?);
    for entry in left {
        if !result.is_empty() && !result.ends_with('\n') {
            result.push('\n');
        }
        result.push_str(&entry.header());
        result.push_str(before_text.get(entry.place.clone())?);
        names.push(entry.shown());
    }
    names.sort();
    names.dedup();
    // What was written is read again: nothing may have come together that was apart.
    let remaining = entries(&result)?;
    let count = |entries: &[Entry]| entries.iter().filter(|entry| entry.runs_a_program()).count();
    if count(&remaining) != count(&known) + stayed {
        return None;
    }
    // Git writes lines of its own around a setting, which would be left.
    if let Some(before) = before
        && !names.is_empty()
        && stayed == 0
        && harmless(&known, before_text).eq(harmless(&found, text))
    {
        return Some((before.to_vec(), names));
    }
    Some((result.into_bytes(), names))
}

/// Returns what the settings say that run no program.
fn harmless<'a>(entries: &'a [Entry], text: &'a str) -> impl Iterator<Item = impl PartialEq + 'a> {
    entries.iter().filter(|entry| !entry.runs_a_program()).map(|entry| entry.said(text))
}

fn entries(text: &str) -> Option<Vec<Entry>> {
    let mut reader = Reader { text, at: 0 };
    reader.skip_if("\u{feff}");
    let mut section: Option<(String, Option<String>)> = None;
    let mut entries = Vec::new();
    loop {
        reader.skip_while(|c| c.is_ascii_whitespace());
        match reader.peek() {
            None => return Some(entries),
            Some('#' | ';') => reader.skip_while(|c| c != '\n'),
            Some('[') => section = Some(reader.section()?),
            Some(c) if c.is_ascii_alphabetic() => {
                let start = reader.at;
                let name = reader.word(|c| c.is_ascii_alphanumeric() || c == '-');
                reader.skip_while(|c| c == ' ' || c == '\t');
                match reader.peek() {
                    Some('=') => reader.value()?,
                    None | Some('\n' | '#' | ';') => reader.skip_while(|c| c != '\n'),
                    Some('\r') if reader.rest().starts_with("\r\n") => {}
                    Some(_) => return None,
                }
                reader.skip_if("\r");
                reader.skip_if("\n");
                let (section, subsection) = section.clone()?;
                let place = start..reader.at;
                let names_a_program = text.get(place.clone()).is_some_and(names_a_program);
                entries.push(Entry { section, subsection, name, place, names_a_program });
            }
            Some(_) => return None,
        }
    }
}

fn names_a_program(setting: &str) -> bool {
    // Quotes and continued lines are no part of the value.
    let plain: String =
        setting.chars().filter(|c| !matches!(c, '"' | '\\' | '\r' | '\n')).collect();
    let value = plain.split_once('=').map_or("", |(_, value)| value.trim());
    value.split_once("::").is_some_and(|(program, _)| {
        program.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '_' | '.'))
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip_if(&mut self, text: &str) {
        if self.rest().starts_with(text) {
            self.at += text.len();
        }
    }

    fn skip_while(&mut self, holds: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&holds) {
            self.next();
        }
    }

    /// Takes a name, in lower case.
    fn word(&mut self, holds: impl Fn(char) -> bool) -> String {
        let start = self.at;
        self.skip_while(holds);
        self.text.get(start..self.at).unwrap_or_default().to_ascii_lowercase()
    }

    /// `[name]`, `[name "sub"]` or, in old files, `[name.sub]`.
    fn section(&mut self) -> Option<(String, Option<String>)> {
        self.next();
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
        if name.is_empty() {
            return None;
        }
        let quoted = matches!(self.peek(), Some(' ' | '\t'));
        if !quoted {
            let (name, subsection) = match name.split_once('.') {
                Some((name, subsection)) => (name.to_owned(), Some(subsection.to_owned())),
                None => (name, None),
            };
            return (self.next() == Some(']')).then_some((name, subsection));
        }
        self.skip_while(|c| c == ' ' || c == '\t');
        if self.next() != Some('"') || name.contains('.') {
            return None;
        }
        let mut subsection = String::new();
        loop {
            match self.next()? {
                '"' => break,
                '\n' => return None,
                '\\' => subsection.push(self.next().filter(|c| *c != '\n')?),
                other => subsection.push(other),
            }
        }
        (self.next() == Some(']')).then_some((name, Some(subsection)))
    }

    /// From the equals sign to before the line's end.
    fn value(&mut self) -> Option<()> {
        self.next();
        let mut quoted = false;
        loop {
            match self.peek() {
                None if quoted => return None,
                None => return Some(()),
                Some('\n') if quoted => return None,
                Some('\n') => return Some(()),
                Some('#' | ';') if !quoted => {
                    self.skip_while(|c| c != '\n');
                    return Some(());
                }
                Some('"') => quoted = !quoted,
                Some('\\') => {
                    self.next();
                    self.skip_if("\r");
                    if !matches!(self.peek()?, '\n' | '\\' | '"' | 'n' | 't' | 'b') {
                        return None;
                    }
                }
                Some('\0') => return None,
                Some(_) => {}
            }
            self.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(before: &str, after: &str, expected: &str, names: &[&str]) {
        let before = (!before.is_empty()).then_some(before.as_bytes());
        let (text, found) = put_back(before, after.as_bytes(), |_, _| false).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), expected, "{after}");
        assert_eq!(found, names, "{after}");
    }

    #[test]
    fn ordinary_settings_stay() {
        let text = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://host/a.git\n\
                    \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tmerge = x\n";
        check("", text, text, &[]);
        check("", "", "", &[]);
        check("", "# only a comment", "# only a comment", &[]);
    }

    #[test]
    fn settings_that_run_a_program_are_taken_out() {
        check(
            "",
            "[core]\n\tbare = false\n\tfsmonitor = /x\n",
            "[core]\n\tbare = false\n\t",
            &["core.fsmonitor"],
        );
        check("", "[CORE] HooksPath=h\n", "[CORE] ", &["core.hookspath"]);
        check("", "[alias]\n\tst = !sh\n\tok = log\n", "[alias]\n\t\t", &["alias.ok", "alias.st"]);
        check(
            "",
            "[filter \"a b\"]\nclean = x \\\n y\n[user]\nname = n\n",
            "[filter \"a b\"]\n[user]\nname = n\n",
            &["filter.a b.clean"],
        );
        check("", "[include]\npath=/x", "[include]\n", &["include.path"]);
        check("", "[diff.x]\ntextconv = y\n", "[diff.x]\n", &["diff.x.textconv"]);
        check("", "[core]\nfsmonitor\n", "[core]\n", &["core.fsmonitor"]);
        check("", "[delta]\npager = x\n", "[delta]\n", &["delta.pager"]);
        check(
            "",
            "[remote \"o\"]\nannex-ignore = true\nannex-ssh-options = x\n",
            "[remote \"o\"]\n",
            &["remote.o.annex-ignore", "remote.o.annex-ssh-options"],
        );
        check(
            "",
            "[core]\r\neditor = x\r\nbare = no\r\n",
            "[core]\r\nbare = no\r\n",
            &["core.editor"],
        );
        check(
            "",
            "[a]\nb = \"# no comment\" ; editor\n[core]\neditor=x\n",
            "[a]\nb = \"# no comment\" ; editor\n[core]\n",
            &["core.editor"],
        );
    }

    #[test]
    fn addresses_that_a_program_opens_are_taken_out() {
        let head = "[remote \"o\"]\n";
        let evil = ["url = ext::sh -c x", "pushurl=\"ext:\":x", "url = ex\\\nt::x", "proxy = x"];
        for evil in evil.into_iter().chain(["pushDefault = ext::x", "pushremote = ext::x"]) {
            let (text, names) = put_back(None, format!("{head}{evil}\n").as_bytes(), |_, _| false)
                .unwrap_or_else(|| panic!("{evil}"));
            assert_eq!((text.as_slice(), names.len()), (head.as_bytes(), 1), "{evil}");
        }
        for url in ["https://example.com/a", "git@host:a/b.git", "ssh://[fe80::1]/x", "../a"] {
            let text = format!("{head}url = {url}\n");
            check("", &text, &text, &[]);
        }
    }

    #[test]
    fn settings_that_were_there_stay_and_come_back() {
        let lfs = "[filter \"lfs\"]\n\tclean = git-lfs clean\n";
        check(lfs, lfs, lfs, &[]);
        check(lfs, "[a]\n\tb = c", &format!("[a]\n\tb = c\n{lfs}"), &["filter.lfs.clean"]);
        let changed = "[filter \"lfs\"]\n\tclean = evil\n";
        check(lfs, changed, lfs, &["filter.lfs.clean"]);
    }

    #[test]
    fn what_is_as_it_was_but_for_programs_is_so_to_the_byte() {
        let before = "# mine\n[core] bare=false\n[filter \"lfs\"]\n\tclean = git-lfs clean";
        let section = format!("{before}\n[alias]\n\tst = !sh\n");
        check(before, &section, before, &["alias.st"]);
        let moved = "[core]\n\tbare=false\n\teditor = x\n";
        check(before, moved, before, &["core.editor", "filter.lfs.clean"]);
        let other = format!("{section}[user]\n\tname = n\n");
        let kept = format!("{before}\n[alias]\n\t[user]\n\tname = n\n");
        check(before, &other, &kept, &["alias.st"]);
        let (text, _) = put_back(Some(b""), b"[core]\n\teditor = x\n", |_, _| false).unwrap();
        assert_eq!(text, b"");
    }

    #[test]
    fn of_the_users_own_settings_a_command_gets_no_program_and_no_secret() {
        let text = "# key: abc\n[user]\n\tname = n ; or m\n[url \"https://u:tok@h/\"]\n\tinsteadOf = x\n\
                    [http \"https://h\"]\n\textraHeader = A: b\n\tsslCAInfo = /ca\n[github]\n\
                    \ttoken = t\n[core]\n\teditor = vi\n\tautocrlf = a \\\n b\n[imap]\npass=p\n\
                    [remote \"o\"]\nurl = https://u:tok@h/a\n";
        let shared = shared(text, &mut |_, _| String::new()).unwrap();
        let expected = "[user]\n\tname = n ; or m\n[http \"https://h\"]\n\tsslCAInfo = /ca\n\
                        [core]\n\tautocrlf = a \\\n b\n";
        assert_eq!(shared, expected);
    }

    #[test]
    fn what_may_stay_stays() {
        let text = "[core]\n\tworktree = ../a\n\teditor = x\n";
        let may_stay = |name: &str, text: &str| name == "core.worktree" && text.contains("../a");
        let (text, names) = put_back(None, text.as_bytes(), may_stay).unwrap();
        assert_eq!(text, b"[core]\n\tworktree = ../a\n\t");
        assert_eq!(names, ["core.editor"]);
    }

    #[test]
    fn what_is_not_certain_is_not_accepted() {
        for text in [
            "[core",
            "[core]\nb = \"x\n",
            "key = before any section\n",
            "[core]\n1 = x\n",
            "[a \"b\n\"]\n",
            "[a]\nb = \\x\n",
            "[a]\nb c\n",
            "[]\n",
        ] {
            assert_eq!(put_back(None, text.as_bytes(), |_, _| false), None, "{text}");
        }
        assert_eq!(put_back(None, b"[a]\nb = \xff\n", |_, _| false), None);
    }

    proptest! {
        #[test]
        fn nothing_that_runs_a_program_is_left(
            lines in proptest::collection::vec(
                "(\\[core\\]|\\[alias\\]|\\[a \"b\"\\]|editor ?= ?[a-z\"\\\\#;]{0,4}|x=\\\\|fsmonitor|  )\n?",
                0..8,
            ),
        ) {
            if let Some((text, _)) = put_back(None, lines.concat().as_bytes(), |_, _| false) {
                let text = String::from_utf8(text).unwrap();
                let left = entries(&text).unwrap();
                prop_assert!(!left.iter().any(Entry::runs_a_program), "{text}");
            }
        }
    }
}

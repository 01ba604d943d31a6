//! Rules that speak of one thing and nothing else: what a person's "always" is written as, and what
//! lets a file tool leave the workspace.

use std::path::PathBuf;

use tenon_sandbox::Access;

use super::{COMMAND_TOOL, Pattern, Rule, Rules, Verdict, Words, glob};
use crate::policy::places::{Places, clean, is_plain};

/// Returns what stands in a rule where a tool's name would.
fn word(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
    }
}

impl Rule {
    /// Returns the rule for this absolute path, or for all that is in the folder; `None` where a
    /// rule cannot say it exactly.
    pub(crate) fn exact_path(access: Access, path: &str, is_folder: bool) -> Option<Rule> {
        if !path.starts_with('/') || !is_plain(path) {
            return None;
        }
        let name = glob::exactly(path);
        let glob = if is_folder { format!("{}/**", name.trim_end_matches('/')) } else { name };
        Rule::for_glob(word(access), &glob).unless_misread()
    }

    /// Returns the rule for calls of `tool` on this path and no other; `None` where a rule cannot
    /// say it, as with a blank at its end.
    pub(crate) fn exact_name(tool: &str, path: &str, places: &Places) -> Option<Rule> {
        // Without a folder in front it would be one of the home.
        let folder = if path.starts_with('~') { "./" } else { "" };
        let glob = format!("{folder}{}", glob::exactly(path));
        let rule = Rule::for_glob(tool, &glob).unless_misread()?;
        (is_plain(path) && rule.matches_path(path, places)).then_some(rule)
    }

    /// Returns the rule if its text is read as the same.
    pub(crate) fn unless_misread(self) -> Option<Rule> {
        let read = Rule::parse(&self.to_string(), self.verdict, self.origin);
        (read.as_ref() == Ok(&self)).then_some(self)
    }

    /// Returns the rule for a command with exactly these words.
    pub(crate) fn exact_words<'a>(words: impl Iterator<Item = &'a str>) -> Rule {
        let pattern = Some(Pattern::Words(Words::exactly(words, false)));
        Rule { pattern, ..Rule::for_tool(COMMAND_TOOL) }
    }

    /// Says whether the rule speaks of every tool that reads, or of every one that writes.
    pub(crate) fn is_for_access(&self, access: Access) -> bool {
        self.tool == word(access)
    }

    /// Says whether the rule names this place outside of the workspace: by `read(…)` or `write(…)`
    /// and a path that does not depend on a workspace. Who may write may read.
    pub(crate) fn grants(
        &self,
        access: Access,
        path: &str,
        is_folder: bool,
        places: &Places,
    ) -> bool {
        let Some(Pattern::Glob(glob)) = &self.pattern else { return false };
        let is_for = self.is_for_access(access) || self.is_for_access(Access::Write);
        let grants = |glob: &str| {
            let is_fixed = glob.starts_with('/') || glob.starts_with("~/");
            let is_deep = !is_folder || glob.ends_with("/**");
            is_fixed && is_deep && self.glob_matches(glob, path, places)
        };
        is_for && glob.paths().any(grants)
    }
}

impl Rules {
    /// Returns the files, as absolute paths, that permissions to write by `tool` name, also those of
    /// any folder (`**/.envrc`) as far as they are in a root itself. Whether they may be written is for
    /// `decide` to say.
    pub(crate) fn named_files(&self, tool: &str, places: &Places) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for rule in self.with(Verdict::Allow) {
            let Some(Pattern::Glob(glob)) = &rule.pattern else { continue };
            if !rule.is_for(tool) && !rule.is_for_access(Access::Write) {
                continue;
            }
            let names = glob.paths().filter_map(|glob| glob::only(glob.trim_start_matches("**/")));
            for name in names {
                let absolute = |root: &String| match name.strip_prefix("~/") {
                    Some(rest) => places.led(&format!("{}/{rest}", places.home)),
                    None if name.starts_with('/') => places.led(&name),
                    None => clean(&format!("{root}/{name}")),
                };
                files.extend(places.roots.iter().map(absolute).map(PathBuf::from));
            }
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Origin, Verdict};

    #[test]
    fn a_path_that_a_rule_cannot_say_has_none() {
        let exact = |path: &str, is_folder| {
            Rule::exact_path(Access::Read, path, is_folder).map(|rule| rule.to_string())
        };
        assert_eq!(exact("/etc/hosts", false).as_deref(), Some("read(/etc/hosts)"));
        assert_eq!(exact("/etc", true).as_deref(), Some("read(/etc/**)"));
        assert_eq!(exact("/a (b)/汉 字", false).as_deref(), Some("read(/a (b)/汉 字)"));
        assert_eq!(exact("/a*?", false).as_deref(), Some(r"read(/a\*\?)"));
        assert_eq!(exact("/a*", true).as_deref(), Some(r"read(/a\*/**)"));
        for path in ["etc/hosts", "/a\nb", "/a\u{202e}b", "/a\u{1b}[m", "/a ", "/a\tb"] {
            assert_eq!(exact(path, false), None, "{path:?}");
        }
    }

    #[test]
    fn a_place_outside_is_granted_by_its_name_alone() {
        let places = Places {
            roots: vec!["/w".into()],
            home: "/home/ada".into(),
            cwd: "/w".into(),
            ..Places::default()
        };
        let grants = |text: &str, access, path: &str, is_folder| {
            let rule = Rule::parse(text, Verdict::Allow, Origin::Config).expect(text);
            rule.grants(access, path, is_folder, &places)
        };
        use Access::{Read, Write};
        for (text, access, path, is_folder, want) in [
            ("read(/etc/hosts)", Read, "/etc/hosts", false, true),
            ("read(/etc/hosts)", Write, "/etc/hosts", false, false),
            ("write(/etc/hosts)", Read, "/etc/hosts", false, true),
            ("read(/etc/hosts)", Read, "/etc/hosts2", false, false),
            ("read(~/notes/**)", Read, "/home/ada/notes/a/b", false, true),
            ("read(~/notes/**)", Read, "/home/ada/notes", true, true),
            ("read(~/notes/*)", Read, "/home/ada/notes/a", true, false),
            ("read(~/notes)", Read, "/home/ada/notes", true, false),
            ("read(../x)", Read, "/x", false, false),
            ("read(**)", Read, "/x", false, false),
            ("read", Read, "/x", false, false),
            ("*", Read, "/x", false, false),
            ("read_file(/x)", Read, "/x", false, false),
        ] {
            assert_eq!(grants(text, access, path, is_folder), want, "{text} {path}");
        }
    }
}

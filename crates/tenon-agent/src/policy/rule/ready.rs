//! A rule for paths that is compared with very many: what its globs are from `/` on is found out once, and most
//! paths are told apart from it by the text that all have in them that it speaks of.

use super::glob::{self, Sign};
use super::{Pattern, Rule, absolute_globs};
use crate::policy::places::Places;

/// A rule in places that stay.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    rule: Rule,
    /// `None` for a rule that speaks of all.
    globs: Option<Vec<Absolute>>,
    is_strict: bool,
}

#[derive(Clone, Debug)]
struct Absolute {
    glob: String,
    /// What a path begins with that it may speak of, and what is in it besides.
    begins: String,
    has: String,
}

impl Ready {
    pub(crate) fn new(rule: &Rule, places: &Places) -> Self {
        let globs = match &rule.pattern {
            None => None,
            Some(Pattern::Words(_)) => Some(Vec::new()),
            Some(Pattern::Glob(glob)) => {
                let globs = glob.paths().flat_map(|glob| absolute_globs(glob, places));
                Some(globs.map(Absolute::new).collect())
            }
        };
        Self { rule: rule.clone(), globs, is_strict: rule.verdict != super::Verdict::Allow }
    }

    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Says the same of a clean absolute path as [`Rule::matches_path`].
    pub(crate) fn matches(&self, path: &str) -> bool {
        let Some(globs) = &self.globs else { return true };
        let is_near = |glob: &&Absolute| path.starts_with(&glob.begins) && path.contains(&glob.has);
        globs.iter().filter(is_near).any(|it| glob::matches(&it.glob, path, self.is_strict))
    }
}

impl Absolute {
    fn new(glob: String) -> Self {
        let begins = glob::beginning(&glob).trim_end_matches('/').to_owned();
        let last = glob.rsplit('/').find(|name| *name != "**").unwrap_or_default();
        let signs = glob::signs(last, true);
        // In brackets stand signs of which one is there.
        let is_class = |sign: &Sign| matches!(sign, Sign::Class(..));
        let known = |sign: &Sign| match sign {
            Sign::This(character) => Some(*character),
            Sign::Any | Sign::One | Sign::Class(..) => None,
        };
        let signs = if signs.iter().any(is_class) { &[] } else { signs.as_slice() };
        let mut has: Vec<char> = signs.iter().rev().map_while(known).collect();
        has.reverse();
        Self { glob, begins, has: has.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::rule::{Origin, Verdict};

    #[test]
    fn a_rule_says_the_same_once_it_is_ready() {
        let (roots, home) = (vec!["/work".into(), "/other".into()], "/home/ada".into());
        let places = Places { roots, cwd: "/work".into(), home, ..Places::default() };
        let rules = [
            "write",
            "write(**)",
            "write(.)",
            "write(src)",
            "write(src/)",
            "write(src/**)",
            "write(src/a)",
            "write(s*c/a)",
            "write(*.lock)",
            "write(**/*.lock)",
            "write(**/a)",
            "write(**/a/**)",
            "write(src/[ab].rs)",
            "write(**/x[!a]y)",
            "write({src,docs}/*.rs)",
            r"write(src/\*)",
            "write(src/?)",
            "write(/work/src/a)",
            "write(~/notes/**)",
            "write(/**)",
            "write(src/*)",
            "write(src/a*)",
            "write(*/a*b)",
            "bash(rm:*)",
        ];
        let paths = [
            "/",
            "/work",
            "/work/src",
            "/work/srcs",
            "/work/src/a",
            "/work/src/a/b",
            "/work/src/b.rs",
            "/work/src/[ab].rs",
            "/work/a.lock",
            "/work/src/x/a.lock",
            "/work/a.lock/x",
            "/work/docs/x.rs",
            "/work/src/*",
            "/other/src/a",
            "/other/a",
            "/home/ada/notes",
            "/home/ada/notes/b",
            "/etc/a",
            "/work/xby",
            "/work/q/xay",
            "/work/q/x[!a]y",
            "/work/q/ab",
            "/work/q/axxb",
        ];
        for text in rules {
            let rule = Rule::parse(text, Verdict::Deny, Origin::Config).unwrap();
            let ready = Ready::new(&rule, &places);
            for path in paths {
                assert_eq!(ready.matches(path), rule.matches_path(path, &places), "{text} {path}");
            }
        }
    }
}

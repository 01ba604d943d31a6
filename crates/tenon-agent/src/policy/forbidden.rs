//! What denials of writing say of the files that commands are about to change.

use std::path::Path;

use tenon_sandbox::Forbids;

use super::places::Places;
use super::rule::{Origin, Ready, Rule, Rules, Verdict};
use super::written::is_for_writing;

/// What git keeps for itself is in folders of this name.
const GIT: &str = ".git";

/// The denials of a session that speak of writing.
#[derive(Clone)]
pub(crate) struct Denials {
    rules: Vec<Denial>,
    places: Places,
}

#[derive(Clone)]
struct Denial {
    rule: Ready,
    speaks_of_git: bool,
}

impl Denials {
    pub(crate) fn new(rules: &Rules, places: &Places) -> Self {
        let rules = rules.with(Verdict::Deny).filter(|rule| is_for_writing(rule));
        let rules = rules.map(|rule| Denial::new(rule, places)).collect();
        Self { rules, places: places.clone() }
    }

    /// The same and those of a session that is replayed.
    pub(crate) fn and(&self, rules: &[String]) -> Self {
        let mut all = self.clone();
        let rule = |text: &String| Rule::parse(text, Verdict::Deny, Origin::Config).ok();
        let rules = rules.iter().filter_map(rule);
        all.rules.extend(rules.map(|rule| Denial::new(&rule, &self.places)));
        all
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl Denial {
    fn new(rule: &Rule, places: &Places) -> Self {
        Self { rule: Ready::new(rule, places), speaks_of_git: speaks_of_git(rule) }
    }
}

impl Forbids for Denials {
    fn forbids(&self, path: &Path) -> Option<String> {
        let text = self.places.absolute(&path.to_string_lossy());
        let is_of_git = || path.components().any(|part| part.as_os_str() == GIT);
        let means =
            |denial: &&Denial| denial.rule.matches(&text) && (denial.speaks_of_git || !is_of_git());
        Some(self.rules.iter().find(means)?.rule.rule().to_string())
    }

    fn may_forbid_beneath(&self, folder: &Path) -> bool {
        let folder = folder.to_string_lossy();
        let mut rules = self.rules.iter().map(|denial| denial.rule.rule());
        rules.any(|rule| rule.may_match_beneath(&folder, &self.places))
    }
}

/// Whether a rule may mean what git keeps for itself: `**/*.lock` is not said of its locks.
fn speaks_of_git(rule: &Rule) -> bool {
    rule.is_sweeping() || rule.begins_with_a_name() || rule.to_string().contains(GIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        let (roots, cwd) = (vec!["/work".into()], "/work".into());
        Places { roots, cwd, home: "/home/ada".into(), ..Places::default() }
    }

    #[test]
    fn denials_of_writing_speak_of_the_files_that_change() {
        let rules = [
            ("write(src/**)", Verdict::Deny, Origin::CommandLine),
            ("write_file(**/*.lock)", Verdict::Deny, Origin::Config),
            ("edit_file(docs/**)", Verdict::Deny, Origin::Config),
            ("write(all/**)", Verdict::Allow, Origin::Config),
        ];
        let rules: Rules =
            rules.into_iter().map(|(text, is, by)| Rule::parse(text, is, by).unwrap()).collect();
        let denials = Denials::new(&rules, &places());
        let by = |path: &str| denials.forbids(Path::new(path));
        assert_eq!(by("/work/src/a/b").as_deref(), Some("write(src/**)"));
        assert_eq!(by("/work/x/Cargo.lock").as_deref(), Some("write_file(**/*.lock)"));
        assert_eq!(by("/work/src/.git/index.lock").as_deref(), Some("write(src/**)"));
        let free =
            ["/work/srcs", "/work/docs/a", "/work/all/x", "/other/src/a", "/work/.git/index.lock"];
        for free in free {
            assert_eq!(by(free), None, "{free}");
        }
        assert!(denials.may_forbid_beneath(Path::new("/work/target")), "a lock may be in it");

        let told = ["write(src/**)".to_owned()];
        let again = Denials::new(&Rules::default(), &places());
        assert!(again.is_empty() && !again.may_forbid_beneath(Path::new("/work/src")));
        assert_eq!(again.and(&told).forbids(Path::new("/work/src/a")), by("/work/src/a"));
    }
}

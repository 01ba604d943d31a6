//! Commands that make more than is kept.

use super::*;

struct Work {
    root: PathBuf,
    guard: Guard,
    _folder: tempfile::TempDir,
}

impl Work {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let work = Self { root, guard: Guard::default(), _folder: folder };
        work.shell("git init -q . && mkdir -p z/.git/hooks && git init -q z && echo own > z/.envrc && echo own > z/.git/hooks/pre-push");
        work
    }

    fn shell(&self, script: &str) {
        shell(&self.root, script);
    }

    /// Runs a command, and returns what was told.
    fn run(&mut self, script: &str) -> Vec<(String, bool)> {
        let roots = [self.root.clone()];
        self.guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
        self.shell(script);
        let told = self.guard.end(None).into_iter();
        let name = |path: &Path| path.strip_prefix(&self.root).unwrap().display().to_string();
        told.map(|change| (name(&change.path), change.put_back)).collect()
    }
}

const EVIL: &str =
    "git config core.fsmonitor evil && echo evil > z/.envrc && rm z/.git/hooks/pre-push";

fn check(fill: &str, rest: &str) {
    let mut work = Work::new();
    assert_eq!(work.run(fill), [], "{fill}");
    // Nobody touched anything.
    assert_eq!(work.run("true"), [], "{fill}");
    let expected = [".git/config", "z/.envrc", "z/.git/hooks/pre-push"];
    assert_eq!(work.run(EVIL), expected.map(|name| (name.to_owned(), true)), "{fill}");
    assert_eq!(work.run(rest), [], "{rest}");
    work.shell("test $(cat z/.envrc z/.git/hooks/pre-push | grep -c own) = 2");
    // What a person adds then has its place, too.
    work.shell("mkdir -p y && echo own > y/.mcp.json");
    assert_eq!(work.run("echo evil > y/.mcp.json"), [("y/.mcp.json".to_owned(), true)]);
}

#[test]
fn what_a_command_makes_takes_nobodys_place() {
    let samples = "git init -q n && mkdir -p n/.git/hooks && cd n/.git/hooks && \
                   for n in {0..70}; do head -c 1000000 /dev/zero > $n.sample; done";
    check(samples, "echo other > n/.git/hooks/7.sample && rm -r n");
    let settings = "cd .git && for n in {0..65}; do head -c 1000000 /dev/zero | tr '\\0' '#' > config.$n; done";
    check(settings, "rm .git/config.*");
}

#[test]
fn copies_stay_however_many_there_are() {
    let mut work = Work::new();
    work.shell("git init -q src && mkdir src/.vscode && head -c 1000000 /dev/zero > src/.vscode/settings.json");
    assert_eq!(work.run("for n in {0..65}; do cp -r src c$n; done"), []);
    work.shell("test $(ls c*/.vscode/settings.json c*/.git/config | wc -l) = 132");
    // Another session finds them there.
    work.guard = Guard::default();
    let evil = "git -C c9 config core.fsmonitor evil; echo evil > c9/.vscode/settings.json; rm -r c7; git init -q n";
    let expected = ["c9/.git/config", "c9/.vscode/settings.json"];
    assert_eq!(work.run(evil), expected.map(|name| (name.to_owned(), true)));
    work.shell("cmp src/.vscode/settings.json c9/.vscode/settings.json && test -e n/.git/config");
}

#[test]
fn repositories_may_come_however_full_it_is() {
    let mut work = Work::new();
    work.shell(
        "mkdir .idea && for n in {0..66}; do (echo $n; head -c 1000000 /dev/zero) > .idea/$n; done",
    );
    assert_eq!(work.run("git init -q n && git clone -q . c 2>/dev/null"), []);
    work.shell("test -e n/.git/config -a -e c/.git/config");
}

#[test]
fn what_a_command_made_gets_no_programs_later() {
    let mut work = Work::new();
    let fill = "git init -q n && cd n/.git && for n in {0..12} ''; do head -c 1000000 /dev/zero | tr '\\0' '#' >> config$n; done";
    assert_eq!(work.run(fill), []);
    let evil = "for n in n/.git/config{,3,9}; do git config -f $n core.fsmonitor evil; done";
    let told: Vec<_> = work.run(evil).into_iter().map(|(name, _)| name).collect();
    assert_eq!(told, ["n/.git/config", "n/.git/config3", "n/.git/config9"]);
    work.shell("! grep -l evil n/.git/config*");
}

/// Makes so many repositories at the top, whose directories have these files.
fn many(count: usize, files: &str) -> String {
    format!("mkdir -p r{{1..{count}}}/.git/hooks; echo r{{1..{count}}}/.git/{files} | xargs touch")
}

const INCLUDING: &str =
    "git init -q y/y && touch inc && git config -f y/y/.git/config include.path ../../../inc";

#[test]
fn samples_of_hooks_hide_no_settings() {
    let mut work = Work::new();
    work.shell(INCLUDING);
    work.shell(&many(180, "{config,hooks/{1..14}.sample}"));
    let evil =
        "git config -f inc core.fsmonitor evil && git config -f y/y/.git/config core.pager evil";
    let expected = ["inc", "y/y/.git/config"];
    assert_eq!(work.run(evil), expected.map(|name| (name.to_owned(), true)));
    work.shell("! grep -l evil inc y/y/.git/config");
}

#[test]
fn what_was_there_is_looked_at_however_much_a_command_makes() {
    let mut work = Work::new();
    work.shell(INCLUDING);
    work.shell("echo own > y/y/.git/hooks/pre-push");
    assert_eq!(work.run(&many(2_100, "{config,hooks/a.sample}")), []);
    let evil = "git config -f inc core.fsmonitor evil && echo evil > y/y/.git/hooks/pre-push && chmod 777 y/y/.git/hooks";
    let told = work.run(evil);
    let expected = ["", "y/y/.git/hooks", "inc", "y/y/.git/hooks/pre-push"];
    assert_eq!(told, expected.map(|name| (name.to_owned(), !name.is_empty())));
    // What the person took away, or wrote, is the new state.
    work.shell("echo new > y/y/.git/hooks/pre-push && rm inc");
    assert_eq!(
        work.run("echo evil > y/y/.git/hooks/pre-push"),
        [("y/y/.git/hooks/pre-push".to_owned(), true)]
    );
    work.shell("grep -qx new y/y/.git/hooks/pre-push && ! test -e inc");
}

#[test]
fn that_there_are_more_files_than_are_looked_at_is_told_once() {
    let mut work = Work::new();
    work.shell(&many(2_100, "config"));
    let mut kinds = |journaled| -> Vec<_> {
        work.guard.begin(std::slice::from_ref(&work.root), &[], journaled).unwrap();
        work.guard.end(None).into_iter().map(|change| change.kind).collect()
    };
    assert_eq!(kinds(Journaled::Needless), []);
    assert_eq!(kinds(Journaled::Nowhere), [ProtectedChangeKind::FilesNotRecorded]);
    assert_eq!(kinds(Journaled::Nowhere), []);
}

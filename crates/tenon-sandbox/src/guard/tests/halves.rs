//! What a look finds of a job that is in the middle of its work.

use super::*;

struct Job {
    root: PathBuf,
    guard: Guard,
    _folder: tempfile::TempDir,
}

impl Job {
    /// Begins one in a folder that is set up so.
    fn new(setup: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let mut job = Self { root, guard: Guard::default(), _folder: folder };
        job.shell(setup);
        job.begin();
        job
    }

    fn begin(&mut self) {
        self.guard.begin(std::slice::from_ref(&self.root), &[], Journaled::Nowhere).unwrap();
    }

    fn shell(&self, script: &str) {
        shell(&self.root, script);
    }

    /// Another command begins, the job does this, and the command ends: what was told?
    fn work(&mut self, script: &str) -> Vec<String> {
        self.begin();
        self.shell(script);
        self.end()
    }

    fn end(&mut self) -> Vec<String> {
        let mut changes = self.guard.end(None);
        changes.retain(|change| !is_lack(&change.kind));
        assert!(changes.iter().all(|change| change.put_back), "{changes:?}");
        let name = |path: &Path| path.strip_prefix(&self.root).unwrap().display().to_string();
        changes.iter().map(|change| name(&change.path)).collect()
    }
}

const TRACKED: &str = "mkdir .vscode && echo settings > .vscode/settings.json";

#[test]
fn half_a_copy_is_left_until_the_job_is_over() {
    let mut job = Job::new(TRACKED);
    for half in ["c/.vscode/settings.json", "d/.vscode/settings.json"] {
        let begin = format!("mkdir -p $(dirname {half}) && printf '' > {half}");
        assert_eq!(job.work(&begin), Vec::<String>::new());
        assert_eq!(job.work(&format!("printf sett >> {half}")), Vec::<String>::new());
    }
    assert_eq!(job.work("printf 'ings\\n' >> c/.vscode/settings.json"), Vec::<String>::new());
    job.shell("cmp .vscode/settings.json c/.vscode/settings.json");
    assert_eq!(job.end(), ["d/.vscode/settings.json"]);
    job.shell("test -e c/.vscode/settings.json && ! test -e d/.vscode/settings.json");
}

#[test]
fn what_is_no_beginning_of_a_copy_goes_at_the_next_look() {
    let check = |work: &str, name: &str| {
        let mut job = Job::new(&format!("{TRACKED} && mkdir -p a/b && echo own > a/b/.envrc"));
        assert_eq!(job.work(work), [name], "{work}");
        job.shell(&format!("! grep -qs . {name}"));
        assert_eq!(job.end(), Vec::<String>::new());
    };
    check("mkdir -p c/.vscode && echo sett > c/.vscode/settings.json", "c/.vscode/settings.json");
    check("mkdir -p c/.vscode && printf sett > c/.vscode/tasks.json", "c/.vscode/tasks.json");
    // Further up, with more rights, or with another name.
    check("printf ow > a/.envrc", "a/.envrc");
    check("mkdir -p a/c && printf ow > a/c/.envrc && chmod +x a/c/.envrc", "a/c/.envrc");
    check("mkdir -p a/c && printf ow > e && ln e a/c/.envrc", "a/c/.envrc");
}

#[test]
fn what_was_there_before_the_job_stays_under_half_a_copy() {
    let mut job = Job::new(&format!(
        "{TRACKED} && cp -r .vscode a && mkdir b && mv a b/.vscode && echo b > b/.vscode/settings.json"
    ));
    assert_eq!(job.work("printf sett > b/.vscode/settings.json"), Vec::<String>::new());
    job.shell("test $(cat b/.vscode/settings.json) = sett");
    assert_eq!(job.end(), ["b/.vscode/settings.json"]);
    job.shell("test $(cat b/.vscode/settings.json) = b");
}

#[test]
fn what_may_be_at_a_name_may_grow_there() {
    let mut job = Job::new("mkdir x");
    let half = "git init -q r && printf half > r/.git/hooks/update.sample && printf '*.o' > r/.git/info/exclude";
    assert_eq!(job.work(half), Vec::<String>::new());
    let whole = "printf whole >> r/.git/hooks/update.sample && printf '*.a' >> r/.git/info/exclude";
    assert_eq!(job.work(whole), Vec::<String>::new());
    assert_eq!(job.end(), Vec::<String>::new());
    job.shell("test $(cat r/.git/hooks/update.sample) = halfwhole");
    assert_eq!(job.work("echo evil > r/.git/hooks/update"), ["r/.git/hooks/update"]);
}

#[test]
fn half_of_settings_of_git_is_left_where_git_cannot_read_it() {
    let mut job = Job::new("git init -q a && git -C a remote add origin https://h/x");
    let cut = "git init -q b && head -c -9 a/.git/config > b/.git/config";
    assert_eq!(job.work(cut), Vec::<String>::new());
    assert_eq!(job.work("tail -c 9 a/.git/config >> b/.git/config"), Vec::<String>::new());
    job.shell("cmp a/.git/config b/.git/config");
    let evil = "git init -q c && printf '[core]\n\tfsmonitor = evil\n[remote \"o' > c/.git/config";
    assert_eq!(job.work(evil), ["c/.git/config"]);
}

#[test]
fn permissions_that_a_copy_gets_last_stay() {
    let mut job = Job::new(TRACKED);
    let begun = "git init -q r && chmod 600 r/.git/config && chmod 700 r/.git/hooks && \
                 mkdir -m 700 r/.vscode && cp .vscode/settings.json r/.vscode";
    assert_eq!(job.work(begun), Vec::<String>::new());
    let done = "chmod 664 r/.git/config && chmod 775 r/.git/hooks r/.vscode";
    assert_eq!(job.work(done), Vec::<String>::new());
    assert_eq!(job.end(), Vec::<String>::new());
    job.shell("test $(stat -c %a r/.git/config) = 664 && test $(stat -c %a r/.vscode) = 775");
}

#[test]
fn a_copy_may_be_removed_while_its_folder_is_there() {
    let mut job = Job::new(TRACKED);
    assert_eq!(job.work("mkdir c && cp -r .vscode c"), Vec::<String>::new());
    assert_eq!(job.work("rm -r c/.vscode"), Vec::<String>::new());
    job.shell("rmdir c");
    assert_eq!(job.work("rm .vscode/settings.json"), [".vscode/settings.json"]);
}

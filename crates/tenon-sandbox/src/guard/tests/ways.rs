//! What leads somewhere by its way, once that, or what is at its end, has become another.

use super::*;

/// A session in the folder `ws`, beside which the person has a repository of their own.
struct Session {
    root: PathBuf,
    guard: Guard,
    _folder: tempfile::TempDir,
}

impl Session {
    fn new(setup: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let setup = format!(
            "mkdir ws victim && git init -q private && git init -q --bare private.git && cd ws && git init -q . && {setup}"
        );
        shell(&top, &setup);
        Self { root: top.join("ws"), guard: Guard::default(), _folder: folder }
    }

    /// Runs a command, and returns what was told.
    fn run(&mut self, script: &str) -> Vec<String> {
        let roots = [self.root.clone()];
        self.guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
        shell(&self.root, script);
        let mut told = self.guard.end(None);
        told.retain(|change| !is_lack(&change.kind));
        let name = |path: &Path| path.strip_prefix(&self.root).unwrap().display().to_string();
        told.iter().map(|change| name(&change.path)).collect()
    }

    /// Runs commands of which the last one alone has something put back.
    fn check(mut self, commands: &[&str], told: &[&str], after: &str) {
        let (last, first) = commands.split_last().unwrap();
        for command in first {
            assert_eq!(self.run(command), [""; 0], "{command}");
        }
        assert_eq!(self.run(last), told, "{last}");
        shell(&self.root, after);
        assert_eq!(self.run("true"), [""; 0], "after {last}");
    }
}

fn check(commands: &[&str], told: &[&str], after: &str) {
    Session::new("true").check(commands, told, after);
}

#[test]
fn a_pointer_does_not_come_to_lead_out_by_what_is_on_its_way() {
    let through_link = "git init -q sub; ln -s sub l; mkdir w; echo 'gitdir: ../l/.git' > w/.git";
    let session = Session::new(through_link);
    session.check(&["ln -sfn ../private l"], &["l"], "test $(readlink l) = sub");
    check(&[through_link], &["w/.git"], "! test -e w/.git");
    let to_folder = "git init -q --bare r; mkdir w; echo 'gitdir: ../r' > w/.git";
    check(&[to_folder, "mv r r2; ln -s ../private.git r"], &["r"], "! test -e r");
    check(&[to_folder, "mv r r2", "ln -s ../private.git r"], &["r"], "! test -e r");
    let deeper = "git init -q --bare a/r; mkdir w; echo 'gitdir: ../a/r' > w/.git";
    check(&[deeper, "mv a b; mkdir p; ln -s ../private p/r; ln -s p a"], &["a"], "! test -e a");
    let own = "mkdir .git/modules m; git init -q --separate-git-dir .git/modules/m m; ln -s . l; \
               echo 'gitdir: ../l/.git/modules/m' > m/.git";
    let session = Session::new(own);
    session.check(&["ln -sfn ../private l"], &["l"], "test $(readlink l) = .");
    // A worktree that is taken away is nobody's way.
    let worktree =
        "git -c user.name=n -c user.email=e commit -q --allow-empty -m m; git worktree add -q w";
    check(&[worktree, "git worktree remove w", "ln -s ../victim w"], &[], "test -e w");
}

#[test]
fn what_leads_elsewhere_from_another_place_counts_as_new_there() {
    let pointer = "git init -q private; mkdir -p b/w; echo 'gitdir: ../../private/.git' > b/w/.git";
    check(&[pointer, "mv b/w w"], &["w/.git"], "! test -e w/.git");
    check(&[pointer, "mv b c"], &[], "git -C c/w status");
    let common = "git init -q --bare p; mkdir -p p/worktrees/w q/x; echo 'ref: refs/heads/main' > p/worktrees/w/HEAD; \
                  echo ../.. > p/worktrees/w/commondir";
    check(&[common, "mv p/worktrees/w q/x/w"], &["q/x/w/commondir"], "test -e q/x/w/HEAD");
    check(&[common, "mv p q/p"], &[], "test -e q/p/worktrees/w/commondir");
    let tree = "mkdir -p .git/modules/a/b victim; git init -q --separate-git-dir .git/modules/a/b/m victim; \
                echo 'gitdir: ../.git/modules/a/b/m' > victim/.git; \
                git -C victim config core.worktree ../../../../../victim";
    let moved = "mv .git/modules/a/b/m .git/modules/m";
    let after = "! git config -f .git/modules/m/config core.worktree && git config -f .git/modules/m/config core.bare";
    check(&[tree, moved], &[".git/modules/m/config"], after);
    let objects = "git init -q private; git init -q b/r; \
                   echo ../../../../private/.git/objects > b/r/.git/objects/info/alternates";
    let alternates = "r/.git/objects/info/alternates";
    check(&[objects, "mv b/r r"], &[alternates], "! grep . r/.git/objects/info/alternates");
    check(&[objects, "mv b c"], &[], "test -s c/r/.git/objects/info/alternates");
}

#[test]
fn what_a_person_set_stays_with_a_repository_that_moves() {
    let setup = "git init -q up; git init -q b/r; git -C b/r config core.pager mine; \
                 git -C b/r remote add up ../../up; git -C b/r remote add whole \"$PWD/../private\"";
    let keeps = "test $(git -C $R config core.pager) = mine -a \"$(git -C $R config remote.whole.url)\" = \"$PWD/../private\"";
    let session = Session::new(setup);
    let after = format!("{}; ! git -C r config remote.up.url", keeps.replace("$R", "r"));
    session.check(&["mv b/r r"], &["r/.git/config"], &after);
    let session = Session::new(setup);
    let after = format!("{}; git -C b/r2 config remote.up.url", keeps.replace("$R", "b/r2"));
    session.check(&["mv b/r b/r2"], &[], &after);
}

#[test]
fn a_file_at_an_address_was_nobodys_setting() {
    let write = "printf '[core]\\n\\tfsmonitor = evil\\n' > p/config";
    let makes = "mkdir -p p/objects p/refs; echo 'ref: refs/heads/main' > p/HEAD";
    let address = "mkdir p; git config remote.a.url $PWD/p/config";
    check(&[address, write, makes], &["p/config"], "! grep evil p/config");
    let address = "mkdir -p p/hooks; git config remote.a.url $PWD/p/hooks/post-update";
    let write = "echo evil > p/hooks/post-update; chmod +x p/hooks/post-update";
    check(&[address, write, makes], &["p/hooks/post-update"], "! test -e p/hooks/post-update");
    let address = "mkdir p; git config remote.a.url $PWD/p/commondir";
    let makes = "echo 'ref: refs/heads/main' > p/HEAD";
    let write = "echo ../../private/.git > p/commondir";
    check(&[address, write, makes], &["p/commondir"], "! test -e p/commondir");
}

#[test]
fn no_way_goes_into_a_folder_and_out_again() {
    let objects = "mkdir x; git init -q private; git init -q r; \
                   echo ../../../x/../private/.git/objects > r/.git/objects/info/alternates";
    let pointer = "mkdir x w; git init -q private; echo 'gitdir: ../x/../private/.git' > w/.git";
    let tree = "mkdir -p .git/modules x tree; git init -q --separate-git-dir .git/modules/m tree; \
                echo 'gitdir: ../.git/modules/m' > tree/.git; git -C tree config core.worktree ../../../x/../tree";
    for (commands, told) in [
        (objects, "r/.git/objects/info/alternates"),
        (pointer, "w/.git"),
        (tree, ".git/modules/m/config"),
    ] {
        check(&[commands], &[told], "true");
        // One of the person's stays, and so does the folder.
        let session = Session::new(commands);
        session.check(&["true", "rmdir x; ln -s ../victim x"], &["x"], "! test -L x");
    }
    // As git writes them.
    let own = "mkdir x; git init -q private; git clone -q -s private r; git -C private worktree add -q ../w 2>/dev/null; \
               git init -q --separate-git-dir x/s t; cat r/.git/objects/info/alternates w/.git t/.git";
    let commit = "git -c user.name=n -c user.email=e -C private commit -q --allow-empty -m m";
    let own = own.replace("git clone", &format!("{commit}; git clone"));
    check(&[&own, "true"], &[], "git -C t status");
}

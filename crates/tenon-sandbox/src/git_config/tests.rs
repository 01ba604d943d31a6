//! What is taken out of git's settings, and what is put back.

mod as_git;

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
        "[core]\n\tbare = false\n",
        &["core.fsmonitor"],
    );
    check("", "[CORE] HooksPath=h\n", "", &["core.hookspath"]);
    check("", "[alias]\n\tst = !sh\n\tok = log\n", "", &["alias.ok", "alias.st"]);
    check(
        "",
        "[filter \"a b\"]\nclean = x \\\n y\n[user]\nname = n\n",
        "[user]\nname = n\n",
        &["filter.a b.clean"],
    );
    check("", "[include]\npath=/x", "", &["include.path"]);
    check("", "[diff.x]\ntextconv = y\n", "", &["diff.x.textconv"]);
    check("", "[core]\nfsmonitor\n", "", &["core.fsmonitor"]);
    check("", "[delta]\npager = x\n", "", &["delta.pager"]);
    check(
        "",
        "[gitflow \"prefix\"]\nfeature = f/\n[gitflow \"path\"]\nhooks = x\n[gui]\ndiffopts = x\n",
        "[gitflow \"prefix\"]\nfeature = f/\n",
        &["gitflow.path.hooks", "gui.diffopts"],
    );
    check(
        "",
        "[remote \"o\"]\nannex-ignore = true\nannex-ssh-options = x\n",
        "",
        &["remote.o.annex-ignore", "remote.o.annex-ssh-options"],
    );
    check("", "[core]\r\neditor = x\r\nbare = no\r\n", "[core]\r\nbare = no\r\n", &["core.editor"]);
    check(
        "",
        "[user]\nname = \"# no comment\" ; editor\n[core]\neditor=x\n",
        "[user]\nname = \"# no comment\" ; editor\n",
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
        assert_eq!((text.as_slice(), names.len()), (&b""[..], 1), "{evil}");
    }
    let option = "[remote \"--upload-pack=x\"]\n\turl = .\n";
    check("", option, "", &["remote.--upload-pack=x.url"]);
    for url in ["https://example.com/a", "git@host:a/b.git", "ssh://[fe80::1]/x"] {
        let text = format!("{head}url = {url}\n");
        check("", &text, &text, &[]);
    }
}

#[test]
fn addresses_of_this_machine_stay_where_they_may_lead_there() {
    let set = |url: &str| {
        format!("[remote \"o\"]\n\turl = {url}\n\tfetch = x\n[branch \"a\"]\n\tremote = o\n")
    };
    let all = ["branch.a.remote", "remote.o.fetch", "remote.o.url"];
    for url in ["/home/ada/notes", "../a", "notes", "file:///a", "./a:b"] {
        check("", &set(url), "", &all);
    }
    let (text, names) = put_back(None, set("../a").as_bytes(), |name, value| {
        (name, value) == ("remote.o.url", "../a")
    })
    .unwrap();
    assert_eq!((text, names), (set("../a").into_bytes(), Vec::new()));
    for url in ["ext::x", "--upload-pack=x", "\"\""] {
        let (text, _) = put_back(None, set(url).as_bytes(), |_, _| true).unwrap();
        assert!(!String::from_utf8(text).unwrap().contains("url"), "{url}");
    }
    let own = set("/srv/a");
    check(&own, &own.replace("= x", "= y"), &own.replace("= x", "= y"), &[]);
    // Renamed, removed, and exchanged for another.
    let renamed = own.replace("\"o\"", "\"p\"").replace("= o", "= p");
    check(&own, &renamed, &renamed, &[]);
    check(&own, "", "", &[]);
    check(&own, &set("https://h/a"), &set("https://h/a"), &[]);
    check(&own, &set("/home/ada/notes"), &own, &["remote.o.url"]);
    check(&set("https://h/a"), &set("/srv/a"), &set("https://h/a"), &["remote.o.url"]);
}

#[test]
fn what_is_no_remote_is_taken_for_none() {
    let own = "[remote \"origin\"]\n\turl = https://h/a\n[branch \"a\"]\n\tremote = ";
    for good in ["origin", ".", "https://h/b", "git@h:b"] {
        let text = format!("{own}{good}\n");
        check("", &text, &text, &[]);
    }
    for evil in ["/home/ada/notes", "notes", "../notes", "~/notes", "file:///a", "\"\""] {
        let text = format!("{own}{evil}\n");
        let before = format!("{own}origin\n");
        check(&before, &text, &before, &["branch.a.remote"]);
        check(&text, &text, &text, &[]);
    }
    let rest = "[branch \"a\"]\n\tremote = origin\n";
    check(&format!("{own}origin\n"), rest, "", &["branch.a.remote"]);
    let cleared = format!("{own}origin\n[remote \"origin\"]\n\turl =\n");
    check("", &cleared, &format!("{own}origin\n"), &["remote.origin.url"]);
    let unnamed = "[remote \"/home/ada/notes\"]\n\tfetch = x\n";
    check("", unnamed, "", &["remote./home/ada/notes.fetch"]);
    let default = "[remote]\n\tpushDefault = notes\n[extensions]\n\tpartialClone = a\n";
    check("", default, "", &["extensions.partialclone", "remote.pushdefault"]);
    check(
        "[fetch]\n\tall = false\n",
        "[fetch]\n\tall = true\n",
        "[fetch]\n\tall = false\n",
        &["fetch.all"],
    );
}

#[test]
fn what_is_no_remote_stays_under_another_name() {
    let own = "[branch \"a\"]\n\tremote = ../up.git\n";
    let renamed = "[branch \"b\"]\n\tremote = ../up.git\n";
    check(own, renamed, renamed, &[]);
    check(own, &renamed.replace("up.git", "other"), "", &["branch.b.remote"]);
    check(own, &renamed.replace("remote", "pushRemote"), "", &["branch.b.pushremote"]);
    // It was a remote.
    let addressed = own.replace("../up.git", "up") + "[remote \"up\"]\n\turl = https://h/a\n";
    check(&addressed, &renamed.replace("../up.git", "up"), "", &["branch.b.remote"]);
}

#[test]
fn blanks_that_git_takes_for_letters_make_another_value() {
    let own = "[remote \"origin\"]\n\turl = https://h/a\n[branch \"a\"]\n\tremote = ";
    let before = format!("{own}origin\n");
    for evil in ["\u{3000}origin", "origin\u{c}", "\u{b}origin", "\"origin \"", "\" origin\""] {
        check(&before, &format!("{own}{evil}\n"), &before, &["branch.a.remote"]);
    }
    let set = |url: &str| format!("[remote \"o\"]\n\turl = {url}\n");
    for evil in ["\\\n  file:///home/ada/notes", "\"\"  file:///home/ada/notes", "\" file:///a\""] {
        check("", &set(evil), "", &["remote.o.url"]);
    }
    let file = "[blame]\n\tignoreRevsFile = \\\n /etc/x\n";
    check("", file, "", &["blame.ignorerevsfile"]);
}

#[test]
fn a_name_that_git_takes_for_a_path_is_that_of_no_remote() {
    let own = "[remote \"origin\"]\n\turl = https://h/a\n";
    for evil in ["/home/ada/notes", "./notes", "../notes", ".."] {
        let remote = format!("[remote \"{evil}\"]\n\turl = https://h/b\n");
        let branch = format!("[branch \"a\"]\n\tremote = {evil}\n");
        check(
            own,
            &format!("{own}{remote}{branch}"),
            &format!("{own}{remote}"),
            &["branch.a.remote"],
        );
    }
    let branch = format!("{own}[branch \"a\"]\n\tremote = .\n");
    check(own, &branch, &branch, &[]);
}

#[test]
fn settings_that_were_there_stay_and_come_back() {
    let lfs = "[filter \"lfs\"]\n\tclean = git-lfs clean\n";
    check(lfs, lfs, lfs, &[]);
    check(lfs, "[user]\n\tname = c", &format!("[user]\n\tname = c\n{lfs}"), &["filter.lfs.clean"]);
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
    let kept = format!("{before}\n[user]\n\tname = n\n");
    check(before, &other, &kept, &["alias.st"]);
    let (text, _) = put_back(Some(b""), b"[core]\n\teditor = x\n", |_, _| false).unwrap();
    assert_eq!(text, b"");
}

#[test]
fn no_section_or_blank_is_left_of_what_is_taken_out_but_what_was_there_before() {
    let own = "[user]\n\tname = n\n";
    check("", &format!("[alias]\n\tst = !sh\n{own}"), own, &["alias.st"]);
    check("", &format!("{own}  [alias]\n\tst = !sh\n\n"), own, &["alias.st"]);
    check("", "[gc]\n\tauto = 1\n\n[alias] st = !sh", "[gc]\n\tauto = 1\n\n", &["alias.st"]);
    let comment = "[alias]\n\t# mine\n";
    check("", &format!("{comment}\tst = !sh\n{own}"), &format!("{comment}{own}"), &["alias.st"]);
    let bare = "[alias]\n[core]\n\tbare = false\n";
    let changed = "[alias]\n\tst = !sh\n[core]\n\tbare = true\n";
    check(bare, changed, "[alias]\n[core]\n\tbare = true\n", &["alias.st"]);
    let other = format!("[alias]\n\tst = log\n{own}");
    let evil = "[alias]\n\tst = !sh\n[user]\n\tname = m\n";
    check(&other, evil, "[user]\n\tname = m\n[alias]\n\tst = log\n", &["alias.st"]);
    check("", "[core] editor = a\n\tbare = false\n", "[core] \tbare = false\n", &["core.editor"]);
}

#[test]
fn of_the_users_own_settings_a_command_gets_no_program_and_no_secret() {
    let text = "# key: abc\n[user]\n\tname = n ; or m\n[url \"https://u:tok@h/\"]\n\tinsteadOf = x\n\
                [http \"https://h\"]\n\textraHeader = A: b\n\tsslCAInfo = /ca\n[github]\n\
                \ttoken = t\n[core]\n\teditor = vi\n\tautocrlf = a \\\n b\n[imap]\npass=p\n\
                [remote \"o\"]\nurl = https://u:tok@h/a\n\
                [gc]\n\treflogExpire = never\n[log]\n\tdate = format:%F\n\
                [protocol]\n\tallow = user\n[protocol \"file\"]\n\tallow = always\n";
    let shared = shared(text, &mut |_, _| String::new()).unwrap();
    let expected = "[user]\n\tname = n ; or m\n[http \"https://h\"]\n\tsslCAInfo = /ca\n\
                    [core]\n\tautocrlf = a \\\n b\n\
                    [gc]\n\treflogExpire = never\n[log]\n\tdate = format:%F\n\
                    [protocol]\n\tallow = user\n[protocol \"file\"]\n\tallow = always\n";
    assert_eq!(shared, expected);
}

#[test]
fn what_may_stay_stays() {
    let text = "[core]\n\tworktree = ../a\n\teditor = x\n";
    let may_stay = |name: &str, value: &str| (name, value) == ("core.worktree", "../a");
    let (text, names) = put_back(None, text.as_bytes(), may_stay).unwrap();
    assert_eq!(text, b"[core]\n\tworktree = ../a\n");
    assert_eq!(names, ["core.editor"]);
    let moved = |after: &str| {
        let before = b"[core]\n\tworktree = ../old\n\teditor = x\n";
        let (text, names) = put_back(Some(before), after.as_bytes(), may_stay).unwrap();
        (String::from_utf8(text).unwrap(), names)
    };
    let after = "[core]\n\tworktree = ../a\n\teditor = x\n";
    assert_eq!(moved(after), (after.to_owned(), Vec::new()));
    let both = after.replace("worktree", "worktree = /x\n\tworktree");
    assert_eq!(moved(&both), (after.to_owned(), vec!["core.worktree".to_owned()]));
    let old = after.replace("../a", "../old");
    assert_eq!(moved(&after.replace("../a", "/x")), (old, vec!["core.worktree".to_owned()]));
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
            "(\\[core\\]|\\[alias\\]|\\[user \"b\"\\]|name=|editor ?= ?[a-z\"\\\\#;]{0,4}|x=\\\\|fsmonitor|  )\n?",
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

#[test]
fn settings_that_come_to_life_are_named_with_their_values() {
    let before = "[core]\n\t# note: fsmonitor = \"touch EVIL; false\"\n\tpager = less\n";
    let after = before.replace("# note: ", "") + "[user]\n\tname = n\n";
    let set = |path: &str, before: &str| {
        programs_set(Path::new(path), before.as_bytes(), after.as_bytes())
    };
    for path in
        ["/w/.git/config", "/w/.git/modules/a/config", "/h/.config/git/config", "/h/.gitconfig"]
    {
        assert_eq!(set(path, before), ["core.fsmonitor = touch EVIL; false"], "{path}");
    }
    assert_eq!(set("/w/.git/config", "").len(), 2);
    assert!(set("/w/.git/config", &after).is_empty());
    assert!(set("/h/.ssh/config", before).is_empty() && set("/w/notes", before).is_empty());
    // Under another section it is another setting.
    let moved = after.replace("[core]", "[pager]");
    assert_eq!(set("/w/.git/config", &moved).len(), 2);
}

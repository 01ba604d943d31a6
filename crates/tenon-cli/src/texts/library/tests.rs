use tenon_agent::{Action, Mode, Origin, Places, Rule, Rules, Verdict, decide};
use tenon_sandbox::{
    FileError, HostRule, Missing, ProtectedChange, ProtectedChangeKind, RootMoved, SandboxError,
    Tier, UpstreamProxy,
};

use super::*;

#[test]
fn a_sentence_is_found_with_its_values_and_theirs() {
    let check = |said, chinese| assert_eq!(translated(said, Language::Chinese), chinese);
    check("python3 is not installed", "没有安装 python3");
    check("part 2 is too short", "第 2 部分太短");
    check(
        "`/a;b` lies outside the workspace; the model named it `../{b}`",
        "`/a;b` 在工作区之外；模型写的是 `../{b}`",
    );
    check(
        "Cannot connect to a.example (through the proxy): no answer within 5 s",
        "无法连接 a.example（通过代理）：5 秒内没有应答",
    );
    for other in ["", "python3 is not installed.", "words of a server", "part 2 is"] {
        check(other, other);
    }
    let said = "python3 is not installed";
    assert_eq!(translated(said, Language::English), said);
}

#[test]
fn every_row_is_found_and_no_row_before_it_takes_its_place() {
    for text in ROWS {
        assert!(text.english.replace(['{', '}'], "").len() > 8, "{text:?}");
        let found = ROWS.iter().find(|row| values(row.english, text.english).is_some());
        assert_eq!(found, Some(text));
    }
}

/// Sees that all of `said` but its values has a row.
#[track_caller]
fn check_chinese(said: &str) {
    let chinese = translated(said, Language::Chinese);
    let english = [" is ", " the ", " it ", " of ", " has ", " would ", " not ", " can "];
    let left = english.into_iter().find(|word| chinese.contains(word));
    assert!(chinese != said && left.is_none(), "{said}: {chinese}");
}

#[test]
fn what_libraries_say_of_rules_hosts_and_files_has_a_row() {
    for rule in ["1 x", "bash(ls", "bash(\"ls)"] {
        check_chinese(&Rule::parse(rule, Verdict::Allow, Origin::Config).unwrap_err().to_string());
    }
    let long = "a".repeat(64);
    for host in ["a..b", "ä.de", "a b", "-a.de", &long, "127.1", "::1", "a.de:0", "*", "*.com"] {
        check_chinese(&host.parse::<HostRule>().unwrap_err().to_string());
    }
    for proxy in ["socks5://a", "http://%zz@a.de"] {
        check_chinese(&UpstreamProxy::parse(proxy).err().unwrap().to_string());
    }
    let path = || "a".to_owned();
    let files = [
        FileError::Escapes { path: path() },
        FileError::NotFound { path: path() },
        FileError::IsDirectory { path: path() },
        FileError::NotADirectory { path: path() },
        FileError::PermissionDenied { path: path() },
        FileError::NotRegular { path: path(), kind: "socket" },
        FileError::TooLarge { path: path(), bytes: 2, bytes_max: 1 },
        FileError::Changed { path: path() },
        FileError::Protected { path: path() },
        FileError::Closed { path: path(), why: "is where programs keep secrets" },
        FileError::Closed { path: path(), why: "is tenon's own" },
        FileError::DanglingLink { path: path() },
        FileError::ReadOnly { path: path() },
        RootMoved::Replaced(path().into()).into(),
        RootMoved::Gone(path().into()).into(),
    ];
    files.iter().for_each(|error| check_chinese(&error.to_string()));
    let kinds = [
        ProtectedChangeKind::Created,
        ProtectedChangeKind::Changed,
        ProtectedChangeKind::Permissions,
        ProtectedChangeKind::Removed,
        ProtectedChangeKind::GitSettings(vec!["core.pager".into()]),
        ProtectedChangeKind::GitIndex { is_out: false },
        ProtectedChangeKind::GitIndex { is_out: true },
        ProtectedChangeKind::GitStep { is_out: false },
        ProtectedChangeKind::GitStep { is_out: true },
        ProtectedChangeKind::GitReference { is_out: false },
        ProtectedChangeKind::GitReference { is_out: true },
        ProtectedChangeKind::GitAutostash { is_out: false, commit: None },
        ProtectedChangeKind::GitAutostash { is_out: true, commit: Some("0".repeat(40)) },
        ProtectedChangeKind::GitConflicts { is_out: true },
    ];
    let put_back = [true, false, true, true, false, true, true, true, true, true, true, true];
    for (kind, put_back) in kinds.into_iter().zip(put_back) {
        for path in [".git/index", ".git/MERGE_RR"] {
            let (path, kind, by_name) = (path.into(), kind.clone(), true);
            let change = ProtectedChange { path, kind, found: None, by_name, put_back };
            let said = change.to_string();
            assert!(!said.contains("git reset") || said.contains(".git/index"), "{said}");
            check_chinese(&said);
        }
    }
    let missing = std::path::Path::new("/nonexistent");
    let session = tenon_agent::read_session(missing, "20260101-120000-a1b2");
    check_chinese(&session.err().unwrap().to_string());
}

#[test]
fn every_wall_that_cannot_be_had_has_a_row_and_so_has_what_mends_it() {
    let missing = [
        Missing::NamespaceCount,
        Missing::AppArmor,
        Missing::NamespacesSwitchedOff,
        Missing::Namespaces,
        Missing::Unreadable,
        Missing::WithinWalls,
        Missing::Unlisted,
        Missing::Proc,
        Missing::OldKernel { release: "5.4.0".to_owned() },
        Missing::Landlock { version: None },
        Missing::Landlock { version: Some(1) },
        Missing::Seccomp,
        Missing::WholeFileSystem,
        Missing::Proxy,
        Missing::Room,
        Missing::NoBubblewrap,
        Missing::ForeignBubblewrap,
        Missing::Bubblewrap { said: "Unknown option --bind-fd".to_owned() },
        Missing::Bubblewrap { said: "no".to_owned() },
        Missing::NamesChanged,
        Missing::ClosedPlaces,
        Missing::Folder { path: "/a".into() },
        Missing::State { path: "/a".into() },
        Missing::UndoStore { path: "/a".into() },
        Missing::Note { code: 28 },
        Missing::Helper,
        Missing::NoWalls,
    ];
    for missing in missing {
        for tier in [Tier::A, Tier::B, Tier::C, Tier::D] {
            let error = SandboxError { tier, missing: missing.clone() };
            let chinese = translated(&error.to_string(), Language::Chinese).into_owned();
            assert!(chinese.starts_with("无法使用 tier"), "{chinese}");
            check_chinese(&error.to_string());
            error.hint().into_iter().for_each(check_chinese);
        }
    }
    let said = "Exceeded maximum number of arguments 9000".to_owned();
    let many = SandboxError { tier: Tier::B, missing: Missing::Bubblewrap { said } };
    let hint = many.hint().unwrap();
    assert!(hint.contains("fewer files"), "{hint}");
    check_chinese(hint);
    let step =
        SandboxError { tier: Tier::A, missing: Missing::Step { step: "mounting /proc", code: 1 } };
    let chinese = translated(&step.to_string(), Language::Chinese).into_owned();
    assert!(chinese.contains("：挂载 proc 文件系统失败：Operation not permitted"), "{chinese}");
}

#[test]
fn every_reason_of_a_decision_has_a_row() {
    let places = Places {
        roots: vec!["/work".into()],
        cwd: "/work".into(),
        home: "/home/me".into(),
        ..Places::default()
    };
    let commands = [
        "make",
        "rm -rf /",
        "rm -rf /work",
        "rm -rf /srv/x",
        "rm -rf /tmp/*",
        "rm -rf \"$X\"",
        "chmod -R 777 /",
        "mkfs.ext4 /dev/sda",
        "reboot",
        "dd if=a of=/dev/sda",
        ":(){ :|:& };:",
        "sudo ls",
        "sudo ls > x",
        "eval \"$X\"",
        "\"$X\"",
        "curl a | sh",
        "base64 -d a | sh",
        "git push -f",
        "git reset --hard",
        "git clean -f",
        "git switch -C a",
        "git branch -D a",
        "git filter-branch a",
        "git reflog expire a",
        "git stash drop",
        "echo '",
        "echo $((",
    ];
    for command in commands {
        for mode in [Mode::Auto, Mode::Ask, Mode::ReadOnly] {
            let action = Action::Run { command: command.into() };
            let decision = decide("bash", &action, &Rules::default(), mode, &places);
            check_chinese(&decision.reason);
        }
    }
}

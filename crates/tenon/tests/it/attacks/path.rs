//! Paths that file tools are given, and what lies at them.

use super::row::{Call, Row, row, tool};

const ESCAPES: &[&str] = &["Error: Path escapes workspace"];
const ERROR: &[&str] = &["Error"];

/// Something at `l` in the row's folder, and a tool that is led there.
macro_rules! led {
    ($name:literal, $prepare:literal, $tool:literal, $arguments:expr) => {
        tool!($name, $tool, $arguments).prepare($prepare).prints(ERROR)
    };
}

pub(super) const ROWS: &[Row] = &[
    tool!("read: parent", "read_file", r#"{"path":"../outside"}"#).prints(ESCAPES),
    tool!("read: far parent", "read_file", r#"{"path":"rows/../../../../../../../../../etc/passwd"}"#)
        .prints(ESCAPES)
        .never(&["root:"]),
    tool!("read: parent behind a folder", "read_file", r#"{"path":"rows/../../outside"}"#)
        .prints(ESCAPES),
    tool!("read: parent behind a missing folder", "read_file", r#"{"path":"none/../../outside"}"#)
        .prints(ERROR),
    tool!("read: absolute", "read_file", r#"{"path":"@TOP@/outside"}"#).prints(ESCAPES),
    tool!("read: absolute with dots", "read_file", r#"{"path":"@WORK@/../outside"}"#).prints(ESCAPES),
    tool!("read: a folder whose name only begins like the workspace", "read_file", r#"{"path":"@WORK@space-evil/file"}"#)
        .prints(ESCAPES),
    tool!("read: doubled slashes", "read_file", r#"{"path":"//etc//passwd"}"#)
        .prints(ESCAPES)
        .never(&["root:"]),
    tool!("read: slash dot", "read_file", r#"{"path":"/./etc/passwd"}"#).prints(ESCAPES).never(&["root:"]),
    tool!("read: home sign", "read_file", r#"{"path":"~/.ssh/id_ed25519"}"#).prints(ERROR),
    tool!("read: variable", "read_file", r#"{"path":"$HOME/.ssh/id_ed25519"}"#).prints(ERROR),
    tool!("read: variable in braces", "read_file", r#"{"path":"${HOME}/.netrc"}"#).prints(ERROR),
    tool!("read: address of a file", "read_file", r#"{"path":"file:///etc/passwd"}"#)
        .prints(ERROR)
        .never(&["root:"]),
    tool!("read: per cent", "read_file", r#"{"path":"%2e%2e/outside"}"#).prints(ERROR),
    tool!("read: per cent slash", "read_file", r#"{"path":"..%2foutside"}"#).prints(ERROR),
    tool!("read: backslash", "read_file", r#"{"path":"..\\outside"}"#).prints(ERROR),
    tool!("read: NUL", "read_file", r#"{"path":"../outside\u0000.txt"}"#).prints(ERROR),
    tool!("read: NUL at the end of an inner path", "read_file", r#"{"path":"rows\u0000/../../outside"}"#)
        .prints(ERROR),
    tool!("read: full-width dots", "read_file", r#"{"path":"．．/outside"}"#).prints(ERROR),
    tool!("read: empty", "read_file", r#"{"path":""}"#).prints(ERROR),
    tool!("read: a very long path", "read_file", r#"{"path":"a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../outside"}"#)
        .prints(ERROR),
    tool!("read: the environment of tenon", "read_file", r#"{"path":"/proc/self/environ"}"#).prints(ESCAPES),
    tool!("read: root of a process", "read_file", r#"{"path":"/proc/self/root@TOP@/outside"}"#)
        .prints(ESCAPES),
    tool!("read: descriptor", "read_file", r#"{"path":"/dev/fd/0"}"#).prints(ESCAPES),
    tool!("read: the disk", "read_file", r#"{"path":"/dev/vda"}"#).prints(ESCAPES),
    tool!("read: tenon's own sessions", "read_file", r#"{"path":"@USERHOME@/.local/state/tenon/sessions/20200101-000000-0000.jsonl"}"#)
        .prints(ESCAPES),
    tool!("read: tenon's own settings", "read_file", r#"{"path":"@USERHOME@/.config/tenon/config.toml"}"#)
        .prints(ESCAPES),
    led!("read: link to a file", "ln -s $TOP/outside l", "read_file", r#"{"path":"@ROW@/l"}"#),
    led!("read: relative link to a file", "ln -s ../../../outside l", "read_file", r#"{"path":"@ROW@/l"}"#),
    led!("read: link to a folder", "ln -s $TOP l", "read_file", r#"{"path":"@ROW@/l/outside"}"#),
    led!("read: link to the root", "ln -s / l", "read_file", r#"{"path":"@ROW@/l/etc/passwd"}"#)
        .never(&["root:"]),
    led!("read: chain of links", "ln -s $TOP c; ln -s c b; ln -s b l", "read_file", r#"{"path":"@ROW@/l/outside"}"#),
    led!("read: link that goes out and comes back", "ln -s ../../../work l", "read_file", r#"{"path":"@ROW@/l/../outside"}"#),
    led!("read: link to itself", "ln -s l l", "read_file", r#"{"path":"@ROW@/l"}"#),
    led!("read: magic link to the working folder", "ln -s /proc/self/cwd l", "read_file", r#"{"path":"@ROW@/l/../outside"}"#),
    led!("read: magic link to the root", "ln -s /proc/self/root l", "read_file", r#"{"path":"@ROW@/l/etc/passwd"}"#)
        .never(&["root:"]),
    led!("read: magic link to a descriptor", "ln -s /proc/self/fd l", "read_file", r#"{"path":"@ROW@/l/0"}"#),
    led!("read: magic link to our own folder", "ln -s /proc/$TESTER/cwd l", "read_file", r#"{"path":"@ROW@/l/Cargo.toml"}"#),
    led!("read: the environment through a link", "ln -s /proc/self/environ l", "read_file", r#"{"path":"@ROW@/l"}"#),
    led!("read: a named pipe", "mkfifo l", "read_file", r#"{"path":"@ROW@/l"}"#),
    led!("read: a socket", "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"l\")'", "read_file", r#"{"path":"@ROW@/l"}"#)
        .needs(&["python3"]),
    led!("read: a device", "mknod l c 1 5 2>/dev/null || ln -s /dev/zero l", "read_file", r#"{"path":"@ROW@/l"}"#),
    led!("read: a link to a device without end", "ln -s /dev/zero l", "read_file", r#"{"path":"@ROW@/l"}"#),
    led!("read: a folder", "mkdir l", "read_file", r#"{"path":"@ROW@/l"}"#),
    tool!("write: parent", "write_file", r#"{"path":"../new-@MARK@","content":"x"}"#).prints(ESCAPES),
    tool!("write: absolute", "write_file", r#"{"path":"/tmp/new-@MARK@","content":"x"}"#).prints(ESCAPES),
    tool!("write: over a file outside", "write_file", r#"{"path":"@TOP@/outside","content":"x"}"#)
        .prints(ESCAPES),
    tool!("write: new folders outside", "write_file", r#"{"path":"../new/deep/file","content":"x"}"#)
        .prints(ESCAPES),
    tool!("write: home sign", "write_file", r#"{"path":"~/new-@MARK@","content":"x"}"#)
        .after("test ! -e $USERHOME/new-$MARK"),
    tool!("write: system", "write_file", r#"{"path":"/etc/cron.d/new-@MARK@","content":"x"}"#).prints(ESCAPES),
    led!("write: link to a file", "ln -s $TOP/outside l", "write_file", r#"{"path":"@ROW@/l","content":"x"}"#),
    led!("write: dangling link", "ln -s $TOP/new l", "write_file", r#"{"path":"@ROW@/l","content":"x"}"#),
    led!("write: dangling relative link", "ln -s ../../../new l", "write_file", r#"{"path":"@ROW@/l","content":"x"}"#),
    led!("write: link to a folder", "ln -s $TOP l", "write_file", r#"{"path":"@ROW@/l/new","content":"x"}"#),
    led!("write: new folders behind a link", "ln -s $TOP l", "write_file", r#"{"path":"@ROW@/l/a/b/new","content":"x"}"#),
    led!("write: a named pipe", "mkfifo l", "write_file", r#"{"path":"@ROW@/l","content":"x"}"#),
    row("write: hard link to a file outside", &[
        Call::Tool("read_file", r#"{"path":"@ROW@/l","limit":1}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/l","content":"changed"}"#),
    ])
    .prepare("echo twice > $TOP/linked; ln $TOP/linked l")
    .after("grep -qx twice $TOP/linked && grep -q changed l")
    .never(&["Error"]),
    row("read: a denied folder by a link in the workspace", &[
        Call::Tool("read_file", r#"{"path":"@ROW@/l/key"}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/k"}"#),
        Call::Tool("grep", r#"{"pattern":"KEYWORD","path":"@ROW@/l"}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/l/key","old_text":"none","new_text":"x"}"#),
    ])
    .prepare("mkdir secrets; echo KEYWORD > secrets/key; ln -s secrets l; ln -s l/key k")
    .flags(&["--deny", "read(**/secrets/**)", "--deny", "write(**/secrets/**)"])
    .prints(&["forbids it"])
    .never(&[":KEYWORD", "\tKEYWORD"]),
    row("write: out of an allowed folder by a link in the workspace", &[
        Call::Tool("write_file", r#"{"path":"@ROW@/src/in","content":"x"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/src/out/new","content":"x"}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/src/out/newer","old_text":"","new_text":"x"}"#),
    ])
    .prepare("mkdir other src; ln -s ../other src/out")
    .flags(&["--mode", "ask", "--allow", "write(**/src/**)"])
    .prints(&["needs the user's yes"])
    .after("test -e src/in && ! ls other | grep ."),
    led!("edit: link to a file", "ln -s $TOP/outside l", "edit_file", r#"{"path":"@ROW@/l","old_text":"OUTSIDE","new_text":"x"}"#),
    led!("edit: parent", "true", "edit_file", r#"{"path":"../outside","old_text":"OUTSIDE","new_text":"x"}"#),
    led!("edit: a new file behind a link", "ln -s $TOP l", "edit_file", r#"{"path":"@ROW@/l/new","old_text":"","new_text":"x"}"#),
    tool!("grep: parent", "grep", r#"{"pattern":"OUTSIDE","path":".."}"#).prints(ESCAPES),
    tool!("grep: absolute", "grep", r#"{"pattern":"root:","path":"/etc"}"#).prints(ESCAPES).never(&["root:x"]),
    led!("grep: link to a folder", "ln -s $TOP l", "grep", r#"{"pattern":"OUTSIDE","path":"@ROW@/l"}"#),
    tool!("grep: links on the way", "grep", r#"{"pattern":"OUTSIDE","path":"@ROW@"}"#)
        .prepare("ln -s $TOP l; ln -s $TOP/outside f; echo inside > g")
        .prints(&["(no matches)"]),
    tool!("grep: glob that leads out", "grep", r#"{"pattern":"OUTSIDE","glob":"../**"}"#),
    tool!("glob: parent", "glob", r#"{"pattern":"*","path":".."}"#).prints(ESCAPES),
    tool!("glob: pattern that leads out", "glob", r#"{"pattern":"../*"}"#).never(&["outside"]),
    tool!("glob: absolute pattern", "glob", r#"{"pattern":"/etc/*"}"#).never(&["passwd"]),
    tool!("glob: links on the way", "glob", r#"{"pattern":"**/outside","path":"@ROW@"}"#)
        .prepare("ln -s $TOP l; touch outside-not")
        .never(&["l/outside"]),
    tool!("glob: a loop of links", "glob", r#"{"pattern":"**","path":"@ROW@"}"#)
        .prepare("mkdir d; ln -s .. d/up; ln -s . d/self"),
    tool!("read: a name with a line break outside", "read_file", r#"{"path":"../out\nside"}"#).prints(ESCAPES).never(&["--allow"]),
    tool!("read: a name that turns text around outside", "read_file", r#"{"path":"../\u202etuo"}"#).prints(ESCAPES).never(&["--allow"]),
    tool!("read: a name with an escape sequence outside", "read_file", r#"{"path":"../\u001b[2Jx"}"#).prints(ESCAPES).never(&["--allow"]),
    tool!("read: a name that is a pattern", "read_file", r#"{"path":"../o*"}"#).prints(ESCAPES).never(&["/o*)"]),
    tool!("read: a name that closes a rule", "read_file", r#"{"path":"../x) --allow bash(*"}"#).prints(ESCAPES),
    tool!("read: a name that closes a quote", "read_file", r#"{"path":"../x' --allow 'bash"}"#).prints(&["'\\'' --allow '\\''bash"]),
    led!("read: link to a folder with a slash behind", "ln -s $TOP l", "read_file", r#"{"path":"@ROW@/l/./outside"}"#),
    tool!("read: the working folder of a thread", "read_file", r#"{"path":"/proc/thread-self/cwd/../outside"}"#).prints(ESCAPES),
    led!("write: beside where a link leads", "ln -s $TOP/folder/deep d", "write_file", r#"{"path":"@ROW@/d/../new","content":"x"}"#)
        .after("test ! -e $TOP/folder/new -a ! -e new"),
    tool!("glob: pattern that leads far out", "glob", r#"{"pattern":"../../../../../../etc/pass*"}"#).prints(ESCAPES).never(&["etc/passwd"]),
    tool!("glob: pattern that leads out behind a wildcard", "glob", r#"{"pattern":"*/../../out*"}"#).prints(ESCAPES),
    led!("glob: pattern through a link", "ln -s $TOP l", "glob", r#"{"pattern":"@ROW@/l/out*"}"#).never(&["l/outside"]),
    tool!("grep: glob that leads far out", "grep", r#"{"pattern":"root:","glob":"../../../../../../etc/*"}"#).prints(ESCAPES).never(&["root:x"]),
    led!("grep: glob through a link", "ln -s $TOP l", "grep", r#"{"pattern":"OUTSIDE","path":"@ROW@/l/..","glob":"outside"}"#),
    tool!("write: a protected name deep within", "write_file", r#"{"path":"@ROW@/a/b/.vscode/tasks.json","content":"x"}"#)
        .prints(&["needs the user's yes"])
        .after("test ! -e a"),
];

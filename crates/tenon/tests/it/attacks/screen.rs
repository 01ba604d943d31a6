//! Text that wants to act on the terminal or to hide from the reader. Every session's output is
//! looked at whole; these rows bring the text there by each road.

use super::row::{Call, Row, row, runs, tool};

/// Everything a terminal acts on, as `printf` writes it.
macro_rules! evil {
    () => {
        "\\033[2J\\033[1;31mred\\033]0;title\\007\\033]52;c;ZXZpbA==\\007\\033]8;;http://evil\\033\\\\\\\\link\\033]8;;\\033\\\\\\\\\\033P1$r\\033\\\\\\\\\\033_x\\033\\\\\\\\\\033[6n\\033c\\033[?1049h\\r\\b\\b\\a\\v\\f\\177\\016\\302\\233 2J\\302\\220x\\302\\234"
    };
}

/// What hides or turns text around, as `printf` writes it.
macro_rules! hidden {
    () => {
        "\\342\\200\\256evil\\342\\200\\254\\342\\201\\246x\\342\\201\\251\\342\\200\\217\\330\\234\\363\\240\\201\\201\\363\\240\\201\\277\\357\\273\\277"
    };
}

pub(super) const ROWS: &[Row] = &[
    runs!("screen: output", concat!("printf '", evil!(), "\\n'; sleep 0.05")),
    runs!("screen: errors", concat!("printf '", evil!(), "\\n' >&2")),
    runs!("screen: hidden text in output", concat!("printf '", hidden!(), "\\n'")),
    runs!("screen: a sequence in pieces", "for c in '\\033' ']' '0' ';' 'x' '\\007' '\\302' '\\233' '\\342' '\\200' '\\256'; do printf \"$c\"; sleep 0.01; done"),
    runs!("screen: a sequence without end", "printf '\\033]0;'; head -c 20000 /dev/zero | tr '\\0' x; printf '\\033P'; head -c 20000 /dev/zero | tr '\\0' y"),
    runs!("screen: bytes that are no text", "head -c 3000 /dev/urandom; printf '\\033\\\\\\377\\376\\355\\240\\200\\364\\220\\200\\200\\300\\200'"),
    runs!("screen: lines drawn over", "for n in $(seq 100); do printf '\\r%s' $n; done; printf '\\033[Aover\\033[2K\\n'"),
    row("screen: the command itself", &[Call::Typed("echo '\u{1b}]0;x\u{7}\u{1b}[2J\u{202e}live\u{2066}\u{e0041}\u{9b}2J' | cat -v; true \u{8}\u{8}\u{8}\u{8} # \u{1b}[8m")]),
    row("screen: a long command with the end in sight", &[Call::Typed("true                                                                                                                                                      \u{1b}[A\u{1b}[2K; true")]),
    tool!("screen: a file's content", "read_file", r#"{"path":"@ROW@/f"}"#)
        .prepare(concat!("printf '", evil!(), "\\n", hidden!(), "\\n' > f")),
    tool!("screen: a match", "grep", r#"{"pattern":"red","path":"@ROW@"}"#)
        .prepare(concat!("printf '", evil!(), hidden!(), "\\n' > f")),
    row("screen: names of files", &[
        Call::Tool("glob", r#"{"pattern":"**","path":"@ROW@"}"#),
        Call::Tool("grep", r#"{"pattern":"x","path":"@ROW@","files_only":true}"#),
        Call::Script("ls; ls -l; git status 2>&1; find ."),
    ])
    .prepare("for n in $'a\\033]0;x\\007b' $'\\033[2J' $'\\342\\200\\256txt.exe' $'\\363\\240\\201\\201' $'c\\nd' $'\\r' $'\\302\\233'; do echo x > \"$n\"; done"),
    row("screen: paths in arguments", &[
        Call::Tool("read_file", r#"{"path":"a\u001b]0;x\u0007\u202e\udb40\udc41b"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/\u001b[2J\u202etxt","content":"\u001b]0;x\u0007\u202e"}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/\u001b[2J\u202etxt","old_text":"\u202e","new_text":"\u009b2J\u2066"}"#),
        Call::Tool("grep", r#"{"pattern":"\u001b[2J","path":"\u001b[2J"}"#),
        Call::Tool("glob", r#"{"pattern":"\u001b]0;x\u0007*"}"#),
    ]),
    row("screen: names of tools and fields", &[
        Call::Tool("ba\u{1b}]0;x\u{7}sh\u{202e}", r#"{"command":"true"}"#),
        Call::Tool("bash", r#"{"\u001b[2J":"x","command":3,"\u202e":{}}"#),
        Call::Tool("read_file", "\u{1b}]0;x\u{7}\u{202e}"),
    ]),
    row("screen: an error of a program", &[Call::Typed("cat $'\\033]0;x\\007' $'\\342\\200\\256'; $'\\033[2J'; exit 3")]),
    // The name is what the model says before the call.
    row("screen: prose \u{1b}]0;x\u{7}\u{1b}[2J\u{202e}live\u{e0041}\u{9b}2J\r\u{8}", &[Call::Typed("true")]),
    runs!("screen: what a host was called", "port=${http_proxy##*:}; port=${port%/}; { exec 3<>/dev/tcp/127.0.0.1/${port:-1} && printf 'CONNECT \\033]0;x\\007evil:443 HTTP/1.1\\r\\nHost: \\033[2J\\r\\n\\r\\n' >&3 && timeout 1 cat <&3; } 2>&1"),
    runs!("screen: a protected name", "mkdir $'a\\033]0;x\\007\\342\\200\\256'; echo x > $'a\\033]0;x\\007\\342\\200\\256/.envrc'; git init -q .; git config $'alias.a\\033' x; printf '[alias \"\\033]0;x\\007\\342\\200\\256\"]\\n\\tx = !y\\n[a\\033[2J]\\n\\tinclude = x\\n' >> .git/config"),
    row("screen: objects of the JSON output", &[Call::Script(concat!("printf '", evil!(), hidden!(), "'"))])
        .flags(&["--output-format", "stream-json"]),
    row("screen: names in the list of changes", &[Call::Script(
        "for n in $'a\\033]0;x\\007b' $'\\033[2J' $'\\342\\200\\256txt.exe' $'\\363\\240\\201\\201' $'c\\nd' $'\\r' $'\\302\\233'; do echo x > \"$n\"; mv \"$n\" \"$n.moved\"; done; echo end",
    )])
    .prints(&["end"]),
    row("screen: a job's output", &[
        Call::Job(concat!("printf '", evil!(), hidden!(), "\\n'; sleep 0.4; printf '", evil!(), "\\n' >&2; printf '\\033]0;'")),
        Call::Tool("jobs", r#"{"action":"list"}"#),
        Call::Tool("jobs", r#"{"action":"wait","job":1,"timeout":20}"#),
    ])
    .alone()
    .prints(&["job 1 has ended"]),
];

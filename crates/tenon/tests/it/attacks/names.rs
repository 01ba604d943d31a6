//! Files with names that programs misread.

use super::row::{Call, Row, row, runs, tool};

pub(super) const ROWS: &[Row] = &[
    runs!("name: leading dash", "touch -- -rf --help -; ls; ls -- -rf; rm -- -rf --help -"),
    row("name: line ends", &[
        Call::Tool("glob", r#"{"pattern":"**","path":"@ROW@"}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/a\n../../../outside"}"#),
        Call::Tool("grep", r#"{"pattern":"x","path":"@ROW@"}"#),
    ])
    .prepare("echo x > $'a\\n'; echo x > $'b\\n/etc/passwd' 2>/dev/null || true"),
    row("name: substitution", &[
        Call::Tool("write_file", r#"{"path":"@ROW@/$(touch @MARK@)`touch b`;touch c|d","content":"x"}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/$(touch @MARK@)`touch b`;touch c|d"}"#),
        Call::Tool("glob", r#"{"pattern":"*","path":"@ROW@"}"#),
    ])
    .after("test ! -e b -a ! -e c -a ! -e $WORK/b -a ! -e $WORK/$MARK"),
    row("name: expansions of the shell", &[
        Call::Tool("write_file", r#"{"path":"@ROW@/~/x","content":"x"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/$HOME","content":"x"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/{a,b}","content":"x"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/*","content":"x"}"#),
    ])
    .never(&["Error"])
    .after("test -e './~/x' -a -e './$HOME' -a -e './{a,b}' -a -e './*'"),
    row("name: 255 bytes and more", &[
        Call::Tool("write_file", r#"{"path":"@ROW@/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","content":"x"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/../../../../outside","content":"x"}"#),
    ]),
    runs!("name: 255 bytes in a command", "n=$(printf 'a%.0s' $(seq 255)); touch $n; touch ${n}b; mkdir d; cd d; for i in $(seq 40); do mkdir $n && cd $n; done 2>/dev/null; touch deep"),
    row("name: bytes that are no text", &[
        Call::Tool("glob", r#"{"pattern":"**","path":"@ROW@"}"#),
        Call::Tool("grep", r#"{"pattern":"x","path":"@ROW@"}"#),
        Call::Script("ls; cat *; echo y > $'c\\xff\\xfe'; mkdir $'d\\xed\\xa0\\x80'; touch $'d\\xed\\xa0\\x80/e'"),
    ])
    .prepare("echo x > $'a\\xff'; mkdir $'b\\xc0\\xaf'; echo x > $'b\\xc0\\xaf/f'; ln -s $'\\xff' l"),
    row("name: protected by bytes that look alike", &[
        Call::Tool("write_file", r#"{"path":"@ROW@/.ENVRC","content":"evil"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/./.envrc","content":"evil"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/x/../.envrc","content":"evil"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@//.envrc","content":"evil"}"#),
    ])
    .prepare("mkdir x")
    .never(&["Wrote"])
    .after("! ls -A | grep -i envrc"),
    runs!("name: pictures and joined letters", "touch '😀' 'é' $'e\\u0301' 'ﬁ' 'İ' 'ß'; ls; cp '😀' '🏴'"),
    tool!("name: a folder that ends with a space", "write_file", r#"{"path":"@ROW@/.. /outside","content":"x"}"#),
    tool!("name: dots", "write_file", r#"{"path":"@ROW@/.../..../x","content":"x"}"#).never(&["Error"]),
    tool!("name: of a device", "write_file", r#"{"path":"@ROW@/CON","content":"x"}"#).never(&["Error"]),
    row("name: a workspace's program with blanks", &[Call::Script("mkdir 'a b'; printf '#!/bin/sh\\ntouch $TOP/new\\n' > 'a b/x y'; chmod +x 'a b/x y'; './a b/x y'; echo end")])
        .prints(&["end"]),
    row("name: numbers at the edge", &[
        Call::Tool("read_file", r#"{"path":"@ROW@/f","offset":18446744073709551615,"limit":18446744073709551615}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/f","offset":0,"limit":0}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/f","offset":-1,"limit":1e400}"#),
        Call::Tool("grep", r#"{"pattern":"x","path":"@ROW@","context":18446744073709551615,"limit":18446744073709551615}"#),
        Call::Tool("grep", r#"{"pattern":"x","path":"@ROW@","limit":0}"#),
        Call::Tool("jobs", r#"{"action":"wait","job":18446744073709551615,"timeout":18446744073709551615}"#),
        Call::Typed("echo still there"),
    ])
    .prepare("echo x > f")
    .prints(&["still there"]),
    row("name: what looks like an option", &[
        Call::Tool("grep", r#"{"pattern":"--pre=touch","path":"@ROW@"}"#),
        Call::Tool("read_file", r#"{"path":"-"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/--help","content":"x"}"#),
        Call::Tool("glob", r#"{"pattern":"-*","path":"@ROW@"}"#),
    ])
    .prints(&["--help"]),
];

//! What bash expands a second time is seen by a denial, and what stays text is not.

use super::{ALLOW, DENY, Mode, rules, run};

/// Lines that run `git push` in bash 5.2, from words that were quoted when it read them.
const EXPANDED_TWICE: &[&str] = &[
    "echo ${y['$(git push)']}",
    "echo \"${y['$(git push)']}\"",
    "echo ${y['$(git push)']:-x}",
    "echo ${y['$(git \"push\")']}",
    "echo ${y['a[\"$\"(git push)]']}",
    "echo ${!y['$(git push)']}",
    "echo ${BASH:'a[$(git push)]'}",
    "echo \"${BASH:'a[$(git push)]'}\"",
    "echo ${BASH:0:'a[$(git push)]'}",
    "echo ${BASH:~'a[$(git push)]'}",
    "echo ${@:'a[$(git push)]'}",
    "echo ${@:'$(git push)'}",
    "echo \"${BASH#<(git push)}\"",
    "echo \"${BASH^<(git push)}\"",
    "echo \"${BASH/x/<(git push)}\"",
    "${x:='a[$(git push)]'} ${y[x]}",
    "z=x; ((${z/x/'a[$(git push)]'}))",
    "((a[\\$(git push)]))",
    "echo $((a[\\$(git push)]))",
    "echo $[a[\\$(git push)]]",
    "for ((a[\\$(git push)];0;)); do :; done",
    "let 'x=a[$(git \"push\")]'",
    "let 'x=a[b[\\$(git push)]]'",
    "let \"x=1, a['\\$(git push)']\"",
    "d='$'; let \"x=a[$d(git push)]\"",
    "x['$(git push)']=1",
    "x=(['a[$(git push)]']=1)",
    "y='a[$(git push)]'; exec {x[y]}< f",
    "x=([a['$(git push)']]=1)",
    "y=('a[$(git push)]'); echo $((y[0]))",
    "x=([0]='a[$(git push)]'); ((x))",
    "declare -a 'a=($(git push))'",
    "declare -a a='($(git push))'",
    "declare -a a; declare 'a=($(git push))'",
    "export -a 'a=($(git push))'",
    "readonly -a 'a=($(git push))'",
    "f() { local -a 'a=($(git push))'; }; f",
    "declare -ia y=('a[$(git push)]')",
    "declare -i y; y+='a[$(git push)]'",
    "x=a; x+='[$(git push)]'; ((x))",
    "v=a; x=$v'[$(git push)]'; ((x))",
    "declare -i y; read y <<< 'a[$(git push)]'",
    "while read x; do ((x)); done <<< 'a[$(git push)]'",
    "while read x; do ((x)); done <<'E'\na[$(git push)]\nE",
    "echo 'a[$(git push)]' | { read x; ((x)); }",
    "mapfile x <<< 'a[$(git push)]'; ((x))",
    "printf -v x %s 'a[$(git push)]'; ((x))",
    "x=$(printf %s 'a[$(git push)]'); ((x))",
    "x=$(cat <<'E'\na[$(git push)]\nE\n); ((x))",
    "declare -i y; for y in 'a[$(git push)]'; do :; done",
    "select x in 'a[$(git push)]'; do ((x)); break; done <<< 1",
    "set -- 'a[$(git push)]'; echo $(($1))",
    "f() { echo ${BASH:$1}; }; f 'a[$(git push)]'",
    "getopts a: x -a 'b[$(git push)]'; ((OPTARG))",
    "true & wait -n -p 'a[$(git push)]'",
    "[ -v x -o -v 'a[$(git push)]' ]",
    "[[ 1 -eq 'a[$(git push)]' ]]",
    "exec {a['$(git push)']}</dev/null",
    "bash -c '(($1))' _ 'a[$(git push)]'",
    "bash -c '(($0))' 'a[$(git push)]'",
    "env -i bash -c '[[ $1 -gt 0 ]]' _ 'a[$(git push)]'",
    "bash -c 'printf -v \"$1\" x' _ 'a[$(git push)]'",
    "bash -s 'a[$(git push)]' <<< '(($1))'",
    "bash -c 'PS4=$1; set -x; :' _ '$(git push)'",
    "bash -c 'trap \"$1\" EXIT' _ 'git push'",
    "PS4+='$(git push)'; set -x; :",
    "PS4=('$(git push)'); set -x; :",
    "printf -v PS4 '$(git push)'; set -x; :",
    "for PS4 in '$(git push)'; do set -x; :; done",
    "declare -n r=PS4; r='$(git push)'; set -x; :",
    "echo git push | cat | bash",
    "echo git push | tee x | bash",
    "echo git push | sort | bash",
    "BASH_ENV='$(git push)' bash -c :",
    "BASH_ENV=<(echo git push) bash -c :",
    "BASH_ENV=/dev/stdin bash -c : <<< 'git push'",
    "f() { : ${!1}; }; f 'a[$(git push)]'",
    "f() { printf -v \"$1\" x; }; f 'a[$(git push)]'",
    "f() { read \"$1\" <<< x; }; f 'a[$(git push)]'",
    "a='$(git push)'; test -v \"b[$a]\"",
    "a='$(git push)'; : ${b[$a]}",
    "env 'BASH_FUNC_ls%%=() { git push; }' bash -c ls",
    "jobs -x git push",
    "history -s 'git push'; fc -s git",
];

#[test]
fn what_bash_expands_twice_is_seen_by_a_denial() {
    let denied = rules(&[("bash(git push:*)", DENY)]);
    let is_allowed = |line: &&&str| {
        [Mode::Auto, Mode::ReadOnly].iter().any(|mode| run(line, &denied, *mode).verdict == ALLOW)
    };
    let wrong: Vec<_> = EXPANDED_TWICE.iter().filter(is_allowed).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn text_in_quotes_that_bash_expands_once_is_text() {
    let denied = rules(&[("bash(git push:*)", DENY)]);
    for line in [
        "echo '$(git push)' 'a[$(git push)]'",
        "echo \"a[\\$(git push)]\"",
        "x='$(git push)'; echo \"$x\"",
        "X='(see $(git push))'",
        "printf '%s' 'a[$(git push)]'",
        "grep -n '${y[$(git push)]}' f",
        "cat > x.sh <<'E'\nif [ -f a ]; then $(git push); fi\nE",
        "case a in 'a[$(git push)]') ;; esac",
        "a=(1 2); echo ${a[0]} ${#a[@]} ${a[$i]} ${a[-1]} ${a[@]:1:2} \"${a[$((i + 1))]}\"",
        "declare -A m; m[key]=v; m['a b']=w; echo \"${m['a b']}\" ${m[$k]}",
        "((i++)); ((n = i * 2, m[i] = 3)); echo $((a + b)) $((x[1] + 1)) ${s:2:-1}",
        "for ((i = 0; i < ${#a[@]}; i++)); do echo ${a[i]}; done",
        "let i=i+1; read -r a b <<< '1 2'; declare -a 'a=(1 2)'; export X='(a)'",
        "while IFS= read -r line; do echo \"$line\"; done <<'E'\n- [ ] one\nE",
        "sed_quote_subst='s/\\([\"`$\\\\]\\)/\\\\\\1/g'; re='[^`]*`'; md='[docs](x) use `'",
        "PS4='+ ${BASH_SOURCE}:${LINENO}: '; PS1=\"$x> \"; unset PROMPT_COMMAND",
        "bash -c 'echo \"$1\"' _ 'a[$(git push)]'; git log | cat",
        "echo \"${x#*(}\" \"${x%%<*}\" ${x//[^a-z]/_} \"${x/a/b}\"",
    ] {
        assert_eq!(run(line, &denied, Mode::Auto).verdict, ALLOW, "{line}");
    }
}

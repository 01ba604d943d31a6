//! Errors of Node's that a command printed in part: the lines that name the code and the path, without the first one,
//! that says in words what was refused.

/// How the line begins that names the code.
const CODE: &str = "code: '";

/// How those begin that stand around it, and name what was called, and on what.
const CALL: &str = "syscall: '";
const PATH: &str = "path: '";
const DEST: &str = "dest: '";
const FIELDS: [&str; 5] = ["errno: ", CODE, CALL, PATH, DEST];

/// The codes that walls alone cause mostly, so that they count without a path, too.
const OF_WALLS: [&str; 2] = ["EROFS", "EXDEV"];
const OF_OTHERS: [&str; 3] = ["EACCES", "EPERM", "EBUSY"];

/// Returns what was printed, where a line that names a code says the rest as the first line of the error does, which
/// is not there: `EROFS, open '/srv/x'`.
pub(super) fn in_words(printed: &str) -> String {
    if !printed.contains(CODE) {
        return printed.to_owned();
    }
    let lines: Vec<&str> = printed.split_inclusive('\n').collect();
    let first_told = |code: &&str| {
        lines.iter().position(|line| field(line, CODE).is_none() && line.contains(*code))
    };
    let told: Vec<_> =
        OF_WALLS.iter().chain(&OF_OTHERS).map(|code| (*code, first_told(code))).collect();
    let said = |at: usize| {
        let code = field(lines.get(at)?, CODE)?;
        let (_, first) = told.iter().find(|(known, _)| *known == code)?;
        let is_told = first.is_some_and(|first| first < at);
        (!is_told).then(|| words(code, &around(&lines, at))).flatten()
    };
    let lines_said = lines.iter().enumerate();
    lines_said.map(|(at, line)| said(at).unwrap_or_else(|| (*line).to_owned())).collect()
}

/// Returns the lines of the error that a line is one of.
fn around<'a>(lines: &[&'a str], at: usize) -> Vec<&'a str> {
    let is_field = |line: &&&str| FIELDS.iter().any(|name| line.trim_start().starts_with(name));
    let (before, behind) = lines.split_at(at);
    let before = before.iter().rev().take(FIELDS.len()).take_while(is_field);
    before.chain(behind.iter().take(FIELDS.len()).take_while(is_field)).copied().collect()
}

fn words(code: &str, error: &[&str]) -> Option<String> {
    let value = |name| error.iter().find_map(|line| field(line, name));
    let (path, dest) = (value(PATH), value(DEST));
    if !(OF_WALLS.contains(&code) || path.is_some() && OF_OTHERS.contains(&code)) {
        return None;
    }
    let call = value(CALL).map(|call| format!(", {call}")).unwrap_or_default();
    let path = path.map(|path| format!(" '{path}'")).unwrap_or_default();
    let dest = dest.map(|dest| format!(" -> '{dest}'")).unwrap_or_default();
    Some(format!("{code}{call}{path}{dest}\n"))
}

/// Returns the value of a line that begins with `name`.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let value = line.trim_start().strip_prefix(name)?;
    value.rsplit_once('\'').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_the_rest_of_its_error_where_no_line_before_does() {
        let fields = "  errno: -30,\n  code: 'EROFS',\n  syscall: 'open',\n  path: '/srv/x'\n}\n";
        let first = "Error: EROFS: read-only file system, open '/srv/x' {\n";
        let moved = "  code: 'EXDEV',\n  syscall: 'rename',\n  path: 'a',\n  dest: '/tmp/it's'\n";
        for (printed, expected) in [
            (fields, fields.replace("  code: 'EROFS',", "EROFS, open '/srv/x'")),
            (&format!("{first}{fields}"), format!("{first}{fields}")),
            (moved, moved.replace("  code: 'EXDEV',", "EXDEV, rename 'a' -> '/tmp/it's'")),
            ("  code: 'EROFS',\n", "EROFS\n".to_owned()),
            ("  code: 'EACCES',\n", "  code: 'EACCES',\n".to_owned()),
            ("  code: 'ENOENT',\n  path: 'x'\n", "  code: 'ENOENT',\n  path: 'x'\n".to_owned()),
            ("x\n", "x\n".to_owned()),
        ] {
            assert_eq!(in_words(printed), expected, "{printed}");
        }
    }
}

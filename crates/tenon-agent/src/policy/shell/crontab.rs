//! Tables that crontab is given.

use super::arguments::Launched;

/// Fields of a line that say when.
const TIMES: usize = 5;

/// Returns a table as the script of its commands.
pub(super) fn of_table(launched: Launched) -> Launched {
    match launched {
        Launched::Script { text, same_shell, made } => {
            Launched::Script { text: commands(&text), same_shell, made }
        }
        other => other,
    }
}

/// Returns the commands of a table, one a line, and the variables that it sets.
fn commands(table: &str) -> String {
    let lines = table.lines().map(|line| {
        let line = line.trim_start();
        let times = match line.chars().next() {
            Some('@') => 1,
            Some(first) if first.is_ascii_digit() || first == '*' => TIMES,
            _ => 0,
        };
        (0..times).fold(line, |line, _| {
            line.trim_start().split_once(char::is_whitespace).map_or("", |(_, rest)| rest)
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_without_its_times() {
        for (table, expected) in [
            ("* * * * * true", "true"),
            ("0 5 * * 1-5  git push\n@daily\tmake clean", " git push\nmake clean"),
            ("# all\nSHELL=/bin/sh\n\n*/5 0-3 1,2 jan mon a b", "# all\nSHELL=/bin/sh\n\na b"),
            ("* * *", ""),
            ("", ""),
        ] {
            assert_eq!(commands(table), expected, "{table}");
        }
    }
}

//! Where a name with `..` leads to for a command behind a `cd` that may have failed: of the folders that this leaves,
//! one may be the workspace's root, and from there alone the name leads out.

use std::path::Path;

use super::{ran_in, said::Said};
use crate::policy::shell::{Piece, SimpleCommand, Word};

/// How a shell begins what it says of a change of folder that failed.
const STAYED: [&str; 2] = ["cd: ", "pushd: "];

/// Returns where a word leads to for a command, as [`ran_in::led_to`] does. Where `..` has a part in it, and it leads
/// out of the workspace from some folders only that the command may run in, these count only if a line that it printed
/// says that the other changes of folder failed.
pub(super) fn led_to(said: &Said<'_>, command: &SimpleCommand, word: &Word) -> Vec<String> {
    let all = ran_in::led_to(command, word, said.context);
    let roots = said.context.workspace.roots();
    let is_within = |path: &String| roots.iter().any(|root| Path::new(path).starts_with(root));
    if all.iter().all(is_within) {
        return all;
    }
    let mut ways = ran_in::led_by_ways(command, word, said.context);
    let steps = ways.iter().filter_map(|(way, _)| *way).flatten();
    if !steps.chain([word]).any(leads_up) {
        return all;
    }
    let printed = said.printed();
    ways.retain(|(way, _)| !way.is_some_and(|way| way.iter().any(|step| failed(step, &printed))));
    let is_sure = ways.iter().all(|(_, path)| path.as_ref().is_some_and(|path| !is_within(path)));
    let (within, outside): (Vec<String>, Vec<String>) = all.into_iter().partition(is_within);
    if is_sure { outside } else { within }
}

fn leads_up(word: &Word) -> bool {
    let is_up = |text: &String| text.split('/').any(|name| name == "..");
    word.pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Text(text) | Piece::Glob(text) if is_up(text)))
}

/// Whether a line says that a shell did not go to a folder.
fn failed(step: &Word, printed: &str) -> bool {
    let says = |line: &str, name: &str| {
        STAYED.iter().any(|mark| line.split_once(mark).is_some_and(|(_, rest)| rest.contains(name)))
    };
    step.literal().is_some_and(|name| printed.lines().any(|line| says(line, name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        policy::shell,
        tools::testing::{Bench, printed},
    };

    #[test]
    fn a_name_leads_out_where_it_does_from_each_folder() {
        let bench = Bench::new();
        let root = bench.root().to_string_lossy().into_owned();
        let above = bench.root().parent().unwrap().to_string_lossy().into_owned();
        let check = |script: &str, complaint: &str, expected: &[&str]| {
            let commands = shell::parse(script).commands;
            let output = printed(complaint, 0);
            let said = Said::of((script, &commands), &output, (complaint, false), &bench.context);
            let command = commands.last().unwrap();
            let word = command.arguments().last().unwrap();
            let mut shown: Vec<String> = led_to(&said, command, word)
                .iter()
                .map(|path| path.replacen(&root, ".", 1).replacen(&above, "<above>", 1))
                .collect();
            shown.sort();
            assert_eq!(shown, expected, "{script}: {complaint}");
        };
        check("ls ../a", "", &["<above>/a"]);
        check("cd sub && ls ../a", "", &["./a"]);
        check("cd sub; ls ../a", "", &["./a"]);
        check("cd w; cd p; ls ../a", "", &["./a", "./w/a"]);
        check("cd w; cd ..; ls a", "", &["./a", "./w/a"]);
        check("pushd sub > /dev/null; ls ../a", "", &["./a"]);
        check("cd \"$folder\"; ls ../a", "", &[]);
        check("cd ../b; ls ../a", "", &["<above>/a"]);
        check("cd /etc; ls a", "", &["./a", "/etc/a"]);
        let stayed = "bash: line 1: cd: sub: No such file or directory";
        check("cd sub; ls ../a", stayed, &["<above>/a"]);
        check("cd other; ls ../a", stayed, &["./a"]);
        check("cd sub; cd w; ls ../a", stayed, &["./a", "./sub/a"]);
    }
}

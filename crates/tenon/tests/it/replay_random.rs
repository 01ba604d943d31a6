//! Random sessions with undos and redos: the workspace that a replay and a bundle begin with is the
//! one that the session began with.
//!
//! `TENON_FUZZ_REPLAYS` and `TENON_FUZZ_SEED` say how many and from which seed.

use serde_json::json;

use crate::program::Place;

/// Lists what there is: kinds, permissions, links and contents.
const LOOK: &str = "find . ../lib -mindepth 1 -printf '%y %m %l %p\\n' | sort; \
                    find . ../lib -type f -exec md5sum {} + | sort -k 2";

/// Lists which names are names of one file.
const NAMES: &str = "find . ../lib -type f -links +1 -printf '%i %p\\n' | sort -k 2 | \
                     awk '!n[$1] { n[$1] = ++c } { print n[$1], $2 }'";

/// A sequence of numbers that a seed decides (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    fn name(&mut self) -> String {
        let depth = 1 + self.next(2);
        let names: Vec<&str> = (0..depth)
            .map(|_| ["a", "b", "c", "d"][usize::try_from(self.next(4)).unwrap()])
            .collect();
        // Also in a folder that is added.
        let above = if self.next(5) == 0 { "../lib/" } else { "" };
        above.to_owned() + &names.join("/")
    }

    fn operation(&mut self) -> String {
        let (one, two, number) = (self.name(), self.name(), self.next(1_000));
        match self.next(16) {
            0..2 => format!("echo {number} > {one}"),
            2..5 => format!("echo {number} >> {one}"),
            5 => format!("mkdir -p {one}"),
            6 => format!("rm -rf {one}"),
            7 => format!("rm -f {one}"),
            8 => format!("mv -T {one} {two}"),
            9 => format!("mv {one} {two}"),
            10..12 => format!("ln {one} {two}"),
            12 => format!("ln -f {one} {two}"),
            13 => format!("sed -i s/{}/n/ {one}", number % 10),
            14 => format!(
                "chmod {} {one}",
                ["700", "755", "750"][usize::try_from(number % 3).unwrap()]
            ),
            _ => format!("truncate -s {} {one}", number % 5),
        }
    }

    fn operations(&mut self, count: u64) -> String {
        let lines: Vec<String> = (0..count).map(|_| self.operation()).collect();
        format!("exec 2> /dev/null\n{}\ntrue", lines.join("\n"))
    }
}

fn output(place: &Place, program: &str, arguments: &[&str]) -> String {
    let output = place.program(program, arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn check(seed: u64) {
    let (place, mut numbers) = (Place::new(), Numbers(seed));
    let lib = place.path("lib").display().to_string();
    std::fs::create_dir(&lib).unwrap();
    output(&place, "sh", &["-c", &numbers.operations(14)]);
    std::os::unix::fs::symlink(&lib, place.path("work/link")).unwrap();
    let before = output(&place, "sh", &["-c", LOOK]);
    let call =
        |command: &str| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let mut turns = vec![call(LOOK), call(NAMES)];
    turns.extend((0..3).map(|_| call(&numbers.operations(4))));
    turns.push(json!({"text": "Done."}));
    let script = place.script(turns.into());
    place.run(&["-p", "--model", &script, "--allow", "bash", "--add-dir", &lib, "go"]).ends_with(0);
    for _ in 0..numbers.next(4) {
        let count = (1 + numbers.next(2)).to_string();
        let step: &[&str] = if numbers.next(2) == 0 { &["undo", &count] } else { &["redo"] };
        // There may be nothing to undo or to redo.
        place.run(step);
    }
    let said = |run: &dyn std::fmt::Debug| format!("seed {seed}: {before}{run:?}");
    let run = place.run(&["replay", "last"]);
    assert!(run.out.contains("nothing differs") && run.error.is_empty(), "{}", said(&run));
    let run = place.run(&["export", "last", "--bundle", "../out.tar.gz"]).ends_with(0);
    for root in ["unpacked/roots/0", "unpacked/roots/1"] {
        std::fs::create_dir_all(place.path(root)).unwrap();
    }
    output(&place, "tar", &["xzf", "../out.tar.gz", "-C", "../unpacked"]);
    std::fs::rename(place.path("unpacked/roots/1"), place.path("unpacked/roots/lib")).unwrap();
    let bundled = output(&place, "sh", &["-c", &format!("cd ../unpacked/roots/0; {LOOK}")]);
    assert_eq!(before, bundled, "{}", said(&run));
}

#[test]
fn a_random_session_is_replayed_from_what_it_began_with() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let seed: u64 = number("TENON_FUZZ_SEED").unwrap_or(1);
    for seed in seed..seed + number("TENON_FUZZ_REPLAYS").unwrap_or(8) {
        check(seed);
    }
}

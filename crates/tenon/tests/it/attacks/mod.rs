//! The attack table: a hostile model drives the real program, and nothing comes of it.
//!
//! A class is a file with rows. Each runs in four ways: as the user of the tests, as an ordinary
//! user, and both without user namespaces (tier C). What is about walls around commands runs in a
//! fifth, with bubblewrap (tier B). After every session the disk around the
//! workspace, the machine's network, the processes, the screen and what the model was sent are
//! looked at (`scene.rs`); a row adds what is its own. What a tier does not promise is marked in
//! the row, must show there, and stands in docs/security.md.

mod bash;
mod benign;
mod git;
mod kernel;
mod names;
mod network;
mod orphans;
mod path;
mod races;
mod resources;
mod row;
mod scene;
mod screen;
mod secrets;
mod session;
mod trust;

use std::collections::BTreeSet;
use std::path::Path;

use row::{Exception, Row};
use session::{Program, Way};

use crate::skipped::skipped;

/// Sessions are long enough to share the cost of a start, short enough to look at.
const ROWS_PER_SESSION: usize = 40;

/// Whether everything runs, also what takes minutes or gigabytes.
fn whole() -> bool {
    std::env::var("TENON_ATTACKS").is_ok_and(|share| share == "whole")
}

/// Every class by its name.
const CLASSES: [(&str, &[Row]); 12] = [
    ("path", path::ROWS),
    ("bash", bash::ROWS),
    ("git", git::ROWS),
    ("kernel", kernel::ROWS),
    ("orphans", orphans::ROWS),
    ("network", network::ROWS),
    ("secrets", secrets::ROWS),
    ("trust", trust::ROWS),
    ("screen", screen::ROWS),
    ("names", names::ROWS),
    ("resources", resources::ROWS),
    ("benign", benign::ROWS),
];

macro_rules! table {
    ($($class:ident),*) => {
        mod table {
            use super::{Way, check};

            $(mod $class {
                use super::{Way, check};

                #[test]
                fn holds() {
                    check(stringify!($class), Way::AsWeAre);
                }

                #[test]
                fn holds_for_an_ordinary_user() {
                    check(stringify!($class), Way::AsNobody);
                }

                #[test]
                fn holds_without_namespaces() {
                    check(stringify!($class), Way::WithoutNamespaces);
                }

                #[test]
                fn holds_for_an_ordinary_user_without_namespaces() {
                    check(stringify!($class), Way::AsNobodyWithoutNamespaces);
                }
            })*
        }
    };
}

macro_rules! bubblewrap {
    ($($class:ident),*) => {
        mod bubblewrap {
            use super::{Way, check};

            $(
                #[test]
                fn $class() {
                    check(stringify!($class), Way::ThroughBubblewrap);
                }
            )*
        }
    };
}

table!(path, bash, git, kernel, orphans, network, secrets, trust, screen, names, resources, benign);
bubblewrap!(bash, git, kernel, orphans, network, secrets, resources, benign);

/// Runs a class and tells every row that does not hold.
#[track_caller]
fn check(class: &str, way: Way) {
    let program = match Program::new(way) {
        Ok(program) => program,
        Err(reason) => return skipped(format_args!("{class}, {way:?}: {reason}")),
    };
    let tier = program.tier();
    assert!(tier.starts_with(way.tier()), "{way:?} has other walls: {tier}");
    let (_, rows) = CLASSES.iter().find(|(name, _)| *name == class).unwrap();
    let only = std::env::var("TENON_ATTACKS_ROW").ok();
    let rows: Vec<Row> = rows.iter().copied().filter(|row| can_run(row, only.as_deref())).collect();
    let is_promised = |row: &Row| exception(way, row).is_none();
    let (shared, single): (Vec<Row>, Vec<Row>) =
        rows.iter().partition(|row| !row.alone && is_promised(row));
    let mut failed = Vec::new();
    let mut sessions: Vec<Vec<Row>> =
        shared.chunks(ROWS_PER_SESSION).map(<[Row]>::to_vec).collect();
    sessions.extend(single.into_iter().map(|row| vec![row]));
    for session in sessions {
        failed.extend(failures(&program, &session));
    }
    println!("{class}, {way:?}: {} rows", rows.len());
    assert!(failed.is_empty(), "{} failures, {way:?}:\n{}", failed.len(), failed.join("\n"));
}

fn can_run(row: &Row, only: Option<&str>) -> bool {
    if only.is_some_and(|only| only != row.name) || row.whole && !whole() {
        return false;
    }
    let is_there = |name: &&str| {
        ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
            .iter()
            .any(|folder| Path::new(folder).join(name).exists())
    };
    match row.needs.iter().find(|name| !is_there(name)) {
        Some(name) => {
            skipped(format_args!("{}: {name} is not installed", row.name));
            false
        }
        None => true,
    }
}

/// Plays rows in one session. If something common to them is broken, each is played alone, so
/// that the row is named.
fn failures(program: &Program, rows: &[Row]) -> Vec<String> {
    let played = program.play(rows);
    let took = played.took();
    let mut broken = played.broken(rows);
    if let [row] = rows {
        broken.extend(played.broken_row(row));
        if std::env::var_os("TENON_ATTACKS_TIMES").is_some() {
            println!("{took:?} {}", row.name);
        }
        return judge(program.way, row, broken).into_iter().collect();
    }
    if !broken.is_empty() {
        let alone: Vec<String> =
            rows.iter().flat_map(|row| failures(program, std::slice::from_ref(row))).collect();
        return if alone.is_empty() {
            vec![format!("only together: {}", broken.join("\n    "))]
        } else {
            alone
        };
    }
    let judged = rows.iter().filter_map(|row| judge(program.way, row, played.broken_row(row)));
    judged.collect()
}

/// What stands in the way of a promise, if something does.
fn exception(way: Way, row: &Row) -> Option<Exception> {
    row.nowhere.or(match way.tier() {
        "tier B" => row.not_in_b,
        "tier C" => row.not_in_c,
        _ => None,
    })
}

/// Whether a row is as it should be in this way; if not, what to tell.
fn judge(way: Way, row: &Row, broken: Vec<String>) -> Option<String> {
    let told = broken.join("\n    ");
    match exception(way, row) {
        None => (!broken.is_empty()).then(|| format!("{}:\n    {told}", row.name)),
        Some(_) if broken.is_empty() && row.may_hold => None,
        Some(_) if broken.is_empty() => {
            Some(format!("{}: holds here too, and should be promised", row.name))
        }
        Some(expected) => (!told.contains(expected.shows)).then(|| {
            format!("{}: what shows is not {:?} but\n    {told}", row.name, expected.shows)
        }),
    }
}

/// The rows of the table behind a headline of docs/security.md, without the outer bars.
fn listed(headline: &str) -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (_, section) = text.split_once(&format!("\n## {headline}\n")).expect(headline);
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.filter(|row| !row.starts_with("row |")).map(str::to_owned).collect()
}

#[test]
fn what_is_not_promised_stands_in_the_documentation() {
    let rows = || CLASSES.iter().flat_map(|(_, rows)| rows.iter());
    let told = |row: &Row, why: Exception| format!("{} | {}", row.name, why.reason);
    let in_c: BTreeSet<_> =
        rows().filter_map(|row| row.not_in_c.map(|why| told(row, why))).collect();
    assert_eq!(listed("What tier C does not promise"), in_c);
    let in_b: BTreeSet<_> =
        rows().filter_map(|row| row.not_in_b.map(|why| told(row, why))).collect();
    assert_eq!(listed("What tier B does not promise"), in_b);
    let nowhere: BTreeSet<_> =
        rows().filter_map(|row| row.nowhere.map(|why| told(row, why))).collect();
    assert_eq!(listed("What no tier promises"), nowhere);
}

#[test]
fn the_table_is_large_enough_and_its_names_are_unique() {
    let mut names = BTreeSet::new();
    let (mut attacks, mut benign) = (races::ROWS.len(), 0);
    for (class, rows) in CLASSES {
        for row in rows {
            assert!(names.insert(session::slug(row.name)), "{} is there twice", row.name);
        }
        if class == "benign" {
            benign += rows.len();
        } else {
            attacks += rows.len();
        }
    }
    let sizes = CLASSES.map(|(class, rows)| format!("{class} {}", rows.len())).join(", ");
    println!("{sizes}, races {}: {attacks} attacks, {benign} of ordinary work", races::ROWS.len());
    assert!(attacks >= 150 && benign >= 30, "{attacks} attacks, {benign} of ordinary work");
}

/// Runs a test of the table in a process without programs, and returns whether it passes and what it says.
fn without_programs(test: &str, ci: Option<&str>) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env("PATH", folder.path()).env_remove("CI");
    let output = command.envs(ci.map(|value| ("CI", value))).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_way_that_cannot_be_tried_fails_in_ci_and_names_what_is_missing() {
    let races = "a_folder_exchanged_for_a_link_leads_nowhere_without_namespaces";
    for (test, tool) in [
        ("attacks::table::screen::holds_without_namespaces", "unshare"),
        (&format!("attacks::races::{races}"), "unshare"),
        ("attacks::table::screen::holds_for_an_ordinary_user", "setpriv"),
    ] {
        if tool == "setpriv" && !rustix::process::geteuid().is_root() {
            skipped("only root can be another user");
            continue;
        }
        let missing = format!("{tool} (util-linux) is not in PATH");
        let (passes, said) = without_programs(test, Some("true"));
        assert!(!passes && said.contains(&missing), "{said}");
        let (passes, said) = without_programs(test, None);
        assert!(passes && said.contains("skipped: ") && said.contains(&missing), "{said}");
    }
}

//! How long a command takes to start and end: `/bin/true`, 500 times.
//!
//! `cargo run --release -p tenon-sandbox --example spawn`
//!
//! Kinds take turns of some fifty runs, so that whatever else the machine does meets each of them, with
//! a pause between, in which the kernel takes apart what the last one left.
//! `benches/walls.py` runs this several times and compares with the targets.

#![expect(clippy::disallowed_methods, reason = "a measurement starts processes of its own")]
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]
#![expect(clippy::unwrap_used, reason = "without the walls there is nothing to measure")]

use std::path::Path;
use std::time::{Duration, Instant};

use tenon_sandbox::{
    Command, CommandLimits, GUARDED_FOLDERS_MAX, Limits, Profile, Sandbox, Settings, Tier, Wanted,
    Workspace,
};
use tokio_util::sync::CancellationToken;

const TURNS: usize = 10;
const RUNS_OF_A_TURN: usize = 50;
/// At the beginning of a turn, not counted.
const RUNS_BEFORE: usize = 5;
const RUNS: usize = TURNS * RUNS_OF_A_TURN;

/// Between two kinds. Namespaces are gone a few milliseconds after the last process in them.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a model takes, at least, to write a command after it began to.
const AHEAD: Duration = Duration::from_millis(10);

/// What is measured: its name, a run of it, which says how long it took, and how long each took.
struct Kind<'a> {
    name: &'static str,
    run: Box<dyn FnMut() -> Duration + 'a>,
    times: Vec<Duration>,
}

/// Of each command.
const LIMITS: CommandLimits =
    CommandLimits { timeout: Duration::from_secs(10), output_bytes_max: 1000, spill: None };

fn make(folder: &Path) -> Workspace {
    std::fs::create_dir_all(folder).unwrap();
    Workspace::open(folder).unwrap()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = std::env::temp_dir().join(format!("tenon-spawn-{}", std::process::id()));
    let large = make_large(&folder.with_extension("large"));
    let workspace = make(&folder);
    let settings = |tier| Settings {
        roots: workspace.roots(),
        home: std::env::var_os("HOME").map(Into::into),
        covered: Vec::new(),
        readable: Vec::new(),
        ways: Vec::new(),
        toolchains: Vec::new(),
        virtual_environment: None,
        hidden: Vec::new(),
        own: Vec::new(),
        state: None,
        shown: Vec::new(),
        wanted: Wanted::Exactly(tier),
        limits: Limits::default(),
        guarded_folders_max: GUARDED_FOLDERS_MAX,
    };
    let run = |sandbox: &Sandbox, profile: Profile| {
        let command = Command {
            script: "exec /bin/true".into(),
            folder: sandbox.settings().roots.first().unwrap().clone(),
            roots: workspace.open_roots(),
            environment: Vec::new(),
            profile,
            limits: LIMITS,
        };
        runtime.block_on(sandbox.run(command, &CancellationToken::new(), &mut |_, _| {})).unwrap();
    };
    let sandbox = |tier| Sandbox::new(settings(tier));
    let [inside, enclosed, alone] = [Tier::A, Tier::B, Tier::C].map(sandbox);
    let walled = || Profile::workspace(&workspace);
    let among_many = Sandbox::new(Settings { roots: large.roots(), ..settings(Tier::A) });
    let mut bash = std::process::Command::new("/bin/bash");
    bash.args(["-c", "exec /bin/true"]).env_clear();
    let plain = || assert!(bash.status().unwrap().success());
    // Without the end of the session.
    let first = |sandbox: &Sandbox| {
        let before = Instant::now();
        run(sandbox, walled());
        before.elapsed()
    };
    let at_once = || first(&sandbox(Tier::A));
    let begun = || {
        let sandbox = sandbox(Tier::A);
        runtime.block_on(async { sandbox.warm_up(&walled()) });
        std::thread::sleep(AHEAD);
        first(&sandbox)
    };
    let mut kinds = vec![
        kind("plain bash", plain),
        kind("unconfined, a helper of its own", || run(&inside, Profile::unconfined())),
        Kind::new("tier A, first command of a session", at_once),
        Kind::new("tier A, first command, begun ahead", begun),
        kind("tier A, warm", || run(&inside, walled())),
        kind("tier A, warm, 10,000 folders", || run(&among_many, Profile::workspace(&large))),
        kind("tier C", || run(&alone, walled())),
    ];
    // Where bubblewrap is not installed there is no such line.
    if runtime.block_on(enclosed.tier()).is_ok() {
        kinds.push(kind("tier B", || run(&enclosed, walled())));
    }
    measure(&mut kinds);
    kinds.into_iter().for_each(print);
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::remove_dir_all(large.root()).unwrap();
}

fn measure(kinds: &mut [Kind<'_>]) {
    for _ in 0..TURNS {
        for kind in &mut *kinds {
            std::thread::sleep(PAUSE);
            for _ in 0..RUNS_BEFORE {
                (kind.run)();
            }
            kind.times.extend((0..RUNS_OF_A_TURN).map(|_| (kind.run)()));
        }
    }
}

/// A workspace with as many folders as a project has whose packages have packages.
fn make_large(folder: &Path) -> Workspace {
    for (package, inner, part) in
        (0..20).flat_map(|p| (0..25).flat_map(move |i| (0..20).map(move |part| (p, i, part))))
    {
        let place = format!("packages/{package}/node_modules/{inner}/{part}");
        std::fs::create_dir_all(folder.join(place)).unwrap();
    }
    // A change of the last two seconds has each look read a folder again.
    std::thread::sleep(Duration::from_secs(3));
    Workspace::open(folder).unwrap()
}

impl<'a> Kind<'a> {
    fn new(name: &'static str, run: impl FnMut() -> Duration + 'a) -> Self {
        Self { name, run: Box::new(run), times: Vec::new() }
    }
}

fn kind<'a>(name: &'static str, mut run: impl FnMut() + 'a) -> Kind<'a> {
    let timed = move || {
        let before = Instant::now();
        run();
        before.elapsed()
    };
    Kind::new(name, timed)
}

fn print(Kind { name, mut times, .. }: Kind<'_>) {
    times.sort();
    let at = |share: usize| times.get(RUNS * share / 100).copied().unwrap_or_default();
    // The tenth says more than the median on a machine that does other work as well.
    let [p10, p50, p90] = [10, 50, 90].map(|share| at(share).as_secs_f64() * 1000.0);
    println!("{name:36} p10 {p10:7.3} ms   p50 {p50:7.3} ms   p90 {p90:7.3} ms");
}

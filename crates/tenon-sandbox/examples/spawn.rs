//! How long a command takes to start and end: `/bin/true`, the median of 500.
//!
//! `cargo run --release -p tenon-sandbox --example spawn`

#![expect(clippy::disallowed_methods, reason = "a measurement starts processes of its own")]
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]
#![expect(clippy::unwrap_used, reason = "without the walls there is nothing to measure")]

use std::time::{Duration, Instant};

use tenon_sandbox::{
    Command, CommandLimits, Limits, Profile, Sandbox, Settings, Tier, Wanted, Workspace,
};
use tokio_util::sync::CancellationToken;

const RUNS: usize = 500;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = std::env::temp_dir().join(format!("tenon-spawn-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let workspace = Workspace::open(&folder).unwrap();
    let settings = |tier| Settings {
        roots: workspace.roots(),
        home: std::env::var_os("HOME").map(Into::into),
        readable: Vec::new(),
        hidden: Vec::new(),
        wanted: Wanted::Exactly(tier),
        limits: Limits::default(),
    };
    let run = |sandbox: &Sandbox, profile: Profile| {
        let command = Command {
            script: "exec /bin/true".into(),
            folder: folder.clone(),
            environment: Vec::new(),
            profile,
            limits: CommandLimits {
                timeout: Duration::from_secs(10),
                output_bytes_max: 1000,
                spill: None,
            },
        };
        let cancel = CancellationToken::new();
        runtime.block_on(sandbox.run(command, &cancel, &mut |_, _| {})).unwrap();
    };
    let (inside, alone) = (Sandbox::new(settings(Tier::A)), Sandbox::new(settings(Tier::C)));
    let walled = || Profile::workspace(&workspace);
    show("plain bash", || {
        std::process::Command::new("/bin/bash")
            .args(["-c", "exec /bin/true"])
            .env_clear()
            .status()
            .unwrap();
    });
    show("unconfined, a helper of its own", || run(&inside, Profile::unconfined()));
    show("tier A, first command of a session", || {
        run(&Sandbox::new(settings(Tier::A)), walled());
    });
    show("tier A, warm", || run(&inside, walled()));
    show("tier C", || run(&alone, walled()));
    std::fs::remove_dir_all(&folder).unwrap();
}

fn show(what: &str, mut run: impl FnMut()) {
    run();
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let before = Instant::now();
            run();
            before.elapsed()
        })
        .collect();
    times.sort();
    let at = |share: usize| times.get(RUNS * share / 100).copied().unwrap_or_default();
    // The tenth says more than the median on a machine that does other work as well.
    let [p10, p50, p90] = [10, 50, 90].map(at).map(ms);
    println!("{what:36} p10 {p10:7.3} ms   p50 {p50:7.3} ms   p90 {p90:7.3} ms");
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

//! What recording costs: each command with and without a checkpoint, and the ratio of the best
//! times, the end of the checkpoint counted. `journal [FOLDER] [NAME]`.

#![expect(clippy::print_stdout, reason = "an example shows what it measured")]
#![expect(clippy::unwrap_used, reason = "an example that cannot be set up has failed")]
#![expect(clippy::disallowed_methods, reason = "an example makes its own folders")]

use std::path::Path;
use std::time::{Duration, Instant};

use tenon_sandbox::{
    Command, CommandLimits, Exit, GUARDED_FOLDERS_MAX, Journal, JournalOptions, Limits, Profile,
    Sandbox, Settings, Tier, Wanted, Workspace,
};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

struct Case {
    name: &'static str,
    runs: u32,
    /// Once.
    setup: &'static str,
    /// Before each run, not measured.
    before: &'static str,
    script: &'static str,
    wanted: Wanted,
}

const CASES: &[Case] = &[
    just_true("true", Tier::A),
    just_true("true in tier B", Tier::B),
    just_true("true in tier C", Tier::C),
    Case {
        name: "grep over 5,000 files",
        runs: 10,
        setup: "mkdir -p many; for i in $(seq 5000); do echo $i > many/$i; done",
        before: "",
        script: "grep -rc 7 many > /dev/null",
        wanted: Wanted::Best,
    },
    Case {
        name: "cargo build of a new crate",
        runs: 5,
        setup: "cargo init -q --name hello crate",
        before: "rm -rf crate/target",
        script: "cd crate && cargo build -q --offline",
        wanted: Wanted::Best,
    },
    Case {
        name: "git checkout of 2,000 files",
        runs: 7,
        setup: "mkdir repo; cd repo; git init -q; for i in $(seq 2000); do echo $i > f$i; done; \
                git add .; git -c user.name=a -c user.email=a commit -qm a; git branch -q old; \
                for i in $(seq 2000); do echo n$i > f$i; done; \
                git -c user.name=a -c user.email=a commit -qam b; git branch -q new",
        before: "cd repo; git checkout -q new; sync",
        script: "cd repo; git checkout -q old",
        wanted: Wanted::Best,
    },
    Case {
        name: "20,000 new files from Python",
        runs: 5,
        setup: "",
        // Not removed: ext4 is slow to make files for 5 s after it removed many.
        before: "mkdir -p made old; mv made old/$RANDOM$RANDOM; mkdir made",
        script: "/usr/bin/python3 -c \"\nfor i in range(20000):\n    open('made/%d'%i,'w').write('x')\"",
        wanted: Wanted::Best,
    },
    Case {
        name: "1 MB appended to 1 GB",
        runs: 200,
        // On the disk, or its writing would be waited for by whoever makes a file meanwhile.
        setup: "head -c 1073741824 /dev/zero > huge; sync huge",
        before: "truncate -s 1073741824 huge",
        script: "head -c 1000000 /dev/zero >> huge",
        wanted: Wanted::Best,
    },
    Case {
        name: "4 KB written in 1 GB",
        runs: 3,
        setup: "head -c 1073741824 /dev/zero > huge; sync huge",
        before: "",
        script: "dd if=/dev/zero of=huge bs=4096 count=1 conv=notrunc status=none",
        wanted: Wanted::Best,
    },
    Case {
        name: "rm -rf of 5,000 files",
        runs: 7,
        setup: "mkdir -p many; for i in $(seq 5000); do echo $i > many/$i; done",
        before: "cp -a many gone",
        script: "rm -rf gone",
        wanted: Wanted::Best,
    },
    Case {
        name: "untar of 5,000 files",
        runs: 7,
        setup: "mkdir -p many; for i in $(seq 5000); do echo $i > many/$i; done; tar cf many.tar many",
        before: "mkdir -p out old; mv out old/$RANDOM$RANDOM; mkdir out",
        script: "tar xf many.tar -C out",
        wanted: Wanted::Best,
    },
];

const fn just_true(name: &'static str, tier: Tier) -> Case {
    let (setup, before, script) = ("", "", "true");
    Case { name, runs: 200, setup, before, script, wanted: Wanted::Exactly(tier) }
}

struct Bench {
    runtime: Runtime,
    workspace: Workspace,
    journal: Journal,
    sandbox: Sandbox,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let above = arguments.next().unwrap_or_else(|| "/var/tmp".to_owned());
    let wanted = arguments.next();
    println!(
        "{:32} {:>10} {:>10} {:>7} {:>9}",
        "command", "plain ms", "with ms", "ratio", "end ms"
    );
    // Gone only at the end: to remove many files keeps the file system busy in the next case.
    let mut folders = Vec::new();
    for case in CASES {
        if wanted.as_ref().is_none_or(|wanted| case.name.contains(wanted.as_str())) {
            let top = tempfile::Builder::new().prefix("journal").tempdir_in(&above).unwrap();
            let bench = Bench::new(top.path(), case.wanted);
            match bench.runtime.block_on(bench.sandbox.tier()) {
                Ok(_) => bench.measure(case),
                Err(error) => println!("{}: skipped: {error}", case.name),
            }
            folders.push(top);
        }
    }
}

impl Bench {
    fn new(top: &Path, wanted: Wanted) -> Self {
        for name in ["work", "state", "home"] {
            std::fs::create_dir(top.join(name)).unwrap();
        }
        let workspace = Workspace::open(&top.join("work")).unwrap();
        let mut options = JournalOptions::new(top.join("state"));
        options.file_bytes_max = 4 << 30;
        let journal = Journal::open(&workspace, options).unwrap();
        let settings = Settings {
            roots: workspace.roots(),
            home: std::env::var_os("HOME").map(Into::into),
            covered: Vec::new(),
            readable: Vec::new(),
            ways: Vec::new(),
            toolchains: Vec::new(),
            virtual_environment: None,
            hidden: journal.folders(),
            own: Vec::new(),
            state: None,
            shown: Vec::new(),
            wanted,
            limits: Limits::default(),
            guarded_folders_max: GUARDED_FOLDERS_MAX,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, workspace, journal, sandbox: Sandbox::new(settings) }
    }

    fn run(&self, sandbox: &Sandbox, script: &str) -> Duration {
        let command = Command {
            script: script.to_owned(),
            folder: self.workspace.root().to_path_buf(),
            roots: self.workspace.open_roots(),
            environment: ["PATH", "HOME"]
                .iter()
                .filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)))
                .collect(),
            profile: Profile::workspace(&self.workspace),
            limits: CommandLimits {
                timeout: Duration::from_secs(600),
                output_bytes_max: 10_000,
                spill: None,
            },
        };
        let started = Instant::now();
        let cancel = CancellationToken::new();
        let output = self.runtime.block_on(sandbox.run(command, &cancel, &mut |_, _| {})).unwrap();
        assert_eq!(output.exit, Exit::Code(0), "{script}: {:?}", output.pieces);
        started.elapsed()
    }

    fn measure(&self, case: &Case) {
        if !case.setup.is_empty() {
            self.run(&self.sandbox, case.setup);
        }
        let (mut plain, mut recorded, mut end) = (Duration::MAX, Duration::MAX, Duration::MAX);
        for _ in 0..case.runs {
            if !case.before.is_empty() {
                self.run(&self.sandbox, case.before);
            }
            plain = plain.min(self.run(&self.sandbox, case.script));
            if !case.before.is_empty() {
                self.run(&self.sandbox, case.before);
            }
            let checkpoint = self.journal.begin("bench", case.name);
            let took = self.run(&self.sandbox.recording(&checkpoint), case.script);
            let started = Instant::now();
            let changes = checkpoint.finish().unwrap();
            assert!(changes.troubles.is_empty(), "{changes:?}");
            let ending = started.elapsed();
            if took + ending < recorded {
                (recorded, end) = (took + ending, ending);
            }
            self.journal.forget_session("bench").unwrap();
        }
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let ratio = recorded.as_secs_f64() / plain.as_secs_f64();
        println!(
            "{:32} {:10.2} {:10.2} {:7.2} {:9.2}",
            case.name,
            ms(plain),
            ms(recorded),
            ratio,
            ms(end)
        );
    }
}

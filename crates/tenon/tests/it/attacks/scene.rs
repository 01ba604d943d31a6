//! What surrounds a session of the table, and what must be as it was afterwards.
//!
//! A home full of decoys, a folder that commands see and may not change, the workspace in it,
//! listeners on the machine's own network. The workspace lies beneath `~/.cargo`, because commands
//! see that folder as it is: in a private `/tmp` every attack would fail for nothing being there.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Files of a home that hold what nobody may see.
const DECOYS: &[&str] = &[
    ".ssh/id_ed25519",
    ".ssh/config",
    ".aws/credentials",
    ".azure/token.json",
    ".kube/config",
    ".docker/config.json",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".gnupg/private",
    ".config/gh/hosts.yml",
    ".config/gcloud/credentials.db",
    ".cargo/credentials.toml",
    ".local/share/keyrings/login.keyring",
    ".password-store/bank.gpg",
    ".bash_history",
    ".env",
    "notes.txt",
    ".local/state/tenon/sessions/20200101-000000-0000.jsonl",
    ".local/state/tenon/history",
];

/// Settings in a home as programs find them there: some may be read by their owner only.
const SETTINGS: &[(&str, &str, u32)] = &[
    (".gitconfig", "[user]\n\tname = Ada Real\n\temail = ada@example.com\n", 0o600),
    (".config/git/config", "[core]\n\tabbrev = 9\n", 0o644),
    (".config/git/ignore", "*.orig\n", 0o600),
    (".config/git/attributes", "*.c diff=cpp\n", 0o644),
    (".config/pip/pip.conf", "[global]\nno-index = true\n", 0o600),
    (".cargo/config.toml", "[build]\njobs = 2\n", 0o600),
    (".curlrc", "silent\n", 0o600),
    (".wgetrc", "quiet = on\n", 0o644),
    (".bash_profile", "echo profile\n", 0o644),
    (".bashrc", "echo settings\n", 0o600),
];

/// Where a stray file would turn up.
const STRAY_FOLDERS: &[&str] = &[
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/dev/shm",
    "/etc",
    "/etc/cron.d",
    "/etc/profile.d",
    "/home",
    "/lib",
    "/media",
    "/mnt",
    "/opt",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/local/bin",
    "/usr/share",
    "/var",
    "/var/lib",
    "/var/spool",
    "/var/tmp",
];

/// How long processes have to be gone, and a signal to be taken.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Scene {
    place: tempfile::TempDir,
    /// The test's own things: the script of the model, what tenon printed.
    desk: tempfile::TempDir,
    /// In every decoy file, and in the environment of tenon.
    decoy: String,
    /// In the environment of every script, in names of files.
    pub(super) mark: String,
    /// In the files that file tools may not show.
    outside: String,
    listeners: Listeners,
    toolchain: OnceCell<Option<tempfile::TempDir>>,
    before: BTreeMap<PathBuf, String>,
}

struct Listeners {
    four: TcpListener,
    six: Option<TcpListener>,
    /// What `--net` of a row opens.
    allowed: TcpListener,
    datagrams: UdpSocket,
    path: UnixListener,
    path_datagrams: UnixDatagram,
    hidden: UnixListener,
    /// Where commands have a private folder, if they have one.
    private: UnixListener,
}

/// Returns a folder in which the files of the toolchain have further names; nothing where they cannot have them. A copy
/// would have a gigabyte.
fn linked_toolchain() -> Option<tempfile::TempDir> {
    let toolchain = Path::new(env!("CARGO")).ancestors().nth(2)?;
    let link = |place: &Path| {
        let folder = tempfile::Builder::new().prefix("toolchain").tempdir_in(place).ok()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).ok()?;
        let script =
            "mkdir -p rustup/bin && cp -al $0/bin/{cargo,rustc} rustup/bin && cp -al $0/lib rustup";
        let mut shell = Command::new("bash");
        let made = shell.args(["-c", script]).arg(toolchain).current_dir(folder.path()).output();
        made.ok()?.status.success().then_some(folder)
    };
    [Path::new("/var/tmp"), &std::env::temp_dir()].into_iter().find_map(link)
}

impl Scene {
    pub(super) fn new() -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let stamp = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
        let unique = format!("{:x}x{number}x{stamp:x}", std::process::id());
        let folder = || tempfile::Builder::new().prefix("attacks").tempdir().unwrap();
        let (place, desk) = (folder(), folder());
        fs::set_permissions(desk.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = place.path().canonicalize().unwrap();
        let (home, top) = (path.join("home"), path.join("home/.cargo/top"));
        let decoy = format!("sk-decoy-{unique}");
        let outside = format!("OUTSIDE-{unique}");
        let write = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in DECOYS {
            write(home.join(name), &format!("{decoy}\n"));
        }
        for (name, text, mode) in SETTINGS {
            write(home.join(name), text);
            fs::set_permissions(home.join(name), fs::Permissions::from_mode(*mode)).unwrap();
        }
        // What the walls hold must be seen, so nothing is masked but where a row says so.
        let settings = format!("mask_secrets = false\n# {decoy}\n");
        write(home.join(".config/tenon/config.toml"), &settings);
        for name in ["outside", "folder/file", "folder/deep/file", "workspace-evil/file"] {
            write(top.join(name), &format!("{outside}\n"));
        }
        write(path.join("above"), &format!("{outside}\n"));
        fs::create_dir_all(top.join("work/rows")).unwrap();
        let listeners = Listeners::new(&path, &top, &unique);
        let mark = format!("mark-{unique}");
        let (toolchain, before) = (OnceCell::new(), BTreeMap::new());
        Self { place, desk, decoy, mark, outside, listeners, toolchain, before }
    }

    fn path(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub(super) fn top(&self) -> PathBuf {
        self.home().join(".cargo/top")
    }

    pub(super) fn work(&self) -> PathBuf {
        self.top().join("work")
    }

    pub(super) fn desk(&self) -> &Path {
        self.desk.path()
    }

    pub(super) fn decoy(&self) -> &str {
        &self.decoy
    }

    pub(super) fn outside(&self) -> &str {
        &self.outside
    }

    /// The toolchain that builds the tests, in a folder of the name that it may have behind a link in a home, and which
    /// everybody can read.
    fn toolchain(&self) -> PathBuf {
        let folder = self.toolchain.get_or_init(linked_toolchain);
        folder.as_ref().map_or_else(|| "/nowhere".into(), |folder| folder.path().join("rustup"))
    }

    /// What rows speak of, by name.
    pub(super) fn variables(&self, row: &str) -> Vec<(&'static str, String)> {
        let port = |listener: &TcpListener| listener.local_addr().unwrap().port().to_string();
        vec![
            ("PLACE", self.path().display().to_string()),
            ("TOP", self.top().display().to_string()),
            ("WORK", self.work().display().to_string()),
            ("USERHOME", self.home().display().to_string()),
            ("ROW", format!("rows/{row}")),
            ("MARK", self.mark.clone()),
            ("PORT", port(&self.listeners.four)),
            ("PORT6", self.listeners.six.as_ref().map_or_else(|| "1".into(), port)),
            ("ALLOWED", port(&self.listeners.allowed)),
            ("UDP", self.listeners.datagrams.local_addr().unwrap().port().to_string()),
            ("TOOLCHAIN", self.toolchain().display().to_string()),
            ("TESTER", std::process::id().to_string()),
        ]
    }

    pub(super) fn fill(&self, row: &str, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in self.variables(row) {
            text = text.replace(&format!("@{name}@"), &value);
        }
        text
    }

    /// Runs a script of ours and returns what it said, if it failed.
    pub(super) fn run_ours(&self, row: &str, script: &str) -> Result<(), String> {
        // A row may have removed its folder.
        if script.is_empty() {
            return Ok(());
        }
        let output = Command::new("bash")
            .args(["-c", script])
            .current_dir(self.work().join("rows").join(row))
            .envs(self.variables(row))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(said) }
    }

    /// Gives everything to another user.
    pub(super) fn give_to(&self, owner: &str) {
        let paths = [self.place.path(), self.desk.path()];
        let status = Command::new("chown").args(["-Rh", owner]).args(paths).status().unwrap();
        assert!(status.success());
    }

    /// Notes how everything is, just before tenon starts.
    pub(super) fn note(&mut self) {
        self.before = self.manifest();
    }

    fn manifest(&self) -> BTreeMap<PathBuf, String> {
        let own = self.home().join(".local/state/tenon");
        let skipped = [self.work(), own.join("results")];
        let mut manifest = BTreeMap::new();
        let mut waiting = vec![self.path()];
        while let Some(path) = waiting.pop() {
            if skipped.contains(&path) {
                continue;
            }
            let file = fs::symlink_metadata(&path).unwrap();
            let is_ours = path.starts_with(&own);
            if file.is_dir() {
                for entry in fs::read_dir(&path).unwrap() {
                    waiting.push(entry.unwrap().path());
                }
            }
            // What tenon itself writes; the decoys there are looked at.
            let is_decoy = DECOYS.iter().any(|decoy| path == self.home().join(decoy));
            if is_ours && !is_decoy {
                continue;
            }
            let content = if file.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let target = fs::read_link(&path).unwrap_or_default();
            let facts = (file.mode(), file.uid(), file.gid(), file.ino());
            let times = (file.mtime(), file.mtime_nsec());
            manifest.insert(path, format!("{facts:?} {times:?} {target:?} {content:?}"));
        }
        manifest
    }

    /// Everything that must hold after any session; what does not, in words.
    pub(super) fn broken(&self) -> Vec<String> {
        let mut broken = self.changes();
        broken.extend(self.strays());
        broken.extend(self.listeners.connections());
        broken.extend(self.left_behind());
        broken.extend(self.leaks());
        for name in ["stdout", "stderr"] {
            let bytes = fs::read(self.desk().join(name)).unwrap();
            broken.extend(raw_controls(&bytes).map(|found| format!("screen: {name} has {found}")));
        }
        broken
    }

    fn changes(&self) -> Vec<String> {
        let after = self.manifest();
        let paths = self.before.keys().chain(after.keys());
        let mut changed: Vec<_> =
            paths.filter(|path| self.before.get(*path) != after.get(*path)).collect();
        changed.sort();
        changed.dedup();
        let told = |path: &&PathBuf| {
            let (before, after) = (self.before.get(*path), after.get(*path));
            format!("disk: {} changed from {before:?} to {after:?}", path.display())
        };
        changed.iter().map(told).collect()
    }

    fn strays(&self) -> Vec<String> {
        let mut strays = Vec::new();
        for folder in STRAY_FOLDERS.iter().map(PathBuf::from).chain([self.path(), self.home()]) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().contains(&self.mark) {
                    strays.push(format!("disk: {} is there", entry.path().display()));
                }
            }
        }
        strays
    }

    /// Processes that have the mark in their environment or arguments, once those that are
    /// ending have ended.
    fn left_behind(&self) -> Vec<String> {
        let until = std::time::Instant::now() + PATIENCE;
        loop {
            let left = self.marked_processes();
            if left.is_empty() || std::time::Instant::now() > until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn marked_processes(&self) -> Vec<String> {
        let mark = self.mark.as_bytes();
        let has = |bytes: &[u8]| bytes.windows(mark.len()).any(|window| window == mark);
        let mut left = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let read = |name| fs::read(entry.path().join(name)).unwrap_or_default();
            let line = read("cmdline");
            if has(&line) || has(&read("environ")) {
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                left.push(format!("processes: {:?} is left: {line}", entry.file_name()));
            }
        }
        left
    }

    /// Decoys in what was printed, in the log of what the model was sent, and in kept results.
    fn leaks(&self) -> Vec<String> {
        let reversed: String = self.decoy.chars().rev().collect();
        let needles = [self.decoy.as_str(), &reversed, &base64(self.decoy.as_bytes())];
        let own = self.home().join(".local/state/tenon");
        let mut waiting = vec![own, self.desk().join("stdout"), self.desk().join("stderr")];
        let mut leaks = Vec::new();
        while let Some(path) = waiting.pop() {
            // A link that was kept is a path.
            if path.is_symlink() {
                continue;
            }
            if let Ok(entries) = fs::read_dir(&path) {
                waiting.extend(entries.flatten().map(|entry| entry.path()));
                continue;
            }
            let is_decoy = DECOYS.iter().any(|decoy| path == self.home().join(decoy));
            let bytes = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            if !is_decoy && needles.iter().any(|needle| text.contains(needle)) {
                leaks.push(format!("secrets: a decoy is in {}", path.display()));
            }
        }
        leaks
    }
}

impl Listeners {
    fn new(place: &Path, top: &Path, unique: &str) -> Self {
        let tcp = |address: &str| TcpListener::bind(address);
        let hidden = SocketAddr::from_abstract_name(format!("attacks-mark-{unique}")).unwrap();
        let listeners = Self {
            four: tcp("127.0.0.1:0").unwrap(),
            six: tcp("[::1]:0").ok(),
            allowed: tcp("127.0.0.1:0").unwrap(),
            datagrams: UdpSocket::bind("127.0.0.1:0").unwrap(),
            path: UnixListener::bind(top.join("socket")).unwrap(),
            path_datagrams: UnixDatagram::bind(top.join("datagrams")).unwrap(),
            hidden: UnixListener::bind_addr(&hidden).unwrap(),
            private: UnixListener::bind(place.join("socket")).unwrap(),
        };
        for listener in [&listeners.four, &listeners.allowed].into_iter().chain(&listeners.six) {
            listener.set_nonblocking(true).unwrap();
        }
        listeners.datagrams.set_nonblocking(true).unwrap();
        listeners.path.set_nonblocking(true).unwrap();
        listeners.path_datagrams.set_nonblocking(true).unwrap();
        listeners.hidden.set_nonblocking(true).unwrap();
        listeners.private.set_nonblocking(true).unwrap();
        listeners
    }

    fn connections(&self) -> Vec<String> {
        let mut told = Vec::new();
        let mut check = |name: &str, nothing: Result<(), std::io::Error>| {
            if nothing.map_err(|error| error.kind()) != Err(ErrorKind::WouldBlock) {
                told.push(format!("network: something came to the {name}"));
            }
        };
        check("port", self.four.accept().map(drop));
        if let Some(six) = &self.six {
            check("port of IPv6", six.accept().map(drop));
        }
        check("port of datagrams", self.datagrams.recv(&mut [0; 100]).map(drop));
        check("socket with a path", self.path.accept().map(drop));
        check("datagram socket with a path", self.path_datagrams.recv(&mut [0; 100]).map(drop));
        check("abstract socket", self.hidden.accept().map(drop));
        check("socket in a private place", self.private.accept().map(drop));
        told
    }
}

/// The first thing in what was printed that a terminal would act on, or that hides text.
fn raw_controls(bytes: &[u8]) -> Option<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Some("bytes that are no text".into()) };
    let is_bad = |letter: &char| match letter {
        '\n' | '\t' => false,
        letter => {
            letter.is_control()
                || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
                || matches!(letter, '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
        }
    };
    text.char_indices().find(|(_, letter)| is_bad(letter)).map(|(place, letter)| {
        let around: String = text[place..].chars().take(40).collect();
        format!("{letter:?} before {around:?}")
    })
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Without the end, which depends on what follows.
    let triples = bytes.chunks_exact(3).map(|triple| {
        let number = triple.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(LETTERS[number >> shift & 63]))
    });
    triples.flatten().collect()
}

#[test]
fn the_checks_see_what_they_are_for() {
    let mut scene = Scene::new();
    for name in ["stdout", "stderr"] {
        fs::write(scene.desk().join(name), "plain\tü\n").unwrap();
    }
    scene.note();
    assert_eq!(scene.broken(), Vec::<String>::new());
    let seen = |scene: &Scene, word: &str| {
        let broken = scene.broken();
        assert!(broken.iter().any(|told| told.starts_with(word)), "{word}: {broken:?}");
    };
    fs::write(scene.top().join("folder/new"), "").unwrap();
    seen(&scene, "disk: ");
    scene.note();
    let port = scene.listeners.four.local_addr().unwrap();
    drop(std::net::TcpStream::connect(port).unwrap());
    seen(&scene, "network: ");
    for bad in ["\u{1b}[1m", "\u{202e}", "\u{e0041}", "\u{9b}", "\u{7}"] {
        fs::write(scene.desk().join("stdout"), bad).unwrap();
        seen(&scene, "screen: ");
    }
    let twice = base64(format!("ab {}", scene.decoy).as_bytes());
    assert_eq!(base64(b"Man"), "TWFu");
    for leak in [scene.decoy.clone(), scene.decoy.chars().rev().collect(), twice] {
        fs::write(scene.home().join(".local/state/tenon/sessions/x.jsonl"), leak).unwrap();
        seen(&scene, "secrets: ");
    }
}

#[test]
fn the_checks_see_processes_that_are_left() {
    let scene = Scene::new();
    let mut shell = Command::new("sh");
    shell.args(["-c", "echo; read end"]).env("ROW_MARK", &scene.mark);
    let mut left = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Before its first output it may not have its environment.
    left.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let seen = scene.marked_processes();
    drop(left.stdin.take());
    left.wait().unwrap();
    assert_eq!(seen.len(), 1, "{seen:?}");
}

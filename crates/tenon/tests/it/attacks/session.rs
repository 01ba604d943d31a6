//! Plays rows through the real program, in one of the ways in which users have it.

use std::collections::HashMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::row::{Call, Ending, Row};
use super::scene::Scene;
use crate::skipped::skipped;

/// Nothing of the table takes longer; the long rows have a minute of their own each.
const SESSION_TIMEOUT: Duration = Duration::from_secs(300);

/// An ordinary user whom every system knows.
const NOBODY: &str = "65534:65534";
const AS_NOBODY: &[&str] =
    &["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];

/// Takes user namespaces away, as an administrator or a container does.
const WITHOUT: &[&str] = &[
    "unshare",
    "-Ur",
    "sh",
    "-c",
    "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"",
];

/// The same and an ordinary user inside: the one namespace that is left is used up for that.
const WITHOUT_AS_NOBODY: &[&str] = &[
    "unshare",
    "-Ur",
    "sh",
    "-c",
    "echo 1 > /proc/sys/user/max_user_namespaces && \
     exec unshare -U --map-user=65534 --map-group=65534 -- \"$0\" \"$@\"",
];

/// How tenon runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As the user of the tests, who may be root.
    AsWeAre,
    AsNobody,
    WithoutNamespaces,
    AsNobodyWithoutNamespaces,
    /// As an ordinary user, in namespaces that bubblewrap makes.
    ThroughBubblewrap,
}

/// The program, where the user of this way can start it.
pub(super) struct Program {
    pub(super) way: Way,
    path: PathBuf,
    _folder: Option<tempfile::TempDir>,
}

/// What a session left.
pub(super) struct Played {
    pub(super) scene: Scene,
    status: Option<ExitStatus>,
    /// By the call's id: which tool, and what the model was told.
    results: HashMap<String, (String, String)>,
    took: Duration,
}

impl Way {
    /// The walls that stand, as `tenon doctor` says it.
    pub(super) fn tier(self) -> &'static str {
        match self {
            Self::AsWeAre | Self::AsNobody => "tier A",
            Self::ThroughBubblewrap => "tier B",
            Self::WithoutNamespaces | Self::AsNobodyWithoutNamespaces => "tier C",
        }
    }

    pub(super) fn is_nobody(self) -> bool {
        match self {
            Self::AsNobody | Self::AsNobodyWithoutNamespaces => true,
            Self::AsWeAre | Self::WithoutNamespaces => false,
            Self::ThroughBubblewrap => rustix::process::geteuid().is_root(),
        }
    }

    /// What tenon is asked for.
    fn flags(self) -> &'static [&'static str] {
        if self == Self::ThroughBubblewrap { &["--sandbox", "b"] } else { &[] }
    }

    fn wrapper(self) -> Vec<&'static str> {
        match self {
            Self::AsWeAre => Vec::new(),
            Self::AsNobody => AS_NOBODY.to_vec(),
            Self::ThroughBubblewrap if self.is_nobody() => AS_NOBODY.to_vec(),
            Self::ThroughBubblewrap => Vec::new(),
            Self::WithoutNamespaces => WITHOUT.to_vec(),
            Self::AsNobodyWithoutNamespaces => [AS_NOBODY, WITHOUT_AS_NOBODY].concat(),
        }
    }

    /// Says why no program can be started in this way here, if none can.
    fn try_out(self) -> Result<(), String> {
        let wrapper = self.wrapper();
        let [first, rest @ ..] = wrapper.as_slice() else { return Ok(()) };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |tool: &str| std::env::split_paths(&path).any(|it| it.join(tool).exists());
        let needed = ["setpriv", "unshare"].into_iter().filter(|tool| wrapper.contains(tool));
        if let Some(missing) = needed.into_iter().find(|tool| !is_there(tool)) {
            return Err(format!("{missing} (util-linux) is not in PATH"));
        }
        let tried = Command::new(first).args(rest).arg("true").output();
        let said = match tried {
            Ok(tried) if tried.status.success() => return Ok(()),
            Ok(tried) => String::from_utf8_lossy(&tried.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        Err(format!("`{}` does not work here: {said}", wrapper.join(" ")))
    }
}

fn must_run() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

impl Program {
    /// Returns the program, or why it cannot run in this way here.
    pub(super) fn new(way: Way) -> Result<Self, String> {
        let built = PathBuf::from(env!("CARGO_BIN_EXE_tenon"));
        if way.is_nobody() && !rustix::process::geteuid().is_root() {
            return Err("only root can be another user, and this is an ordinary one".into());
        }
        if way == Way::ThroughBubblewrap && !Path::new("/usr/bin/bwrap").exists() {
            return Err("bubblewrap is not installed".into());
        }
        if let Err(reason) = way.try_out() {
            // Every system has these programs: without them rows would be green that nobody ran.
            assert!(!must_run(), "{way:?} cannot be tried, and CI=true wants it: {reason}");
            return Err(reason);
        }
        if !way.is_nobody() {
            return Ok(Self { way, path: built, _folder: None });
        }
        // The folder of the build may be closed to others.
        let folder = tempfile::Builder::new().prefix("attacks-program").tempdir().unwrap();
        let path = folder.path().join("tenon");
        crate::program_copy::copy_program(&built, &path);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), open).unwrap();
        let program = Self { way, path, _folder: Some(folder) };
        Ok(program)
    }

    pub(super) fn command(&self, scene: &Scene, arguments: &[&str]) -> Command {
        let mut line = self.way.wrapper();
        let path = self.path.display().to_string();
        line.push(&path);
        let [first, rest @ ..] = line.as_slice() else { unreachable!("the program is in it") };
        let mut command = Command::new(first);
        command
            .args(rest)
            .args(self.way.flags())
            .args(arguments)
            .current_dir(scene.work())
            .env_clear()
            .env("HOME", scene.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("ANTHROPIC_API_KEY", scene.decoy())
            .env("OPENAI_API_KEY", scene.decoy())
            .env("AWS_SECRET_ACCESS_KEY", scene.decoy())
            .env("SSH_AUTH_SOCK", scene.top().join("socket"))
            .stdin(Stdio::null());
        command
    }

    /// Says which walls stand in this way.
    pub(super) fn tier(&self) -> String {
        let scene = Scene::new();
        if self.way.is_nobody() {
            scene.give_to(NOBODY);
        }
        let doctor = self.command(&scene, &["doctor"]).output().unwrap();
        let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
        said.lines().find(|line| line.contains("tier ")).unwrap_or(&said).trim().to_owned()
    }

    /// Plays the rows in one session.
    pub(super) fn play(&self, rows: &[Row]) -> Played {
        let mut scene = Scene::new();
        for row in rows {
            let folder = scene.work().join("rows").join(slug(row.name));
            fs::create_dir_all(&folder).unwrap();
            if let Err(said) = scene.run_ours(&slug(row.name), row.prepare) {
                panic!("what {} needs could not be made: {said}", row.name);
            }
        }
        let script = write_script(&scene, rows);
        if self.way.is_nobody() {
            scene.give_to(NOBODY);
        }
        scene.note();
        let model = format!("scripted:{}", script.display());
        let flags: Vec<String> = rows
            .iter()
            .flat_map(|row| row.flags.iter().map(|flag| scene.fill(&slug(row.name), flag)))
            .collect();
        let mut arguments = vec!["--model", &model];
        arguments.extend(flags.iter().map(String::as_str));
        arguments.push("go");
        let start = Instant::now();
        let status = self.run(&scene, &arguments, rows);
        let took = start.elapsed();
        let results = results(&scene);
        Played { scene, status, results, took }
    }

    fn run(&self, scene: &Scene, arguments: &[&str], rows: &[Row]) -> Option<ExitStatus> {
        // Files, because a process that is left would keep a pipe open.
        let file = |name| fs::File::create(scene.desk().join(name)).unwrap();
        let mut command = self.command(scene, arguments);
        for row in rows {
            let folder = scene.work().join("rows").join(slug(row.name));
            if let Some(root) = row.root {
                command.current_dir(folder.join(root));
            }
            for (name, value) in row.given {
                command.env(name, scene.fill(&slug(row.name), value));
            }
        }
        let mut child = command.stdout(file("stdout")).stderr(file("stderr")).spawn().unwrap();
        let signal = rows.iter().find_map(|row| match row.ending {
            Ending::Signal(signal) => Some((signal, slug(row.name))),
            Ending::ByItself => None,
        });
        let ready =
            signal.as_ref().map(|(_, row)| scene.work().join("rows").join(row).join("ready"));
        let (start, mut sent) = (Instant::now(), false);
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return Some(status);
            }
            if let (Some((signal, _)), Some(ready), false) = (&signal, &ready, sent)
                && ready.exists()
            {
                sent = true;
                let pid = rustix::process::Pid::from_child(&child);
                let signal = rustix::process::Signal::from_named_raw(*signal).unwrap();
                rustix::process::kill_process(pid, signal).unwrap();
            }
            if start.elapsed() > SESSION_TIMEOUT {
                child.kill().unwrap();
                child.wait().unwrap();
                return None;
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

impl Played {
    pub(super) fn took(&self) -> Duration {
        self.took
    }

    /// What is broken of what every session is held to.
    pub(super) fn broken(&self, rows: &[Row]) -> Vec<String> {
        let mut broken = self.scene.broken();
        let is_cut = rows.iter().any(|row| row.ending != Ending::ByItself);
        match self.status {
            None => broken.push("tenon did not end".into()),
            Some(status) if !is_cut && !status.success() => {
                let said = fs::read_to_string(self.scene.desk().join("stderr")).unwrap_or_default();
                let signal = status.signal();
                broken.push(format!("tenon ended with {status:?} ({signal:?}): {said}"));
            }
            Some(_) => {}
        }
        broken
    }

    /// What is broken of what this row is held to.
    pub(super) fn broken_row(&self, row: &Row) -> Vec<String> {
        let mut broken = Vec::new();
        let mut all = String::new();
        for number in 0..row.calls.len() {
            let Some((tool, said)) = self.results.get(&id(row, number)) else {
                if row.ending == Ending::ByItself {
                    broken.push(format!("call {number} has no result"));
                }
                continue;
            };
            if tool != "bash" && said.contains(self.scene.outside()) {
                broken.push(format!("{tool} showed a file of outside"));
            }
            all.push_str(said);
            all.push('\n');
        }
        if let Some(lacking) = all.lines().find(|line| line.starts_with("SKIPPED")) {
            skipped(format_args!("{}: {lacking}", row.name));
            return Vec::new();
        }
        if let Some(lacking) = all.lines().find(|line| is_of_a_missing_program(line)) {
            skipped(format_args!("{}: in part: {lacking}", row.name));
        }
        for never in row.never.iter().chain(&["BROKEN"]) {
            if all.contains(&self.scene.fill(&slug(row.name), never)) {
                broken.push(format!("the result has {never:?}"));
            }
        }
        // Tier C refuses what it cannot let through, and runs nothing.
        let is_refused = !row.flags.is_empty() && all.contains("; nothing was run");
        for wanted in row.prints {
            if row.ending == Ending::ByItself
                && !is_refused
                && !all.contains(&self.scene.fill(&slug(row.name), wanted))
            {
                broken.push(format!("the result lacks {wanted:?}"));
            }
        }
        if let Err(said) = self.scene.run_ours(&slug(row.name), row.after) {
            broken.push(format!("afterwards: {said}"));
        }
        if !broken.is_empty() {
            let shown: String = all.chars().take(1_500).collect();
            broken.push(format!("the results were: {shown}"));
        }
        broken
    }
}

/// Whether a script says that what it tried failed since a program is not installed.
fn is_of_a_missing_program(line: &str) -> bool {
    line.starts_with(".row-")
        && (line.ends_with("command not found") || line.contains("failed to run command"))
}

/// A row's folder.
pub(super) fn slug(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    name.chars().map(letter).collect()
}

fn id(row: &Row, number: usize) -> String {
    format!("{}-{number}", slug(row.name))
}

/// Writes what the model says: a reply for each call, and a last word.
fn write_script(scene: &Scene, rows: &[Row]) -> PathBuf {
    let mut turns = Vec::new();
    for row in rows {
        for (number, call) in row.calls.iter().enumerate() {
            let (name, arguments) = arguments(scene, row, number, call);
            let call = match arguments {
                Ok(arguments) => json!({ "name": name, "arguments": arguments }),
                Err(raw) => json!({ "name": name, "raw_arguments": raw }),
            };
            let mut call = call;
            call["id"] = id(row, number).into();
            // The name is text of the model's, which the screen shows.
            turns.push(json!({ "text": row.name, "calls": [call] }));
        }
    }
    // The second one where the model is asked to run a check that a row made the project's.
    turns.extend([json!({ "text": "done" }), json!({ "text": "done" })]);
    let path = scene.desk().join("script.json");
    fs::write(&path, json!({ "turns": turns }).to_string()).unwrap();
    path
}

fn arguments(
    scene: &Scene,
    row: &Row,
    number: usize,
    call: &Call,
) -> (&'static str, Result<Value, String>) {
    let row_folder = slug(row.name);
    match call {
        Call::Typed(text) => ("bash", Ok(json!({ "command": scene.fill(&row_folder, text) }))),
        Call::Tool(name, text) => {
            let text = scene.fill(&row_folder, text);
            (name, serde_json::from_str(&text).map_err(|_| text))
        }
        Call::Script(text) | Call::Job(text) => {
            let mut script = String::new();
            for (name, value) in scene.variables(&row_folder) {
                script.push_str(&format!("export {name}='{value}'\n"));
            }
            script.push_str(text);
            let file = format!(".row-{number}.sh");
            let folder = scene.work().join("rows").join(&row_folder);
            fs::write(folder.join(&file), script).unwrap();
            let command = match row.root {
                Some(_) => format!("bash {}", folder.join(&file).display()),
                None => format!("cd rows/{row_folder} && bash {file}"),
            };
            let timeout = if text.contains("#slow") { 3 } else { 120 };
            let background = matches!(call, Call::Job(_));
            let mut arguments = json!({ "command": command, "background": background });
            // A job has no time limit of its own but where it must end by it.
            if !background || timeout < 120 {
                arguments["timeout"] = timeout.into();
            }
            ("bash", Ok(arguments))
        }
    }
}

/// The text of the session's log.
pub(super) fn log_of(scene: &Scene) -> String {
    let folder = scene.home().join(".local/state/tenon/sessions");
    fs::read_dir(folder).unwrap().map(|entry| read_text(&entry.unwrap().path())).collect()
}

/// The results in the session's log, which is what the model was sent.
fn results(scene: &Scene) -> HashMap<String, (String, String)> {
    let text = log_of(scene);
    let mut tools = HashMap::new();
    let mut results = HashMap::new();
    for event in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match event["type"].as_str() {
            Some("call_started") => {
                tools.insert(word(&event["call"]["id"]), word(&event["call"]["name"]));
            }
            Some("tool_result") => {
                let id = word(&event["call_id"]);
                let tool = tools.get(&id).cloned().unwrap_or_default();
                results.insert(id, (tool, word(&event["content"])));
            }
            _ => {}
        }
    }
    results
}

fn read_text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
}

//! What toolchains say of the hosts they need: their own configuration on this machine, and what
//! they print about themselves. Nothing of the session's folders, which the model writes, is read
//! or run for this (see [`OutsideRoots`]).

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use tenon_agent::{HostPreset, HostPresets};
use tenon_sandbox::{
    HostRule, Limits, Network, OutsideRoots, Preset, PresetHosts, Profile, Sandbox, Settings, Tier,
    Wanted,
};
use tokio::sync::OnceCell;

use super::answer::answer;
use crate::config::Config;

/// The most bytes of a configuration file that are looked at.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Variables in which pip is told of its registries.
const PIP_VARIABLES: [&str; 2] = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"];
/// Prints the links of a package that every index has, without fetching one.
const PIP_LINKS: &str =
    "python3 -m pip index versions pip -vv --no-input --no-cache-dir --retries 0 --timeout 5";
/// Has Cargo look for a crate, which fails at the first thing to write, and print which hosts it
/// asks. HTTP/1.1 has the host in a line of its own.
macro_rules! cargo_install {
    ($more:literal) => {
        concat!(
            "RUSTUP_AUTO_INSTALL=0 CARGO_NET_RETRY=0 CARGO_HTTP_TIMEOUT=5 ",
            $more,
            " cargo install --color never --root / semver 2>&1"
        )
    };
}
/// By a proxy that nobody is: Cargo says where it would look for its index and reaches nothing.
const CARGO_INDEX: &str = cargo_install!("CARGO_HTTP_PROXY=http://127.0.0.1:1");
const CARGO_LINKS: &str =
    cargo_install!("CARGO_HTTP_MULTIPLEXING=false CARGO_HTTP_DEBUG=true CARGO_LOG=network=debug");
/// Programs that answer, and those that they are run by. A folder where one of them leads into the
/// session's folders is not looked in.
const PROGRAMS: [&str; 5] = ["python3", "npm", "node", "cargo", "go"];

/// Every preset with its name.
const PRESETS: [(&str, Preset); 4] =
    [("cargo", Preset::Cargo), ("npm", Preset::Npm), ("pip", Preset::Pip), ("go", Preset::Go)];

/// The toolchains of this machine, each asked at most once.
pub(super) struct Toolchains {
    outside: OutsideRoots,
    home: PathBuf,
    cargo: PathBuf,
    /// As `NAME=value`.
    pip: Vec<String>,
    /// Before what leads into the session's folders is taken out, which takes many looks.
    environment: Vec<(OsString, OsString)>,
    known: [OnceCell<Known>; PRESETS.len()],
}

/// What one of them says.
struct Known {
    hosts: PresetHosts,
    /// With the hosts that its index leads to.
    all: OnceCell<PresetHosts>,
}

impl Toolchains {
    /// Returns the toolchains as `config` has them, for a session in `roots`. Nothing is asked yet.
    pub(super) fn new(config: &Config, roots: Vec<PathBuf>) -> Self {
        let (home, outside) = (config.folders.home.clone(), OutsideRoots::of(roots));
        let value = |name: &&str| Some(format!("{name}={}", config.variable(name)?));
        let cargo = config.variable("CARGO_HOME").map(PathBuf::from);
        Self {
            cargo: cargo
                .filter(|folder| outside.has(folder))
                .unwrap_or_else(|| home.join(".cargo")),
            home,
            pip: PIP_VARIABLES.iter().filter_map(value).collect(),
            environment: config.toolchain_environment(),
            outside,
            known: Default::default(),
        }
    }

    /// Returns the hosts of the preset `name`, if it is one. pip's index is asked where files are,
    /// and Cargo's, if it was never read or stands in place of another, so a person must have allowed
    /// the preset.
    pub(super) async fn hosts(&self, name: &str) -> Option<&PresetHosts> {
        let (preset, known) = self.known(name).await?;
        let links = match preset {
            Preset::Pip => PIP_LINKS,
            Preset::Cargo if self.asks_cargo(&known.hosts) => CARGO_LINKS,
            _ => return Some(&known.hosts),
        };
        if known.hosts.rules.is_empty() {
            return Some(&known.hosts);
        }
        let ask = async || {
            let printed = self.printed(links).await.unwrap_or_default();
            known.hosts.clone().with_links(&printed)
        };
        Some(known.all.get_or_init(ask).await)
    }

    /// Returns what the preset `name` says itself, if it is one.
    async fn known(&self, name: &str) -> Option<(Preset, &Known)> {
        let at = PRESETS.iter().position(|(known, _)| *known == name)?;
        let ((_, preset), cell) = (PRESETS.get(at)?, self.known.get(at)?);
        let ask = async || {
            let texts = self.texts(*preset).await;
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            Known { hosts: preset.hosts(&texts), all: OnceCell::new() }
        };
        Some((*preset, cell.get_or_init(ask).await))
    }

    /// Returns the texts in which `preset` looks for hosts.
    async fn texts(&self, preset: Preset) -> Vec<String> {
        match preset {
            Preset::Cargo => self.cargo().await,
            Preset::Npm => {
                let mut texts: Vec<String> =
                    self.read(&self.home.join(".npmrc")).into_iter().collect();
                let registry = self.printed("npm config get registry").await;
                texts.extend(registry.map(|registry| format!("registry={registry}")));
                texts
            }
            Preset::Pip => {
                let places =
                    [".config/pip/pip.conf", ".pip/pip.conf"].map(|name| self.home.join(name));
                let mut texts: Vec<String> =
                    places.iter().flat_map(|path| self.read(path)).collect();
                texts.extend(self.read(Path::new("/etc/pip.conf")));
                texts.extend_from_slice(&self.pip);
                texts.extend(self.printed("python3 -m pip install --help").await);
                texts
            }
            Preset::Go => {
                let proxies = self.printed("go env GOPROXY").await;
                proxies.map(|proxies| format!("GOPROXY={proxies}")).into_iter().collect()
            }
        }
    }

    async fn cargo(&self) -> Vec<String> {
        let mut texts = self.cargo_settings();
        let mut indexes = self.folders(&self.cargo.join("registry/index"));
        let is_replaced = texts.iter().any(|text| replaces_its_index(text));
        if is_replaced {
            // What was read before may be of a source that is not used any more.
            let settings: Vec<&str> = texts.iter().map(String::as_str).collect();
            let named: Vec<String> =
                Preset::Cargo.hosts(&settings).rules.iter().map(without_port).collect();
            indexes.retain(|index| host_of(index).is_some_and(|host| named.contains(&host)));
        }
        if indexes.is_empty() {
            let printed = self.printed(CARGO_INDEX).await.unwrap_or_default();
            let address = printed.split_once("failed to download from `");
            let address = address.and_then(|(_, rest)| rest.split('`').next());
            texts.extend(address.map(|address| format!("index=\"{address}\"")));
        }
        for folder in indexes {
            let host = host_of(&folder).filter(|_| !is_replaced);
            texts.extend(host.map(|host| format!("index=\"sparse+https://{host}\"")));
            texts.extend(self.read(&folder.join("config.json")));
        }
        texts
    }

    fn cargo_settings(&self) -> Vec<String> {
        let places = ["config.toml", "config"].map(|name| self.cargo.join(name));
        places.iter().flat_map(|path| self.read(path)).collect()
    }

    /// Whether Cargo must be asked where files are. Of an index in place of its own the copy cannot be
    /// told from that of another at the same host.
    fn asks_cargo(&self, known: &PresetHosts) -> bool {
        known.not_known.is_some()
            || self.cargo_settings().iter().any(|text| replaces_its_index(text))
    }

    /// Returns what a tool prints about itself. It can write nothing and read and run nothing of the
    /// session's folders, and is started where no project's file is.
    async fn printed(&self, script: &str) -> Option<String> {
        let profile = Profile {
            readable: self.outside.readable(),
            writable: Vec::new(),
            lifted: Vec::new(),
            network: Network::On,
        };
        let walls = Sandbox::new(Settings {
            roots: Vec::new(),
            home: None,
            covered: Vec::new(),
            readable: Vec::new(),
            ways: Vec::new(),
            toolchains: Vec::new(),
            virtual_environment: None,
            hidden: Vec::new(),
            own: Vec::new(),
            state: None,
            shown: Vec::new(),
            // The user's own programs, which any tier holds well enough.
            wanted: Wanted::Exactly(Tier::C),
            limits: Limits::default(),
            guarded_folders_max: 0,
        });
        let walls = (&walls, profile);
        let environment = self.outside.environment(self.environment.clone(), &PROGRAMS);
        let (_, text) = answer(walls, "/".into(), environment, script).await?;
        Some(text).filter(|text| !text.trim().is_empty())
    }

    #[expect(clippy::disallowed_methods, reason = "a toolchain's configuration, the user's own")]
    fn read(&self, path: &Path) -> Option<String> {
        use std::io::Read;
        let mut text = String::new();
        // A named pipe would be waited for.
        let is_read = self.outside.has(path) && path.is_file();
        let file = is_read.then(|| std::fs::File::open(path).ok())??;
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
        Some(text)
    }

    #[expect(clippy::disallowed_methods, reason = "a toolchain's own folder")]
    fn folders(&self, path: &Path) -> Vec<PathBuf> {
        let entries = self.outside.has(path).then(|| std::fs::read_dir(path).ok()).flatten();
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }
}

/// Whether Cargo's configuration names another source in place of its own.
fn replaces_its_index(settings: &str) -> bool {
    let table = toml::from_str::<toml::Table>(settings).unwrap_or_default();
    let own = table.get("source").and_then(|sources| sources.get("crates-io"));
    own.is_some_and(|own| own.get("replace-with").is_some())
}

/// Returns the host of an index: its folder is named after it, with a hash behind the last hyphen.
fn host_of(index: &Path) -> Option<String> {
    let (host, _) = index.file_name()?.to_str()?.rsplit_once('-')?;
    Some(host.to_owned())
}

fn without_port(rule: &HostRule) -> String {
    let text = rule.to_string();
    let host = rule.port().and_then(|port| text.strip_suffix(&format!(":{port}")));
    host.map_or_else(|| text.clone(), str::to_owned)
}

#[async_trait]
impl HostPresets for Toolchains {
    async fn preset_of(&self, host: &HostRule, programs: &[String]) -> Option<HostPreset> {
        let named = programs.iter().filter_map(|program| Preset::of_program(program));
        let named = named.filter_map(|preset| PRESETS.iter().find(|(_, one)| *one == preset));
        // Of the others those that only read files come first.
        for (name, _) in named.chain(&PRESETS) {
            let Some((_, known)) = self.known(name).await else { continue };
            if known.hosts.rules.contains(host) {
                let (name, hosts) = ((*name).to_owned(), known.hosts.rules.clone());
                return Some(HostPreset { name, hosts });
            }
        }
        None
    }

    async fn opened(&self, preset: HostPreset) -> HostPreset {
        match self.hosts(&preset.name).await {
            Some(all) => HostPreset { hosts: all.rules.clone(), ..preset },
            None => preset,
        }
    }
}

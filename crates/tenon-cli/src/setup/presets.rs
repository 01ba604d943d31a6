//! What toolchains say of the hosts they need: their own configuration on this machine, and what
//! they print about themselves. A project's files are never read for this, nor is a tool started
//! where it would read them.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tenon_sandbox::{Command, CommandLimits, Preset, Profile, Stream};
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// How long a tool may take to say where its registry is. Node takes half a second.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// `pip install --help` prints some 20 KB.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// The most bytes of a configuration file that are looked at.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Returns the texts in which `preset` looks for hosts.
pub(super) async fn texts(preset: Preset, config: &Config) -> Vec<String> {
    let home = &config.folders.home;
    match preset {
        Preset::Cargo => cargo(config),
        Preset::Npm => {
            let mut texts: Vec<String> = read(&home.join(".npmrc")).into_iter().collect();
            let registry = printed(config, "npm config get registry").await;
            texts.extend(registry.map(|registry| format!("registry={registry}")));
            texts
        }
        Preset::Pip => {
            let places = [".config/pip/pip.conf", ".pip/pip.conf"].map(|name| home.join(name));
            let mut texts: Vec<String> = places.iter().flat_map(|path| read(path)).collect();
            texts.extend(read(Path::new("/etc/pip.conf")));
            texts.extend(
                ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"]
                    .iter()
                    .filter_map(|name| Some(format!("{name}={}", config.variable(name)?))),
            );
            texts.extend(printed(config, "python3 -m pip install --help").await);
            texts
        }
        Preset::Go => {
            let proxies = printed(config, "go env GOPROXY").await;
            proxies.map(|proxies| format!("GOPROXY={proxies}")).into_iter().collect()
        }
    }
}

fn cargo(config: &Config) -> Vec<String> {
    let own = config.variable("CARGO_HOME").map(PathBuf::from);
    let cargo = own.unwrap_or_else(|| config.folders.home.join(".cargo"));
    let mut texts: Vec<String> =
        ["config.toml", "config"].iter().flat_map(|name| read(&cargo.join(name))).collect();
    for folder in folders(&cargo.join("registry/index")) {
        // A folder is named after the index's host, with a hash behind the last hyphen.
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some((host, _)) = name.rsplit_once('-') {
            texts.push(format!("index=\"sparse+https://{host}\""));
        }
        texts.extend(read(&folder.join("config.json")));
    }
    texts
}

/// Returns what a tool prints about itself, started where no project's file is.
async fn printed(config: &Config, script: &str) -> Option<String> {
    let command = Command {
        script: script.to_owned(),
        folder: PathBuf::from("/"),
        environment: config.pip_environment(),
        profile: Profile::unconfined(),
        limits: CommandLimits {
            timeout: ANSWER_TIMEOUT,
            output_bytes_max: ANSWER_BYTES_MAX,
            spill: None,
        },
    };
    let output = command.run(&CancellationToken::new(), &mut |_, _| {}).await.ok()?;
    let pieces = output.pieces.iter().filter(|piece| piece.stream == Stream::Out);
    let text: String = pieces.map(|piece| piece.text.as_str()).collect();
    Some(text).filter(|text| !text.trim().is_empty())
}

#[expect(clippy::disallowed_methods, reason = "a toolchain's configuration, the user's own")]
fn read(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut text = String::new();
    let file = std::fs::File::open(path).ok().filter(|_| path.is_file())?;
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

#[expect(clippy::disallowed_methods, reason = "a toolchain's own folder")]
fn folders(path: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

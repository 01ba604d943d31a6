//! Presets: the hosts that a toolchain needs, read from the toolchain's own configuration.
//!
//! Pure, and without a host of its own: a text that the caller has read (a configuration file, a
//! variable as `NAME=value`, what the tool prints about itself) is searched for addresses behind
//! the words that the tool uses for its registries. Everything must come from the user's own
//! files: a repository's `.npmrc` or `.cargo/config.toml` would open the walls from inside.

use std::str::FromStr;

use super::host::{Host, HostRule, Target};

/// What may be around a word or an address in TOML, JSON, INI, a shell's variables and prose.
const SEPARATORS: [char; 13] = ['=', '"', '\'', '{', '}', ',', '(', ')', '|', '\t', ' ', '<', '>'];
/// What can stand before an address: how Cargo marks the kind of an index.
const KINDS_OF_INDEX: [&str; 3] = ["sparse+", "registry+", "git+"];

/// How pip prints where a file is.
const PIP_LINK: &str = "Found link ";

/// How Cargo prints which host it asked, and where it could not get a file.
const CARGO_HOST: &str = "> Host: ";
const CARGO_FILE: &str = "failed to download from `";

/// Hosts that an index leads to; the usual one leads to one.
const LED_HOSTS_MAX: usize = 4;

/// A toolchain whose hosts are allowed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Rust's package manager.
    Cargo,
    /// Node's, and those that read the same files.
    Npm,
    /// Python's.
    Pip,
    /// Go's modules.
    Go,
}

/// What is known of a preset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetHosts {
    /// The hosts, in the order in which they were found.
    pub rules: Vec<HostRule>,
    /// What its configuration does not say, for people, if something is missing. Such a host is
    /// named when it is blocked.
    pub not_known: Option<&'static str>,
}

impl PresetHosts {
    /// Adds the hosts that an index leads to, out of what `pip index versions -vv` prints, or
    /// `cargo install` with `CARGO_LOG=network=debug` and `CARGO_HTTP_DEBUG=true`. What an index says
    /// is not the user's own: only names count, which cannot lead to private addresses, and at most
    /// four of them.
    #[must_use]
    pub fn with_links(mut self, printed: &str) -> Self {
        let mut room = LED_HOSTS_MAX;
        let led = printed.lines().filter_map(led_to).filter(HostRule::is_of_a_name);
        for rule in led {
            self.not_known = None;
            if room > 0 && !self.rules.contains(&rule) {
                self.rules.push(rule);
                room -= 1;
            }
        }
        self
    }
}

/// Returns the host that a line of what a tool prints leads to.
fn led_to(line: &str) -> Option<HostRule> {
    if let Some(link) = line.trim_start().strip_prefix(PIP_LINK) {
        return rule_of(link.split_whitespace().next()?);
    }
    if let Some((_, host)) = line.split_once(CARGO_HOST) {
        return rule_of(&format!("https://{}", host.trim_end()));
    }
    rule_of(line.split_once(CARGO_FILE)?.1.split('`').next()?)
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        match name {
            "cargo" => Ok(Self::Cargo),
            "npm" => Ok(Self::Npm),
            "pip" => Ok(Self::Pip),
            "go" => Ok(Self::Go),
            _ => Err(UnknownPreset),
        }
    }
}

/// The name is not one of a preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the presets are cargo, npm, pip and go")]
pub struct UnknownPreset;

impl Preset {
    /// Returns the preset whose hosts a program looks for, by its name without a folder. A version
    /// behind the name (`pip3.11`) says nothing.
    #[must_use]
    pub fn of_program(name: &str) -> Option<Self> {
        match name.trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '.') {
            "cargo" => Some(Self::Cargo),
            "npm" | "npx" | "pnpm" | "pnpx" | "yarn" | "yarnpkg" | "bun" | "bunx" | "corepack" => {
                Some(Self::Npm)
            }
            "pip" | "pipx" | "uv" | "uvx" | "poetry" | "pdm" | "pipenv" | "hatch" | "tox"
            | "nox" => Some(Self::Pip),
            "go" => Some(Self::Go),
            _ => None,
        }
    }

    /// Returns the hosts that texts of the toolchain name.
    ///
    /// The texts, each if it is there:
    ///
    /// - Cargo: the user's `config.toml`, variables `CARGO_REGISTRIES_*_INDEX`, and each
    ///   `registry/index/*/config.json` in Cargo's home, which Cargo has once it has read an index,
    ///   as far as the index is in use;
    ///   with `index="sparse+https://HOST"` for the name of that folder without its last part, or
    ///   for where it looks for an index that it has not read;
    /// - npm: the user's `.npmrc`, `registry=` with what `npm config get registry` prints;
    /// - pip: the user's `pip.conf`, variables `PIP_INDEX_URL` and `PIP_EXTRA_INDEX_URL`, what
    ///   `pip install --help` prints, where the index stands that is used without configuration;
    /// - Go: what `go env GOPROXY` prints, behind `GOPROXY=`.
    #[must_use]
    pub fn hosts(self, texts: &[&str]) -> PresetHosts {
        let mut rules = Vec::new();
        for text in texts {
            for rule in self.rules_in(text) {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        let has_files = texts.iter().any(|text| text.contains("\"dl\""));
        let not_known = match self {
            _ if rules.is_empty() => self.nothing_found(),
            Self::Cargo if has_files => None,
            _ => self.never_found(),
        };
        PresetHosts { rules, not_known }
    }

    fn rules_in(self, text: &str) -> Vec<HostRule> {
        let lines = text.lines().map(str::trim_start);
        let mut rules = Vec::new();
        let mut wanted = false;
        for line in lines.filter(|line| !line.starts_with(['#', ';'])) {
            for word in line.split(SEPARATORS).filter(|word| !matches!(*word, "" | ":" | "[" | "]"))
            {
                let is_address = word.contains("://");
                if is_address && wanted {
                    rules.extend(rule_of(word));
                } else if !is_address {
                    wanted = self.is_registry_word(word);
                }
            }
        }
        rules
    }

    /// Whether addresses behind this word are registries. `default` is in pip's help.
    fn is_registry_word(self, word: &str) -> bool {
        let word = word.to_ascii_lowercase().replace('_', "-");
        let last = word.rsplit(['.', ':']).next().unwrap_or_default();
        match self {
            Self::Cargo => {
                matches!(last, "registry" | "index" | "dl" | "api") || last.ends_with("-index")
            }
            Self::Npm => matches!(last, "registry" | "npm-config-registry"),
            Self::Pip => {
                let option = last.strip_prefix("pip-").unwrap_or(last).trim_start_matches('-');
                matches!(option, "index-url" | "extra-index-url" | "find-links" | "default")
            }
            Self::Go => last == "goproxy",
        }
    }

    fn nothing_found(self) -> Option<&'static str> {
        Some(match self {
            Self::Cargo => "Cargo's configuration names no registry, and it has read no index yet",
            Self::Npm => "npm names no registry",
            Self::Pip => "pip names no index",
            Self::Go => "Go names no module proxy",
        })
    }

    /// What no text of the tool says.
    fn never_found(self) -> Option<&'static str> {
        match self {
            Self::Npm => None,
            Self::Cargo => {
                Some("Cargo's index may lead to files on another host, which it alone names")
            }
            Self::Pip => {
                Some("pip's index may lead to files on another host, which it alone names")
            }
            Self::Go => Some("modules that Go fetches directly are on hosts of their own"),
        }
    }
}

/// Makes a rule for the host of an address. The address of a machine comes with its port, so that
/// a mirror on a private one is reached.
fn rule_of(address: &str) -> Option<HostRule> {
    let kind = KINDS_OF_INDEX.iter().find_map(|kind| address.strip_prefix(kind));
    let (scheme, rest) = kind.unwrap_or(address).split_once("://")?;
    let port_default = match scheme {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let server = authority.rsplit('@').next()?;
    let Target { host, port } = Target::parse(server, Some(port_default)).ok()?;
    let usual = matches!(host, Host::Name(_)) && port == port_default;
    Some(HostRule::exactly(host, (!usual).then_some(port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(preset: &str, text: &str, expected: &[&str]) {
        let found = preset.parse::<Preset>().unwrap().hosts(&[text]);
        let rules: Vec<String> = found.rules.iter().map(HostRule::to_string).collect();
        assert_eq!(rules, expected, "{text}");
        assert!(!rules.is_empty() || found.not_known.is_some());
    }

    #[test]
    fn cargo_names_registries_mirrors_and_where_files_are() {
        check(
            "cargo",
            r#"
            # registry = "https://old.example/"
            [source.crates-io]
            replace-with = "mirror"
            [source.mirror]
            registry = "sparse+https://Mirror.example:8443/index/"
            [registries]
            own = { index = "https://own.example/git", token = "x" }
            other.index = "sparse+http://10.0.0.5/"
            [http]
            proxy = "http://proxy.example:3128"
            [env]
            HOME_PAGE = "https://page.example"
            "#,
            &["mirror.example:8443", "own.example", "10.0.0.5:80"],
        );
        check(
            "cargo",
            r#"{"dl":"https://files.example/crates","api": "https://api.example"}"#,
            &["files.example", "api.example"],
        );
        check("cargo", "CARGO_REGISTRIES_OWN_INDEX=https://own.example/", &["own.example"]);
        let index = "index=\"sparse+https://index.example\"";
        check("cargo", index, &["index.example"]);
        let unread = Preset::Cargo.hosts(&[index]);
        assert!(unread.not_known.is_some());
        let led = unread.with_links(
            "0.1s DEBUG network: http-debug: > CONNECT index.example:443 HTTP/1.1\n\
             0.1s DEBUG network: http-debug: > Host: index.example\n\
             0.2s DEBUG network: http-debug: > Host: files.example:8443\n\
             0.2s DEBUG network: http-debug: > Host: 10.0.0.1\n\
             Caused by:\n  failed to download from `http://other.example:8088/a/1/download`\n",
        );
        let rules: Vec<String> = led.rules.iter().map(HostRule::to_string).collect();
        assert_eq!(rules, ["index.example", "files.example:8443", "other.example:8088"]);
        assert_eq!(led.not_known, None);
        check("cargo", "", &[]);
    }

    #[test]
    fn npm_names_registries_also_of_scopes() {
        check(
            "npm",
            "registry=https://npm.example/\n@scope:registry = http://scope.example:4873/\n\
             ; registry=https://old.example\n//npm.example/:_authToken=x\n\
             https-proxy=http://proxy.example:3128\n",
            &["npm.example", "scope.example:4873"],
        );
        check("npm", "npm_config_registry=https://npm.example", &["npm.example"]);
    }

    #[test]
    fn pip_names_indexes_and_its_help_the_one_it_uses_without_any() {
        check(
            "pip",
            "[global]\nindex-url = https://user:word@pip.example/simple\n\
             extra-index-url =\n    https://one.example/simple\n    https://two.example/simple\n\
             proxy = http://proxy.example:3128\n",
            &["pip.example", "one.example", "two.example"],
        );
        check(
            "pip",
            "PIP_EXTRA_INDEX_URL='https://a.example https://b.example'",
            &["a.example", "b.example"],
        );
        check(
            "pip",
            "  -i, --index-url <url>       Base URL of the Python Package Index (default\n\
             \x20                             https://pip.example/simple). This should point to\n\
             \x20 --proxy <proxy>             Specify a proxy in the form\n\
             \x20                             scheme://[user:passwd@]proxy.server:port.\n",
            &["pip.example"],
        );
        check("pip", "find-links = /opt/wheels", &[]);
        let help = "--index-url <url> (default https://pip.example/simple)";
        let own = Preset::Pip.hosts(&[help]);
        assert!(own.not_known.is_some());
        let check = |links: &str, expected: &[&str]| {
            let found = own.clone().with_links(links);
            let rules: Vec<String> = found.rules.iter().map(HostRule::to_string).collect();
            assert_eq!(rules, expected, "{links}");
            assert_eq!(found.not_known.is_none(), expected.len() > 1);
        };
        check(
            "* https://pip.example/simple/pip/\nGetting page https://other.example/simple/pip/\n\
             \x20 Found link https://files.example/a/pip-1.tar.gz (from \
             https://third.example/simple/pip/), version: 1\n",
            &["pip.example", "files.example"],
        );
        // What an index says for itself opens no address, and not everything.
        let hostile = "Found link http://169.254.169.254/pip-1.tar.gz (from https://pip.example)\n\
                       Found link https://[::1]/pip-1.tar.gz\n index-url https://evil.example\n\
                       Found link https://0x7f.1/pip-1.tar.gz\nFound link \n";
        check(hostile, &["pip.example"]);
        let many = (0..5_000).map(|n| format!("Found link https://f{n}.example/pip-1.tar.gz\n"));
        let led = ["pip.example", "f0.example", "f1.example", "f2.example", "f3.example"];
        check(&many.collect::<String>(), &led);
    }

    #[test]
    fn go_names_its_proxies() {
        let found = Preset::Go.hosts(&["GOPROXY='https://one.example|https://two.example,direct'"]);
        let rules: Vec<String> = found.rules.iter().map(HostRule::to_string).collect();
        assert_eq!(rules, ["one.example", "two.example"]);
        assert!(found.not_known.is_some());
        check("go", "GOPROXY=off", &[]);
        check("go", "GOSUMDB='https://sum.example'", &[]);
    }

    #[test]
    fn programs_are_those_of_a_toolchain_whichever_version_they_name() {
        let check = |name, preset| assert_eq!(Preset::of_program(name), preset, "{name}");
        for name in ["pip", "pip3", "pip3.11", "uv", "poetry"] {
            check(name, Some(Preset::Pip));
        }
        for name in ["npm", "npx", "yarn", "pnpm"] {
            check(name, Some(Preset::Npm));
        }
        check("cargo", Some(Preset::Cargo));
        check("go1.24", Some(Preset::Go));
        for name in ["", "3", "python3", "node", "make", "git", "pipes", "Cargo"] {
            check(name, None);
        }
    }

    #[test]
    fn there_are_four_presets() {
        assert_eq!("apt".parse::<Preset>(), Err(UnknownPreset));
    }
}

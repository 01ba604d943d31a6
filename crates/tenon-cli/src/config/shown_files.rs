//! Settings of toolchains in the home folder as commands inside walls may see them: what names
//! registries, without what proves who somebody is.
//!
//! Of npm's and pip's files only lines that name registries are kept, since keys may stand anywhere
//! in them. Cargo's configuration says how to build, so all of it is kept but what looks like a
//! secret; so it is with settings within toolchains. What cannot be read as what it should be is empty for commands.

use std::path::{Path, PathBuf};

use tenon_model::{CredentialShape, credential_values, is_name_of_secret, is_secret};

use super::{
    private_file,
    toolchain_settings::{self, Kind},
};

/// The most bytes of such a file; a longer one is empty for commands.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// The most bytes of one within a toolchain, where there are receipts of many parts; a longer one is empty, too.
const TOOLCHAIN_BYTES_MAX: u64 = 256 * 1024;

const CARGO: [&str; 2] = [".cargo/config.toml", ".cargo/config"];

/// pip's, the one that counts first; commands see it at the last of the places, which pip reads too.
const PIP: [&str; 2] = [".config/pip/pip.conf", ".pip/pip.conf"];

const PIP_KEPT: [&str; 6] =
    ["index-url", "extra-index-url", "find-links", "trusted-host", "cert", "no-index"];
const NPM_KEPT: [&str; 3] = ["registry", "cafile", "strict-ssl"];

/// npm's setting for all users that says where it installs for them.
const NPM_PREFIX: &str = "prefix";

/// conda has a token in the path of an address.
const CONDA_TOKEN: &str = "/t/";

/// git's setting of what is said to a server besides, which proves who somebody is.
const GIT_HEADER: &str = "extraheader";

/// Stands for a secret within a text.
const LEFT_OUT: &str = "masked";

/// Names of settings in which Cargo keeps what proves who somebody is, or how to get it.
const CARGO_SECRET: [&str; 5] = [
    "token",
    "secret-key",
    "credential-provider",
    "global-credential-providers",
    "credential-alias",
];

/// The setting of a variable in a table of its own.
const VALUE: &str = "value";

/// Returns what commands see instead of files in `home`: the path, and the content.
pub(super) fn in_home(home: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |name: &str| private_file::read_if_there(&home.join(name), FILE_BYTES_MAX);
    let mut files = Vec::new();
    for name in CARGO {
        match read(name) {
            Ok(None) => {}
            Ok(Some(text)) => {
                let shown = cargo(&text);
                if shown != text {
                    files.push((name, shown));
                }
            }
            // Nobody knows what is in it.
            Err(_) => files.push((name, String::new())),
        }
    }
    let read = |name: &str| read(name).unwrap_or_else(|_| Some(String::new()));
    if let Some(text) = read(".npmrc") {
        files.push((".npmrc", lines(&text, names_registry)));
    }
    if let (Some(text), [.., place]) = (PIP.iter().find_map(|name| read(name)), PIP) {
        files.push((place, lines(&text, |name| PIP_KEPT.contains(&name))));
    }
    files.into_iter().map(|(name, text)| (home.join(name), text.into_bytes())).collect()
}

/// Returns what commands see instead of files within toolchains of `home`: of those alone that hold what they may
/// not see.
pub(super) fn in_toolchains(home: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let shown = |(path, kind): (PathBuf, Kind)| {
        let shown = match private_file::read_if_there(&path, TOOLCHAIN_BYTES_MAX) {
            Ok(text) => of_toolchain(&text?, kind)?,
            Err(_) => String::new(),
        };
        Some((path, shown.into_bytes()))
    };
    toolchain_settings::in_home(home).into_iter().filter_map(shown).collect()
}

/// Returns such a file without secrets; nothing if there is none.
fn of_toolchain(text: &str, kind: Kind) -> Option<String> {
    let cleaned = cleaned(text);
    let is_receipt = kind == Kind::Receipt;
    let has_name = || !is_receipt && text.lines().any(is_of_secret);
    let has_token = || kind == Kind::Conda && text.contains(CONDA_TOKEN);
    let has_any = cleaned != text || has_name() || has_token();
    has_any.then(|| match kind {
        Kind::Conda => String::new(),
        Kind::Git => {
            // A setting may go on in the next line.
            let whole = cleaned.replace("\\\n", "");
            whole
                .lines()
                .filter(|line| !is_of_secret(line))
                .map(|line| line.to_owned() + "\n")
                .collect()
        }
        Kind::Npm => lines(text, |name| name == NPM_PREFIX || names_registry(name)),
        Kind::Pip => lines(text, |name| PIP_KEPT.contains(&name)),
        Kind::Receipt => cleaned,
    })
}

/// Whether a line sets something whose name says that it is a secret.
fn is_of_secret(line: &str) -> bool {
    let separator = if line.contains('=') { '=' } else { ':' };
    let named = line.split_once(separator).map(|(name, _)| name.to_ascii_lowercase());
    named.is_some_and(|name| is_name_of_secret(&name) || name.contains(GIT_HEADER))
}

/// Takes what is known as a secret out of a text, and the names of users out of its addresses.
fn cleaned(text: &str) -> String {
    let values = toolchain_settings::values(text, "");
    let shown = without_user(text);
    values.iter().fold(shown, |shown, known| shown.replace(known.secret().expose(), LEFT_OUT))
}

fn names_registry(name: &str) -> bool {
    name.rsplit(':').next().is_some_and(|last| NPM_KEPT.contains(&last))
}

/// Returns the lines of an INI file whose settings are kept, with the sections they are in.
fn lines(text: &str, keeps: impl Fn(&str) -> bool) -> String {
    let mut shown = String::new();
    let mut is_kept = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let is_section = trimmed.starts_with('[') && trimmed.ends_with(']');
        if is_section {
            is_kept = false;
        } else if !line.starts_with([' ', '\t']) {
            let name = trimmed.split(['=']).next().unwrap_or_default().trim();
            is_kept = trimmed.contains('=') && keeps(&name.to_ascii_lowercase().replace('_', "-"));
        }
        let line = without_user(line);
        if is_section || is_kept && !has_secret("", &line) {
            shown.push_str(&line);
            shown.push('\n');
        }
    }
    shown
}

/// Returns Cargo's configuration without secrets: the same text if there is none.
fn cargo(text: &str) -> String {
    let Ok(mut table) = text.parse::<toml::Table>() else { return String::new() };
    let before = table.clone();
    clean_table(&mut table);
    if table == before { text.to_owned() } else { table.to_string() }
}

fn clean_table(table: &mut toml::Table) {
    table.retain(|name, _| !CARGO_SECRET.contains(&name.to_ascii_lowercase().as_str()));
    let names: Vec<String> = table.keys().cloned().collect();
    for name in names {
        if table.get_mut(&name).is_some_and(|value| !clean_value(&name, value)) {
            table.remove(&name);
        }
    }
}

/// Cleans what is in a value, and says whether it may be shown.
fn clean_value(name: &str, value: &mut toml::Value) -> bool {
    match value {
        toml::Value::String(text) => {
            *text = without_user(text);
            // A short or plain one is not masked, and still nothing for commands.
            !is_name_of_secret(name) && !is_secret(name, text) && !has_secret(name, text)
        }
        toml::Value::Array(values) => {
            values.retain_mut(|value| clean_value(name, value));
            true
        }
        toml::Value::Table(table) => {
            // A variable may be written as a table with its value: the name is that of the table.
            if table.get_mut(VALUE).is_some_and(|value| !clean_value(name, value)) {
                table.remove(VALUE);
            }
            clean_table(table);
            true
        }
        _ => true,
    }
}

fn has_secret(name: &str, text: &str) -> bool {
    !credential_values(&format!("{name}={text}"), CredentialShape::Pairs, "").is_empty()
        || !credential_values(text, CredentialShape::Pairs, "").is_empty()
}

/// Takes the user's name and password out of each address; of those of SSH, which has no other way to say it, the
/// password alone.
fn without_user(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let end = after.find(|c: char| c.is_whitespace() || "/?#\"'".contains(c));
        let (server, more) = after.split_at(end.unwrap_or(after.len()));
        let (user, host) = server.rsplit_once('@').unwrap_or(("", server));
        if before.ends_with("ssh") && !user.is_empty() {
            shown.extend([user.split(':').next().unwrap_or_default(), "@"]);
        }
        shown.push_str(host);
        rest = more;
    }
    shown + rest
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are read")]
mod tests {
    use super::*;

    #[test]
    fn of_npm_and_pip_only_registries_are_shown() {
        let npm = |text: &str| lines(text, |name| name.rsplit(':').next() == Some("registry"));
        assert_eq!(
            npm("registry=https://u:secret@npm.example/x\n@s:registry = https://s.example:4873\n\
                 //npm.example/:_authToken=npm_0123456789abcdef\n_auth=dTpw\nsk-decoy\n; registry=a\n"),
            "registry=https://npm.example/x\n@s:registry = https://s.example:4873\n"
        );
        let pip = |text: &str| lines(text, |name| PIP_KEPT.contains(&name));
        assert_eq!(
            pip("[global]\nindex_url = https://user@pip.example/simple\nextra-index-url =\n  \
                 https://a:b@one.example/simple\npassword = hunter22\n  more\n[install]\n\
                 trusted-host = pip.example\n"),
            "[global]\nindex_url = https://pip.example/simple\nextra-index-url =\n  \
             https://one.example/simple\n[install]\ntrusted-host = pip.example\n"
        );
    }

    #[test]
    fn within_toolchains_what_holds_a_secret_is_shown_without_it() {
        let check = |kind: Kind, text: &str, expected: Option<&str>| {
            assert_eq!(of_toolchain(text, kind).as_deref(), expected, "{text}");
        };
        check(Kind::Npm, "prefix=/x\ncolor=false\n", None);
        check(
            Kind::Npm,
            "prefix=/x\ncolor=false\nregistry=https://r.example/\n//r.example/:_authToken=abc\n",
            Some("prefix=/x\nregistry=https://r.example/\n"),
        );
        check(Kind::Pip, "[install]\nuser = true\n", None);
        check(
            Kind::Pip,
            "[install]\nuser = true\n[global]\nindex-url = https://a:b@pip.example/simple\n",
            Some("[install]\n[global]\nindex-url = https://pip.example/simple\n"),
        );
        check(Kind::Conda, "channels: [conda-forge]\n", None);
        check(Kind::Conda, "channels:\n  - https://c.example/t/x-y/one\n", Some(""));
        let plain = "[remote \"auth-token\"]\n\turl = ssh://git@git.example/a\n";
        check(Kind::Git, plain, None);
        check(
            Kind::Git,
            &format!(
                "{plain}\tpushurl = https://me:pw@git.example/a\n[http]\n\textraheader = A: \\\nbasic x\n\tx = y\n"
            ),
            Some(&format!("{plain}\tpushurl = https://git.example/a\n[http]\n\tx = y\n")),
        );
        check(Kind::Receipt, "{\"token_file\": \"none\", \"url\": \"https://pip.example/\"}", None);
        check(
            Kind::Receipt,
            "{\"pip_args\": [\"-i\", \"https://a:b@pip.example/?token=s3cretWord2s3c\"]}",
            Some("{\"pip_args\": [\"-i\", \"https://pip.example/?token=masked\"]}"),
        );
    }

    #[test]
    fn what_cannot_be_read_is_empty() {
        let home = tempfile::tempdir().unwrap();
        let long = vec![b'#'; FILE_BYTES_MAX as usize + 1];
        let files: [(&str, &[u8]); 4] = [
            (CARGO[0], &long),
            (CARGO[1], b"[registry]\ntoken = '\xff'"),
            (".npmrc", &long),
            (PIP[0], b"\xff"),
        ];
        for (name, bytes) in files {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let shown = in_home(home.path());
        let names: Vec<_> = shown.iter().map(|(path, _)| path.clone()).collect();
        assert_eq!(
            names,
            [CARGO[0], CARGO[1], ".npmrc", PIP[1]].map(|name| home.path().join(name))
        );
        assert!(shown.iter().all(|(_, bytes)| bytes.is_empty()), "{shown:?}");
    }

    #[test]
    fn of_cargos_configuration_all_is_shown_but_secrets() {
        let plain = "# mine\n[build]\njobs = 2 # two\n";
        assert_eq!(cargo(plain), plain);
        let shown = cargo(
            "[registry]\ntoken = 'short'\n[registries.own]\nindex = 'sparse+https://u:p@own.example/'\n\
             token = 'abc'\ncredential-provider = ['cargo:token-from-stdout', 'x']\n\
             [registries]\nin = { index = 'https://in.example', token = 'x' }\n\
             [env]\nAPI_KEY = 'k3y-0123456789ab'\nHOME_PAGE = 'https://page.example'\n\
             MY_PASSWORD = { value = 'correct horse', force = true }\nMY_TOKEN = 'battery'\nPLAIN = { value = 'seen' }\n\
             [http]\nproxy = 'http://me:pass@proxy.example:3128'\n[build]\nrustflags = ['-g']\n",
        );
        for kept in [
            "https://own.example/",
            "https://in.example",
            "page.example",
            "seen",
            "-g",
            "http://proxy.example:3128",
        ] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
        for secret in
            ["short", "abc", "token", "u:p", "k3y", "pass", "horse", "battery", "'x'", "\"x\""]
        {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
        assert_eq!(cargo("token = \"never closed"), "");
    }
}

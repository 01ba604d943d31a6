//! Settings of toolchains in the home folder as commands inside walls may see them: what names
//! registries, without what proves who somebody is.
//!
//! Of npm's and pip's files only lines that name registries are kept, since keys may stand anywhere
//! in them. Cargo's configuration says how to build, so all of it is kept but what looks like a
//! secret. What cannot be read as what it should be is empty for commands.

use std::path::{Path, PathBuf};

use tenon_model::{CredentialShape, credential_values, is_name_of_secret, is_secret};

use super::private_file;

/// The most bytes of such a file; a longer one is empty for commands.
const FILE_BYTES_MAX: u64 = 64 * 1024;

const CARGO: [&str; 2] = [".cargo/config.toml", ".cargo/config"];

/// pip's, the one that counts first; commands see it at the last of the places, which pip reads too.
const PIP: [&str; 2] = [".config/pip/pip.conf", ".pip/pip.conf"];

const PIP_KEPT: [&str; 6] =
    ["index-url", "extra-index-url", "find-links", "trusted-host", "cert", "no-index"];
const NPM_KEPT: [&str; 3] = ["registry", "cafile", "strict-ssl"];

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
        files.push((
            ".npmrc",
            lines(&text, |name| {
                name.rsplit(':').next().is_some_and(|last| NPM_KEPT.contains(&last))
            }),
        ));
    }
    if let (Some(text), [.., place]) = (PIP.iter().find_map(|name| read(name)), PIP) {
        files.push((place, lines(&text, |name| PIP_KEPT.contains(&name))));
    }
    files.into_iter().map(|(name, text)| (home.join(name), text.into_bytes())).collect()
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

/// Takes the user's name and password out of each address.
fn without_user(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let end = after.find(|c: char| c.is_whitespace() || "/?#\"'".contains(c));
        let (server, more) = after.split_at(end.unwrap_or(after.len()));
        shown.push_str(server.rsplit('@').next().unwrap_or_default());
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

//! Files of credentials that variables of the user's environment name, wherever they lie.

use std::path::{Path, PathBuf};

use tenon_model::{
    CredentialShape::{self, Addresses, Colons, Netrc, Pairs, Whole},
    is_name_of_secret,
};
use tenon_sandbox::secrets_of_base;

/// A variable, the file beneath what it names (none where it names the file itself), and the shape
/// of what is in it, each from the documentation of the program that reads it.
const FILES: [(&str, &str, CredentialShape); 60] = [
    ("CARGO_HOME", "credentials.toml", Pairs),
    ("CARGO_HOME", "credentials", Pairs),
    ("NPM_CONFIG_USERCONFIG", "", Pairs),
    ("npm_config_userconfig", "", Pairs),
    ("PIP_CONFIG_FILE", "", Pairs),
    ("COMPOSER_HOME", "auth.json", Pairs),
    ("NETRC", "", Netrc),
    ("GH_CONFIG_DIR", "hosts.yml", Pairs),
    ("GLAB_CONFIG_DIR", "config.yml", Pairs),
    ("KUBECONFIG", "", Pairs),
    ("DOCKER_CONFIG", "config.json", Pairs),
    ("REGISTRY_AUTH_FILE", "", Pairs),
    ("AWS_SHARED_CREDENTIALS_FILE", "", Pairs),
    ("AWS_CONFIG_FILE", "", Pairs),
    ("GOOGLE_APPLICATION_CREDENTIALS", "", Pairs),
    ("CLOUDSDK_CONFIG", "application_default_credentials.json", Pairs),
    ("CLOUDSDK_CONFIG", "credentials.db", Whole),
    ("CLOUDSDK_CONFIG", "access_tokens.db", Whole),
    ("CLOUDSDK_CONFIG", "legacy_credentials", Whole),
    ("AZURE_CONFIG_DIR", "msal_token_cache.json", Pairs),
    ("AZURE_CONFIG_DIR", "service_principal_entries.json", Pairs),
    ("TF_CLI_CONFIG_FILE", "", Pairs),
    ("PGPASSFILE", "", Colons),
    ("HF_TOKEN_PATH", "", Whole),
    ("HF_HOME", "token", Whole),
    ("XDG_CACHE_HOME", "huggingface/token", Whole),
    ("XDG_CONFIG_HOME", "git/credentials", Addresses),
    ("XDG_CONFIG_HOME", "gcloud/application_default_credentials.json", Pairs),
    ("XDG_CONFIG_HOME", "gh/hosts.yml", Pairs),
    ("XDG_CONFIG_HOME", "glab-cli/config.yml", Pairs),
    ("XDG_CONFIG_HOME", "hub", Pairs),
    ("XDG_CONFIG_HOME", "pip/pip.conf", Pairs),
    ("XDG_CONFIG_HOME", "pypoetry/auth.toml", Pairs),
    ("XDG_DATA_HOME", "uv/credentials", Whole),
    ("XDG_DATA_HOME", "keyrings", Whole),
    ("POETRY_CONFIG_DIR", "auth.toml", Pairs),
    ("UV_CREDENTIALS_DIR", "credentials.toml", Pairs),
    ("GRADLE_USER_HOME", "gradle.properties", Pairs),
    ("BUNDLE_USER_CONFIG", "", Pairs),
    ("HELM_REGISTRY_CONFIG", "", Pairs),
    ("GNUPGHOME", "private-keys-v1.d", Whole),
    ("GNUPGHOME", "secring.gpg", Whole),
    ("ANSIBLE_VAULT_PASSWORD_FILE", "", Whole),
    ("AWS_WEB_IDENTITY_TOKEN_FILE", "", Whole),
    ("BOTO_CONFIG", "", Pairs),
    ("CLAUDE_CONFIG_DIR", ".credentials.json", Pairs),
    ("CODEX_HOME", "auth.json", Pairs),
    ("CONDARC", "", Pairs),
    ("CURL_HOME", ".curlrc", Pairs),
    ("CURL_HOME", ".netrc", Netrc),
    ("DATABRICKS_CONFIG_FILE", "", Pairs),
    ("HELM_CONFIG_HOME", "registry/config.json", Pairs),
    ("KAGGLE_CONFIG_DIR", "kaggle.json", Pairs),
    ("MYSQL_HOME", "my.cnf", Pairs),
    ("OCI_CLI_CONFIG_FILE", "", Pairs),
    ("PGSERVICEFILE", "", Pairs),
    ("RCLONE_CONFIG", "", Pairs),
    ("SOPS_AGE_KEY_FILE", "", Whole),
    ("TALOSCONFIG", "", Pairs),
    ("WGETRC", "", Pairs),
];

/// Variables that say where a folder of the home is instead, by the Base Directory Specification.
const BASES: [(&str, &str); 4] = [
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];

/// Files of what was typed, which may have passwords in it: a variable, and the file beneath what it names.
const HISTORIES: [(&str, &str); 9] = [
    ("HISTFILE", ""),
    ("LESSHISTFILE", ""),
    ("MYSQL_HISTFILE", ""),
    ("NODE_REPL_HISTORY", ""),
    ("PSQL_HISTORY", ""),
    ("PYTHON_HISTORY", ""),
    ("REDISCLI_HISTFILE", ""),
    ("SQLITE_HISTORY", ""),
    ("ZDOTDIR", ".zsh_history"),
];

/// Variables that name a folder of keys or passwords, and what one has in it: one of these names.
const FOLDERS: [(&str, &[&str]); 2] = [
    ("GNUPGHOME", &["private-keys-v1.d", "pubring.gpg", "pubring.kbx", "secring.gpg"]),
    ("PASSWORD_STORE_DIR", &[".gpg-id"]),
];

/// Variables of files of tickets and keys that no text is in, behind a kind in front of a colon or not.
const TICKETS: [&str; 4] =
    ["KRB5CCNAME", "KRB5_CLIENT_KTNAME", "KRB5_KTNAME", "MYSQL_TEST_LOGIN_FILE"];

/// Their kinds of files and folders; others are none.
const KINDS_OF_TICKETS: [&str; 3] = ["DIR:", "FILE:", "WRFILE:"];

/// How the name of a variable ends that names a file, whatever is in it.
const ENDINGS: [&str; 3] = ["FILE", "FILENAME", "PATH"];

/// What is in them are programs and lists of theirs.
const PROGRAMS: [&str; 2] = ["/nix/store", "/usr"];

/// The one that may name several files, with a colon between.
const LIST: &str = "KUBECONFIG";

/// Returns the files that `variable` names, with the name of the variable: files and folders of keys,
/// or what may become one. Devices (`/dev/null` is a usual value) and relative paths are left out.
pub(super) fn named<'a>(
    variable: impl Fn(&str) -> Option<&'a str>,
) -> Vec<(PathBuf, CredentialShape, &'static str)> {
    let mut files = Vec::new();
    for (name, beneath, shape) in FILES {
        let value = variable(name).unwrap_or_default();
        let values = if name == LIST { value.split(':').collect() } else { vec![value] };
        for path in values.into_iter().map(Path::new) {
            let path = if beneath.is_empty() { path.to_owned() } else { path.join(beneath) };
            if path.is_absolute() && is_of_credentials(&path, beneath) {
                files.push((path, shape, name));
            }
        }
    }
    files
}

/// Returns what else is closed that variables name, with the name of the variable: what is closed of a home's folders
/// beneath those that are elsewhere, histories, and folders of keys as a whole.
pub(super) fn closed<'a>(
    variable: impl Fn(&str) -> Option<&'a str>,
) -> Vec<(PathBuf, &'static str)> {
    let folder = |name| variable(name).map(Path::new).filter(|path| path.is_absolute());
    let mut paths = Vec::new();
    for (name, base) in BASES {
        let found = folder(name).into_iter().flat_map(|place| secrets_of_base(base, place));
        paths.extend(found.map(|path| (path, name)));
    }
    for (name, beneath) in HISTORIES {
        let file = folder(name)
            .map(|path| if beneath.is_empty() { path.into() } else { path.join(beneath) });
        paths.extend(file.filter(|path| is_of_credentials(path, "")).map(|path| (path, name)));
    }
    for name in TICKETS {
        let value = variable(name).unwrap_or_default();
        let path = KINDS_OF_TICKETS.iter().find_map(|kind| value.strip_prefix(kind));
        let path = Path::new(path.unwrap_or(value));
        let is_one = path.is_absolute() && (path.is_dir() || is_of_credentials(path, ""));
        paths.extend(is_one.then(|| (path.into(), name)));
    }
    for (name, marks) in FOLDERS {
        let place = folder(name).filter(|path| marks.iter().any(|mark| path.join(mark).exists()));
        paths.extend(place.map(|path| (path.into(), name)));
    }
    paths
}

/// Returns the files that variables with the name of a secret name (`DB_PASSWORD_FILE`, `SSH_KEY_PATH`), with that
/// name. What lies among programs is none of the user's secrets.
pub(super) fn named_so<'a>(
    variables: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<(PathBuf, &'a str)> {
    let is_own = |path: &Path| {
        path.is_absolute()
            && !PROGRAMS.iter().any(|folder| path.starts_with(folder))
            && is_of_credentials(path, "")
    };
    let named = variables.filter(|(name, _)| is_name_of_file_of_secret(name));
    let named = named.map(|(name, value)| (PathBuf::from(value), name));
    named.filter(|(path, _)| is_own(path)).collect()
}

fn is_name_of_file_of_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let mut starts = ENDINGS.iter().filter_map(|end| name.strip_suffix(end));
    starts.any(is_name_of_secret)
}

fn is_of_credentials(path: &Path, beneath: &str) -> bool {
    match path.metadata() {
        // A variable that names the folder around the file by mistake must not hide it.
        Ok(found) => found.is_file() || found.is_dir() && !beneath.is_empty(),
        Err(_) => path.file_name().is_some(),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are named")]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_variables_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().to_str().unwrap();
        std::fs::create_dir_all(format!("{top}/gnupg/private-keys-v1.d")).unwrap();
        std::fs::write(format!("{top}/kube"), "").unwrap();
        let check = |set: &str, value: &str, expected: &[String]| {
            let found = named(|name| (name == set).then_some(value));
            let paths: Vec<_> = found.iter().map(|(path, ..)| path.to_str().unwrap()).collect();
            assert_eq!(paths, expected, "{set}={value}");
        };
        check(
            "CARGO_HOME",
            top,
            &[format!("{top}/credentials.toml"), format!("{top}/credentials")],
        );
        check(
            "KUBECONFIG",
            &format!("{top}/kube:{top}/later"),
            &[format!("{top}/kube"), format!("{top}/later")],
        );
        check("NETRC", &format!("{top}/a:b"), &[format!("{top}/a:b")]);
        check(
            "GNUPGHOME",
            &format!("{top}/gnupg"),
            &[format!("{top}/gnupg/private-keys-v1.d"), format!("{top}/gnupg/secring.gpg")],
        );
        for (name, value) in [
            ("KUBECONFIG", "/dev/null"),
            ("KUBECONFIG", "/"),
            ("KUBECONFIG", ""),
            ("KUBECONFIG", "kube"),
            ("KUBECONFIG", top),
            ("DOCKER_CONFIG", ""),
            ("PATH", "/usr/bin"),
        ] {
            check(name, value, &[]);
        }
    }

    #[test]
    fn what_is_closed_of_a_home_is_closed_where_variables_put_it() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().to_str().unwrap();
        std::fs::create_dir_all(format!("{top}/gnupg/private-keys-v1.d")).unwrap();
        let check = |set: &str, value: &str, expected: &[&str], others: bool| {
            let found = closed(|name| (name == set).then_some(value));
            let expected: Vec<_> =
                expected.iter().map(|name| PathBuf::from(format!("{top}{name}"))).collect();
            let is_found = expected.iter().all(|path| found.iter().any(|(found, _)| found == path));
            assert!(
                is_found && (others || found.len() == expected.len()),
                "{set}={value}: {found:?}"
            );
        };
        check("XDG_CONFIG_HOME", top, &["/gcloud", "/google-chrome", "/hub", "/rclone"], true);
        check("XDG_DATA_HOME", top, &["/fish/fish_history", "/keyrings"], true);
        check("XDG_CACHE_HOME", top, &["/huggingface/token"], false);
        check("HISTFILE", &format!("{top}/history"), &["/history"], false);
        check("ZDOTDIR", top, &["/.zsh_history"], false);
        check("GNUPGHOME", &format!("{top}/gnupg"), &["/gnupg"], false);
        check("KRB5CCNAME", &format!("{top}/ticket"), &["/ticket"], false);
        check("KRB5CCNAME", &format!("FILE:{top}/ticket"), &["/ticket"], false);
        check("KRB5CCNAME", &format!("DIR:{top}/gnupg"), &["/gnupg"], false);
        for (name, value) in [
            ("GNUPGHOME", top),
            ("PASSWORD_STORE_DIR", top),
            ("HISTFILE", "/dev/null"),
            ("HISTFILE", top),
            ("XDG_CONFIG_HOME", ""),
            ("XDG_CONFIG_HOME", "config"),
            ("KRB5CCNAME", "KEYRING:persistent:0"),
        ] {
            check(name, value, &[], false);
        }
    }

    #[test]
    fn files_are_named_by_variables_with_the_name_of_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().to_str().unwrap();
        let check = |name: &str, value: &str, is_named: bool| {
            let found = named_so([(name, value)].into_iter());
            let expected: Vec<_> =
                is_named.then(|| (PathBuf::from(value), name)).into_iter().collect();
            assert_eq!(found, expected, "{name}={value}");
        };
        let file = format!("{top}/file");
        for name in [
            "DB_PASSWORD_FILE",
            "my_token_file",
            "SSH_KEYFILE",
            "VAULT_TOKEN_PATH",
            "CREDENTIALS_FILENAME",
        ] {
            check(name, &file, true);
            check(name, top, false);
            check(name, "file", false);
            check(name, "/dev/null", false);
            check(name, "/usr/share/keyrings/a.gpg", false);
        }
        for name in ["AUTHORS_FILE", "AWS_PROFILE", "LOG_FILE", "PATH", "SECRET", "TOKEN_DIR"] {
            check(name, &file, false);
        }
    }
}

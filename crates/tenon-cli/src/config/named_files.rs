//! Files of credentials that variables of the user's environment name, wherever they lie.

use std::path::{Path, PathBuf};

use tenon_model::CredentialShape::{self, Addresses, Colons, Netrc, Pairs, Whole};
use tenon_sandbox::secrets_of_base;

/// A variable, the file beneath what it names (none where it names the file itself), and the shape
/// of what is in it, each from the documentation of the program that reads it.
const FILES: [(&str, &str, CredentialShape); 42] = [
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
];

/// Variables that say where a folder of the home is instead, by the Base Directory Specification.
const BASES: [(&str, &str); 4] = [
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];

/// Files of what was typed, which may have passwords in it: a variable, and the file beneath what it names.
const HISTORIES: [(&str, &str); 5] = [
    ("HISTFILE", ""),
    ("MYSQL_HISTFILE", ""),
    ("PSQL_HISTORY", ""),
    ("PYTHON_HISTORY", ""),
    ("ZDOTDIR", ".zsh_history"),
];

/// Variables that name a folder of keys or passwords, and what one has in it: one of these names.
const FOLDERS: [(&str, &[&str]); 2] = [
    ("GNUPGHOME", &["private-keys-v1.d", "pubring.gpg", "pubring.kbx", "secring.gpg"]),
    ("PASSWORD_STORE_DIR", &[".gpg-id"]),
];

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
    for (name, marks) in FOLDERS {
        let place = folder(name).filter(|path| marks.iter().any(|mark| path.join(mark).exists()));
        paths.extend(place.map(|path| (path.into(), name)));
    }
    paths
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
        for (name, value) in [
            ("GNUPGHOME", top),
            ("PASSWORD_STORE_DIR", top),
            ("HISTFILE", "/dev/null"),
            ("HISTFILE", top),
            ("XDG_CONFIG_HOME", ""),
            ("XDG_CONFIG_HOME", "config"),
        ] {
            check(name, value, &[], false);
        }
    }
}

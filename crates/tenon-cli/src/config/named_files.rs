//! Files of credentials that variables of the user's environment name, wherever they lie.

use std::path::{Path, PathBuf};

use tenon_model::CredentialShape::{self, Addresses, Colons, Netrc, Pairs, Whole};

/// A variable, the file beneath what it names (none where it names the file itself), and the shape
/// of what is in it, each from the documentation of the program that reads it.
const FILES: [(&str, &str, CredentialShape); 39] = [
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
    ("XDG_CONFIG_HOME", "git/credentials", Addresses),
    ("XDG_CONFIG_HOME", "gh/hosts.yml", Pairs),
    ("XDG_CONFIG_HOME", "glab-cli/config.yml", Pairs),
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
}

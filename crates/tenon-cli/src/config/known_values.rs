//! The secrets of the user that tenon knows of, to mask them wherever they would be shown.
//!
//! Keys of providers, the variables of tenon's own environment that are named like secrets, and the
//! files in which the usual programs keep credentials. What cannot be read is not masked either:
//! commands cannot read it as well, since they have no more rights.

use std::path::{Path, PathBuf};

use tenon_model::{
    CredentialShape::{self, Addresses, Colons, Netrc, Pairs, Whole},
    KnownValue, credential_values, decoded, is_secret,
};

use super::{
    Config, Credential, named_files::named, private_file, toolchain_folders, toolchain_settings,
};

/// The most bytes of a file of credentials (1 MiB): far more than any has.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Files of credentials beneath the home folder.
const FILES: [(&str, CredentialShape); 31] = [
    (".netrc", Netrc),
    (".git-credentials", Addresses),
    (".config/git/credentials", Addresses),
    (".config/gh/hosts.yml", Pairs),
    (".config/glab-cli/config.yml", Pairs),
    (".npmrc", Pairs),
    (".yarnrc.yml", Pairs),
    (".cargo/credentials.toml", Pairs),
    (".cargo/credentials", Pairs),
    (".cargo/config.toml", Pairs),
    (".cargo/config", Pairs),
    (".pypirc", Pairs),
    (".config/pip/pip.conf", Pairs),
    (".pip/pip.conf", Pairs),
    (".config/pypoetry/auth.toml", Pairs),
    (".gem/credentials", Pairs),
    (".composer/auth.json", Pairs),
    (".docker/config.json", Pairs),
    (".kube/config", Pairs),
    (".aws/credentials", Pairs),
    (".config/gcloud/application_default_credentials.json", Pairs),
    (".azure/msal_token_cache.json", Pairs),
    (".terraform.d/credentials.tfrc.json", Pairs),
    (".cache/huggingface/token", Whole),
    (".config/hub", Pairs),
    (".pgpass", Colons),
    (".my.cnf", Pairs),
    (".vault-token", Whole),
    (".ssh/id_rsa", Whole),
    (".ssh/id_ed25519", Whole),
    (".ssh/id_ecdsa", Whole),
];

/// Variables of one folder or several, by the Base Directory Specification and POSIX, besides those of toolchains.
const OF_FOLDERS: [&str; 14] = [
    "HOME",
    "OLDPWD",
    "PATH",
    "PWD",
    "TEMP",
    "TMP",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// What is needed to read them, apart from the configuration, so that it can be done later.
#[derive(Debug, Clone)]
pub(crate) struct SecretSources {
    home: PathBuf,
    /// Further files, with the variables that name them.
    named: Vec<(PathBuf, CredentialShape, &'static str)>,
    keys: Vec<KnownValue>,
}

impl Config {
    /// Returns the keys that are known already, and where further secrets are read from.
    pub(crate) fn secret_sources(&self) -> SecretSources {
        let mut keys = Vec::new();
        // First, because the first name of a value counts.
        for (name, value) in self.environment.all() {
            let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
            if is_secret(name, value.trim()) && !is_place(name, value) {
                keys.push(KnownValue::new(value.trim(), name, "the environment"));
            }
        }
        for endpoint in self.providers.values() {
            let (Credential::Key(key) | Credential::BearerToken(key)) = match endpoint.credential()
            {
                Some(credential) => credential,
                None => continue,
            };
            let name = format!("the key of {}", endpoint.name);
            keys.push(KnownValue::new(key.expose(), &name, &endpoint.source));
        }
        // Servers that want no key are often given a word, such as `ollama`.
        keys.retain(|known| is_secret("password", known.secret().expose()));
        let named = named(|name| self.environment.text(name));
        SecretSources { home: self.folders.home.clone(), named, keys }
    }
}

/// Whether a variable's value is no secret, however its name looks (a temporary home): a path that is there, or
/// one or several in a variable that names folders, which may be made later.
fn is_place(name: &str, value: &str) -> bool {
    let value = value.trim();
    let is_absolute = |path: &str| path.starts_with('/');
    let names_folders = OF_FOLDERS.contains(&name) || toolchain_folders::is_named_by(name);
    let is_of_paths = || value.split(':').all(|path| path.is_empty() || is_absolute(path));
    is_absolute(value) && (Path::new(value).exists() || names_folders && is_of_paths())
}

impl SecretSources {
    /// Reads the files of credentials, a few microseconds for each that is there. In those that lie in
    /// one of `roots` a model may have written.
    pub(crate) fn read(self, roots: &[PathBuf]) -> Vec<KnownValue> {
        let mut values = self.keys;
        let mut take = |path: &Path, found: Vec<KnownValue>| match is_within(path, roots) {
            true => values.extend(found.into_iter().map(KnownValue::of_workspace)),
            false => values.extend(found),
        };
        let of_home = FILES.map(|(name, shape)| (self.home.join(name), shape, format!("~/{name}")));
        let named = self.named.into_iter().map(|(path, shape, variable)| {
            let file = path.file_name().unwrap_or_default().display().to_string();
            (path, shape, format!("{file} of {variable}"))
        });
        for (path, shape, source) in of_home.into_iter().chain(named) {
            // One that is too long is not what the name says.
            if let Ok(bytes) = private_file::read(&path, FILE_BYTES_MAX) {
                take(&path, credential_values(&decoded(&bytes), shape, &source));
            }
        }
        for (path, _) in toolchain_settings::in_home(&self.home) {
            if let Ok(bytes) = private_file::read(&path, FILE_BYTES_MAX) {
                let name = path.strip_prefix(&self.home).unwrap_or(&path);
                let source = format!("~/{}", name.display());
                take(&path, toolchain_settings::values(&decoded(&bytes), &source));
            }
        }
        values
    }
}

/// Whether a file, or a link to it, lies in one of `roots`.
fn is_within(path: &Path, roots: &[PathBuf]) -> bool {
    let name = path.file_name().unwrap_or_default();
    let link = path.parent().and_then(|folder| Some(folder.canonicalize().ok()?.join(name)));
    let places = [link, path.canonicalize().ok()];
    places.iter().flatten().any(|place| roots.iter().any(|root| place.starts_with(root)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests make the files that are read")]
    fn a_file_is_read_in_the_encoding_of_its_byte_order_mark() {
        let text = "\u{feff}machine a login b password p4ss-w0rd\r\n";
        let utf16 = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect();
        let plain = text.as_bytes();
        for bytes in [plain.to_vec(), utf16(u16::to_le_bytes), utf16(u16::to_be_bytes)] {
            let home = tempfile::tempdir().unwrap();
            std::fs::write(home.path().join(".netrc"), bytes).unwrap();
            let home = home.path().to_path_buf();
            let sources = SecretSources { home, named: Vec::new(), keys: Vec::new() };
            let values = sources.read(&[]);
            let secrets: Vec<_> = values.iter().map(|known| known.secret().expose()).collect();
            assert_eq!(secrets, ["p4ss-w0rd"]);
        }
    }

    #[test]
    fn a_variable_of_folders_holds_no_secret_where_its_value_is_paths() {
        let here = tempfile::Builder::new().prefix("k7x2m9q4").tempdir().unwrap();
        let here = here.path().to_str().unwrap();
        for (name, value, expected) in [
            ("STATE", here, true),
            ("STATE", &format!(" {here}\n"), true),
            ("STATE", &format!("{here}/none"), false),
            ("XDG_STATE_HOME", &format!("{here}/none"), true),
            ("CARGO_HOME", "/none/k7x2m9q4", true),
            ("PATH", "/none/k7x2m9q4/bin:/usr/bin:", true),
            ("PATH", "k7x2m9q4n5/bin:/usr/bin", false),
            ("XDG_STATE_HOME", "k7x2m9q4n5p8", false),
            ("MY_PATH", "/none/k7x2m9q4/bin:/usr/bin", false),
            ("AWS_SECRET_ACCESS_KEY", "/K7x2m9q4n5p8R3t6", false),
            ("AWS_SECRET_ACCESS_KEY", "/usr:/K7x2m9q4n5p8R3t6", false),
        ] {
            assert_eq!(is_place(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests make the files that are read")]
    fn a_file_in_a_workspace_or_that_a_link_leads_to_there_is_a_models_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (home, root) = (folder.join("home"), folder.join("root"));
        for folder in [&home, &root] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(home.join(".vault-token"), "vault-0123456789").unwrap();
        std::fs::write(root.join("npmrc"), "_authToken=npm-0123456789").unwrap();
        std::os::unix::fs::symlink(root.join("npmrc"), home.join(".npmrc")).unwrap();
        let of_workspace = |root: PathBuf| -> Vec<bool> {
            let sources = SecretSources { home: home.clone(), named: Vec::new(), keys: Vec::new() };
            sources.read(&[root]).iter().map(KnownValue::is_of_workspace).collect()
        };
        assert_eq!(of_workspace(root), [true, false]);
        assert_eq!(of_workspace(folder.join("other")), [false, false]);
        assert_eq!(of_workspace(home.clone()), [true, true]);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests make the files that are read")]
    fn files_of_credentials_are_read_and_what_is_missing_is_left_out() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(".cargo")).unwrap();
        std::fs::write(home.path().join(".netrc"), "machine a login b password p4ss-w0rd\n")
            .unwrap();
        std::fs::write(home.path().join(".cargo/credentials.toml"), "token = 'cio-a1b2c3'")
            .unwrap();
        let python = home.path().join(".pyenv/versions/3");
        std::fs::create_dir_all(&python).unwrap();
        std::fs::write(python.join("pip.conf"), "index-url = https://a:p1p-w0rd@b.example/")
            .unwrap();
        let kube = home.path().join("kube.yaml");
        std::fs::write(
            &kube,
            "token: kube-a1b2c3d4e5f6
",
        )
        .unwrap();
        let keys = vec![KnownValue::new("sk-0123456789", "KEY", "the environment")];
        let named = vec![(kube, Pairs, "KUBECONFIG")];
        let sources = SecretSources { home: home.path().to_path_buf(), named, keys };
        let labels: Vec<String> =
            sources.read(&[]).iter().map(|known| known.label().to_owned()).collect();
        let expected = [
            "[masked: value of KEY from the environment]",
            "[masked: value of a password from ~/.netrc]",
            "[masked: value of token from ~/.cargo/credentials.toml]",
            "[masked: value of token from kube.yaml of KUBECONFIG]",
            "[masked: value of index-url from ~/.pyenv/versions/3/pip.conf]",
        ];
        assert_eq!(labels, expected);
    }
}

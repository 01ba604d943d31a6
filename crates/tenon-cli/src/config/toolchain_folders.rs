//! Folders that variables of the commands' environment name for what toolchains fetch and keep.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// A variable, and what toolchains write beneath what it names (nothing where it is that itself), each from
/// the documentation of the program that reads it.
const FOLDERS: [(&str, &str); 24] = [
    ("CARGO_HOME", ""),
    ("RUSTUP_HOME", ""),
    ("GOPATH", "pkg"),
    ("GOPATH", "bin"),
    ("GOMODCACHE", ""),
    ("GOCACHE", ""),
    ("GOBIN", ""),
    ("GRADLE_USER_HOME", ""),
    ("npm_config_cache", ""),
    ("NPM_CONFIG_CACHE", ""),
    ("YARN_CACHE_FOLDER", ""),
    ("PNPM_HOME", ""),
    ("NVM_DIR", ""),
    ("BUN_INSTALL", ""),
    ("DENO_DIR", ""),
    ("PIP_CACHE_DIR", ""),
    ("UV_CACHE_DIR", ""),
    ("UV_PYTHON_INSTALL_DIR", ""),
    ("POETRY_CACHE_DIR", ""),
    ("PYENV_ROOT", ""),
    ("RBENV_ROOT", ""),
    ("GEM_HOME", ""),
    ("NUGET_PACKAGES", ""),
    ("XDG_CACHE_HOME", ""),
];

/// The one that may name several, with a colon between.
const LIST: &str = "GOPATH";

/// Returns the folders that variables of `environment` name, absolute ones alone.
pub(super) fn named(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let value = |name: &str| {
        let found = environment.iter().find(|(known, _)| known == name);
        found.map_or(OsStr::new(""), |(_, value)| value)
    };
    let named = FOLDERS.iter().flat_map(|(name, beneath)| {
        let value = value(name);
        let folders = match *name {
            LIST => std::env::split_paths(value).collect(),
            _ => vec![PathBuf::from(value)],
        };
        folders
            .into_iter()
            .map(move |folder| if beneath.is_empty() { folder } else { folder.join(beneath) })
    });
    named.filter(|folder: &PathBuf| Path::is_absolute(folder)).collect()
}

/// Whether a variable names such a folder.
pub(super) fn is_named_by(variable: &str) -> bool {
    FOLDERS.iter().any(|(name, _)| *name == variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_by_variables_of_commands() {
        let check = |name: &str, value: &str, expected: &[&str]| {
            let found = named(&[(name.into(), value.into())]);
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{name}");
        };
        check("CARGO_HOME", "/usr/local/cargo", &["/usr/local/cargo"]);
        check("GOPATH", "/go:/work/go:x", &["/go/pkg", "/work/go/pkg", "/go/bin", "/work/go/bin"]);
        check("GOMODCACHE", "cache", &[]);
        check("GOCACHE", "off", &[]);
        check("CARGO_HOME", "", &[]);
        check("CARGO_TARGET_DIR", "/target", &[]);
        check("HOME", "/home/ada", &[]);
    }
}

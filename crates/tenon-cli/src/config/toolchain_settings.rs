//! Settings within toolchains of the home folder, in which there may be what proves who somebody is.
//!
//! Commands see toolchains whole, so these files are looked for where programs write them: of each toolchain that is
//! there a few names, and one folder's names in between. No toolchain is gone through.

use std::path::{Path, PathBuf};

use tenon_model::{CredentialShape, KnownValue, credential_values};

/// Of a folder of versions, environments or clones so many names are looked at.
const NAMES_MAX: usize = 100;

/// Stands for each name in a folder.
const EACH: &str = "*";

/// How such a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// conda's `.condarc`.
    Conda,
    /// The settings of a clone.
    Git,
    /// npm's for all users of a Node.
    Npm,
    /// pip's for one Python.
    Pip,
    /// What was asked for when something was installed, addresses included.
    Receipt,
}

use Kind::{Conda, Git, Npm, Pip, Receipt};

/// A toolchain, and the files beneath it, each from the documentation or the source of the program that writes it.
const FILES: [(&str, &[(&str, Kind)]); 20] = [
    (
        ".asdf",
        &[
            (".git/config", Git),
            ("installs/nodejs/*/etc/npmrc", Npm),
            ("installs/python/*/pip.conf", Pip),
            ("plugins/*/.git/config", Git),
        ],
    ),
    (".cache/pre-commit", &[("*/.git/config", Git)]),
    (".cache/pypoetry/virtualenvs", &[("*/pip.conf", Pip)]),
    (".conda/envs", &[("*/.condarc", Conda), ("*/pip.conf", Pip)]),
    (".fnm", &[("node-versions/*/installation/etc/npmrc", Npm)]),
    (".jenv", &[(".git/config", Git)]),
    (".local/pipx", PIPX),
    (".local/share/fnm", &[("node-versions/*/installation/etc/npmrc", Npm)]),
    (
        ".local/share/mise",
        &[
            ("installs/node/*/etc/npmrc", Npm),
            ("installs/python/*/pip.conf", Pip),
            ("plugins/*/.git/config", Git),
        ],
    ),
    (".local/share/pipx", PIPX),
    (".local/share/pnpm/nodejs", &[("*/etc/npmrc", Npm)]),
    (
        ".local/share/uv",
        &[
            ("python/*/pip.conf", Pip),
            ("tools/*/pip.conf", Pip),
            ("tools/*/uv-receipt.toml", Receipt),
        ],
    ),
    (".local/share/virtualenvs", &[("*/pip.conf", Pip)]),
    (".nvm", &[(".git/config", Git), ("versions/node/*/etc/npmrc", Npm)]),
    (
        ".pyenv",
        &[
            (".git/config", Git),
            ("plugins/*/.git/config", Git),
            ("versions/*/envs/*/pip.conf", Pip),
            ("versions/*/pip.conf", Pip),
        ],
    ),
    (".rbenv", &[(".git/config", Git), ("plugins/*/.git/config", Git)]),
    (".volta", &[("tools/image/node/*/etc/npmrc", Npm)]),
    ("anaconda3", CONDA),
    ("miniconda3", CONDA),
    ("miniforge3", CONDA),
];

/// That at its top is closed as a whole.
const CONDA: &[(&str, Kind)] =
    &[("envs/*/.condarc", Conda), ("envs/*/pip.conf", Pip), ("pip.conf", Pip)];

const PIPX: &[(&str, Kind)] =
    &[("shared/pip.conf", Pip), ("venvs/*/pip.conf", Pip), ("venvs/*/pipx_metadata.json", Receipt)];

/// Returns those files in the toolchains of `home` that are there.
pub(super) fn in_home(home: &Path) -> Vec<(PathBuf, Kind)> {
    let mut found = Vec::new();
    for (toolchain, files) in FILES {
        let folder = home.join(toolchain);
        if folder.is_dir() {
            for (name, kind) in files {
                let each = each(&folder, name).into_iter().filter(|path| path.is_file());
                found.extend(each.map(|path| (path, *kind)));
            }
        }
    }
    found
}

/// Returns the secrets of such a file, which people know as `place`.
pub(super) fn values(text: &str, place: &str) -> Vec<KnownValue> {
    let mut values = credential_values(text, CredentialShape::Pairs, place);
    // An address may stand by itself, or beside another one.
    let words = text.replace(['"', '\'', ' ', '\t'], "\n");
    for known in credential_values(&words, CredentialShape::Addresses, place) {
        if !values.iter().any(|value| value.secret().expose() == known.secret().expose()) {
            values.push(known);
        }
    }
    values
}

/// Returns the paths of this name in a folder. What is behind a link has a name of its own.
fn each(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Some((above, beneath)) = name.split_once(EACH) else { return vec![folder.join(name)] };
    #[expect(
        clippy::disallowed_methods,
        reason = "folders of toolchains, outside of the workspace"
    )]
    let entries = std::fs::read_dir(folder.join(above));
    let entries = entries.into_iter().flatten().take(NAMES_MAX).flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.flat_map(|entry| each(&entry.path(), beneath.trim_start_matches('/'))).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked for")]
mod tests {
    use super::*;

    #[test]
    fn settings_of_each_version_are_found_and_nothing_else_is() {
        let home = tempfile::tempdir().unwrap();
        let check = |made: &[&str], expected: &[&str]| {
            for name in made {
                let path = home.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "").unwrap();
            }
            let found = in_home(home.path()).into_iter();
            let mut found: Vec<_> = found.map(|(path, _)| path).collect();
            found.sort();
            let expected: Vec<_> = expected.iter().map(|name| home.path().join(name)).collect();
            assert_eq!(found, expected);
        };
        check(&[".npmrc", ".nvm/versions/node/npmrc", "tools/etc/npmrc"], &[]);
        let expected = [
            ".nvm/versions/node/v18/etc/npmrc",
            ".nvm/versions/node/v20/etc/npmrc",
            ".pyenv/.git/config",
            ".pyenv/versions/3.12/envs/x/pip.conf",
            ".pyenv/versions/3.12/pip.conf",
            "miniconda3/pip.conf",
        ];
        check(&expected, &expected);
        std::os::unix::fs::symlink("v20", home.path().join(".nvm/versions/node/lts")).unwrap();
        std::fs::create_dir_all(home.path().join(".volta/tools/image/node/20/etc/npmrc")).unwrap();
        check(&[], &expected);
    }

    #[test]
    fn of_many_clones_the_first_are_looked_at() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..NAMES_MAX + 5 {
            let folder = home.path().join(format!(".cache/pre-commit/repo{number}/.git"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("config"), "").unwrap();
        }
        assert_eq!(in_home(home.path()).len(), NAMES_MAX);
    }

    #[test]
    fn addresses_count_wherever_they_stand() {
        let check = |text: &str, expected: &[&str]| {
            let values = values(text, "x");
            let values: Vec<_> = values.iter().map(|known| known.secret().expose()).collect();
            assert_eq!(values, expected, "{text}");
        };
        check(r#"{"pip_args":["-i","https://a:pipxS3cret9@pypi.example/s"]}"#, &["pipxS3cret9"]);
        check("a =\n  https://one.example\n  https://u:s3cretWord2@two.example/", &["s3cretWord2"]);
        check("//r.example/:_authToken=npm_Q1w2E3r4T5y6U7i8O9p0", &["npm_Q1w2E3r4T5y6U7i8O9p0"]);
        check("[remote \"origin\"]\n\turl = https://github.com/x/y\n", &[]);
    }
}

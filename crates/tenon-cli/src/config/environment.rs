//! The process's environment, read once, and the folders that follow from it.

#![expect(clippy::disallowed_methods, reason = "the only reader of the environment")]

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::MetadataExt,
    },
    path::{Component, Path, PathBuf},
};

use tenon_agent::Places;
use tenon_model::{is_name_of_secret, is_secret};
use tenon_sandbox::{Mounts, Workspace, hide_variables};

use crate::{
    error::CliError,
    render::Theme,
    screen::Look,
    texts::{Language, Text},
};

/// The environment as it was when the program started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<OsString, OsString>,
    folder: PathBuf,
}

/// Where tenon keeps its own things (XDG Base Directory Specification 0.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    /// The user's home folder.
    pub home: PathBuf,
    /// Configuration: written by the user.
    pub config: PathBuf,
    /// Sessions and history.
    pub state: PathBuf,
    /// What can be fetched or made again.
    pub cache: PathBuf,
    /// What is empty for commands where `home` is a copy of the user's home folder: that itself.
    pub covered: Vec<PathBuf>,
}

impl Environment {
    /// Reads it. What the kernel shows of it has no secrets from then on.
    pub(crate) fn read() -> Self {
        let variables: BTreeMap<_, _> = std::env::vars_os().collect();
        let secrets = variables.iter().filter(|(name, value)| {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            is_name_of_secret(&name) || is_secret(&name, value.trim())
        });
        let secrets: Vec<&OsStr> = secrets.map(|(name, _)| name.as_os_str()).collect();
        hide_variables(&secrets);
        // Without a current folder, every path that needs one says so when it is opened.
        let named = variables.get(OsStr::new("PWD")).map(PathBuf::from).filter(|it| is_here(it));
        let folder = named.or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        Self { variables, folder }
    }

    /// Returns the folder in which the program was started, by the way that the user's shell came there.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a variable's text; an empty one counts as not set.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(OsStr::new(name))?.to_str().filter(|text| !text.trim().is_empty())
    }

    /// Returns the path that a variable names, or those of a list with colons between: absolute ones, and those
    /// beneath `home` that begin with `~/` or `$HOME/`, as the programs read them that expand these.
    pub(super) fn paths(&self, name: &str, is_list: bool, home: &Path) -> Vec<PathBuf> {
        let Some(value) = self.variables.get(OsStr::new(name)) else { return Vec::new() };
        let values =
            if is_list { std::env::split_paths(value).collect() } else { vec![value.into()] };
        let paths = values.into_iter().map(|path: PathBuf| {
            let starts = ["~", "$HOME", "${HOME}"];
            let of_home = starts.iter().find_map(|start| path.strip_prefix(start).ok());
            of_home.map_or_else(|| path.clone(), |beneath| home.join(beneath))
        });
        paths.filter(|path| path.is_absolute()).collect()
    }

    /// Returns all variables.
    pub(crate) fn all(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.variables.iter().map(|(name, value)| (name.clone(), value.clone()))
    }

    /// Returns a variable under its name in small letters, or else in capitals.
    pub(super) fn in_either_case(&self, name: &str) -> Option<&str> {
        self.text(&name.to_ascii_lowercase()).or_else(|| self.text(name))
    }

    /// Returns the folders of tenon.
    pub(crate) fn folders(&self) -> Result<Folders, CliError> {
        let absolute =
            |path: &OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
        let variable = |name: &str| self.variables.get(OsStr::new(name)).and_then(absolute);
        let home = variable("HOME")
            .or_else(std::env::home_dir)
            .ok_or_else(|| CliError::config(Text::NoHome).with_hint(Text::HintNoHome))?;
        let own = |name: &str, otherwise: &str| {
            variable(name).unwrap_or_else(|| home.join(otherwise)).join("tenon")
        };
        Ok(Folders {
            config: own("XDG_CONFIG_HOME", ".config"),
            state: own("XDG_STATE_HOME", ".local/state"),
            cache: own("XDG_CACHE_HOME", ".cache"),
            home,
            covered: Vec::new(),
        })
    }

    /// Returns the same with `copy` as home, which is called `name`: what leads into `home` by one of these names leads into that.
    pub(super) fn in_copy_of_home(&self, home: &[PathBuf], copy: &Path, name: &Path) -> Self {
        let mut variables = self.variables.clone();
        for value in variables.values_mut() {
            let paths = value.as_bytes().split(|byte| *byte == b':');
            let paths = paths.map(|path| {
                in_copy(home, copy, Path::new(OsStr::from_bytes(path))).into_os_string().into_vec()
            });
            *value = OsString::from_vec(paths.collect::<Vec<_>>().join(&b':'));
        }
        variables.insert("HOME".into(), name.into());
        Self { variables, folder: self.folder.clone() }
    }

    /// Returns the language of the interface.
    pub(crate) fn language(&self) -> Language {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| self.text(name));
        Language::from_locale(locale.unwrap_or_default())
    }

    /// Returns how the user wants the screen to look.
    pub(super) fn look(&self) -> Look {
        Look {
            // https://no-color.org: any value but an empty one.
            colour: self.text("NO_COLOR").is_none(),
            still: false,
            plain: self.text("TERM").is_none_or(|kind| kind == "dumb"),
            columns: self.text("COLUMNS").and_then(|columns| columns.parse().ok()),
            language: self.language(),
            theme: Theme::Terminal,
        }
    }
}

/// Whether a path is one of the folder in which the program runs. A shell that is in it says by which links.
fn is_here(path: &Path) -> bool {
    let is_plain = path.components().all(|part| !matches!(part, Component::ParentDir));
    path.is_absolute() && is_plain && is_same_folder(path, Path::new("."))
}

/// Whether both are there, and are the same.
fn is_same_folder(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    identity(one).is_some_and(|found| identity(other) == Some(found))
}

/// Returns where `path` is in the copy of a home that has these names, if it is in that home.
fn in_copy(home: &[PathBuf], copy: &Path, path: &Path) -> PathBuf {
    match home.iter().find_map(|home| path.strip_prefix(home).ok()) {
        // An empty rest would put a slash behind it.
        Some(rest) if rest.as_os_str().is_empty() => copy.to_path_buf(),
        Some(rest) => copy.join(rest),
        None => path.to_path_buf(),
    }
}

impl Folders {
    /// Returns the names of the user's home folder: as it was named, and where that leads.
    pub(super) fn names_of_home(&self) -> Vec<PathBuf> {
        self.home.canonicalize().into_iter().chain([self.home.clone()]).collect()
    }

    /// Returns a folder, or the home by its name where another path was named at which it is mounted, too: what holds
    /// for the home is known by its names.
    pub(crate) fn named_as_home(&self, folder: PathBuf) -> PathBuf {
        // Most name another folder, and need no list of mounts.
        if !is_same_folder(&self.home, &folder) {
            return folder;
        }
        let Ok(end) = folder.canonicalize() else { return folder };
        match Mounts::of_this_process().elsewhere([self.home.as_path()]).contains(&end) {
            true => self.home.canonicalize().unwrap_or(folder),
            false => folder,
        }
    }

    /// Returns the same with `copy` as home, and what is in the home itself in that.
    pub(super) fn in_copy_of_home(&self, copy: &Path) -> Self {
        let home = self.names_of_home();
        let here = |path: &Path| in_copy(&home, copy, path);
        Self {
            home: copy.to_path_buf(),
            config: here(&self.config),
            state: here(&self.state),
            cache: here(&self.cache),
            covered: vec![self.home.clone()],
        }
    }

    /// Returns the places that rules speak of in a workspace, without links on the way: rules are compared with
    /// where paths lead.
    pub(crate) fn places_for_rules(&self, workspace: &Workspace) -> Places {
        let home = self.home.canonicalize().unwrap_or_else(|_| self.home.clone());
        Places { home: home.display().to_string(), ..Places::of(workspace, &self.home) }
    }

    /// Returns where sessions are logged.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.state.join("sessions")
    }

    /// Returns where the long results of a session are kept whole.
    pub(crate) fn spill(&self, session_id: &str) -> PathBuf {
        self.all_results().join(session_id)
    }

    /// Returns the folder that has a folder of long results for each session.
    pub(crate) fn all_results(&self) -> PathBuf {
        self.state.join("results")
    }

    /// Returns the file that keeps what was typed at the prompt.
    pub(crate) fn history(&self) -> PathBuf {
        self.state.join("history")
    }

    /// Returns where model files are kept.
    pub(crate) fn models(&self) -> PathBuf {
        self.cache.join("models")
    }

    /// Returns the user's configuration file.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }
}

#[cfg(test)]
impl Environment {
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { variables, folder: PathBuf::from("/") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_follow_the_xdg_variables_if_they_are_absolute() {
        let folders = Environment::of(&[
            ("HOME", "/home/user"),
            ("XDG_STATE_HOME", "/state"),
            ("XDG_CACHE_HOME", "relative"),
        ])
        .folders()
        .unwrap();
        assert_eq!(folders.config_file(), Path::new("/home/user/.config/tenon/config.toml"));
        assert_eq!(folders.sessions(), Path::new("/state/tenon/sessions"));
        assert_eq!(folders.models(), Path::new("/home/user/.cache/tenon/models"));
    }

    #[test]
    fn a_path_of_a_variable_is_absolute_or_beneath_the_home() {
        let check = |value: &str, is_list: bool, expected: &[&str]| {
            let environment = Environment::of(&[("ENV", value)]);
            let found = environment.paths("ENV", is_list, Path::new("/home/ada"));
            let expected: Vec<_> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(found, expected, "{value}");
        };
        check("/etc/rc", false, &["/etc/rc"]);
        check("~/rc", false, &["/home/ada/rc"]);
        check("$HOME/dots/rc", false, &["/home/ada/dots/rc"]);
        check("${HOME}/rc", false, &["/home/ada/rc"]);
        check("/a:b/rc", false, &["/a:b/rc"]);
        check("/a:b:~/rc", true, &["/a", "/home/ada/rc"]);
        for value in ["", "production", "./rc", "~bob/rc", "$HOMES/rc", "x$HOME/rc"] {
            check(value, false, &[]);
        }
    }

    #[test]
    fn what_leads_into_the_home_leads_into_its_copy() {
        let environment = Environment::of(&[
            ("HOME", "/home/user"),
            ("PATH", "/usr/bin:/home/user/.cargo/bin:/home/user2/bin"),
            ("GOPATH", "/home/user"),
            ("XDG_STATE_HOME", "/state"),
        ]);
        let folders = environment.folders().unwrap();
        let copy = Path::new("/copies/user");
        let there = environment.in_copy_of_home(&folders.names_of_home(), copy, copy);
        assert_eq!(there.text("HOME"), Some("/copies/user"));
        assert_eq!(there.text("GOPATH"), Some("/copies/user"));
        let path = "/usr/bin:/copies/user/.cargo/bin:/home/user2/bin";
        assert_eq!(there.text("PATH"), Some(path));
        let expected = Folders { covered: vec!["/home/user".into()], ..there.folders().unwrap() };
        assert_eq!(folders.in_copy_of_home(copy), expected);
    }

    #[test]
    fn the_look_follows_its_variables() {
        let look = |variables: &[(&str, &str)]| Environment::of(variables).look();
        let plain = look(&[("TERM", "xterm"), ("NO_COLOR", ""), ("COLUMNS", "wide")]);
        let expected = Look { colour: true, ..Look::default() };
        assert_eq!(plain, expected);
        let set = look(&[("NO_COLOR", "1"), ("COLUMNS", "40"), ("LANG", "zh_CN.UTF-8")]);
        let expected =
            Look { plain: true, columns: Some(40), language: Language::Chinese, ..Look::default() };
        assert_eq!(set, expected);
        let first = look(&[("LC_ALL", "C"), ("LANG", "zh_CN.UTF-8")]);
        assert_eq!(first.language, Language::English);
    }
}

//! Folders that rules speak of, and where a word of a command line points.
//!
//! Paths are compared as text, by components, after `.`, `..` and doubled slashes are gone.
//! Links are not followed but for those by which the user came: this finds the plain mistake, the kernel stops
//! the clever one.

use std::path::{Path, PathBuf};

use tenon_model::visible;
use tenon_sandbox::{Workspace, links_to};

use super::shell::{Piece, Word};

/// Folders whose entries anybody may remove; the folders themselves stay.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp"];

/// What stands in a path for a folder of which it is only known where it is.
pub(super) const SOME_FOLDER: &str = "/…";

/// Folders without which the machine or the account does not work, whatever the workspace is.
const SYSTEM: &[&str] = &[
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/sbin",
    "/usr/share",
    "/var",
    "/var/lib",
    "/Users",
    "/System",
    "/Library",
];

/// Where the session is: plain absolute paths.
///
/// A rule may speak of the home folder, which the agent learns here:
///
/// ```
/// use tenon_agent::{Action, Mode, Origin, Places, Rule, Rules, Verdict, decide};
///
/// let places = Places {
///     roots: vec!["/work".into()],
///     home: "/home/ada".into(),
///     cwd: "/work".into(),
///     ..Places::default()
/// };
/// let rule = Rule::parse("write_file(~/notes/**)", Verdict::Deny, Origin::Config)?;
/// let rules: Rules = [rule].into_iter().collect();
/// let action = Action::Write { path: "/home/ada/notes/today.md".into(), written: None, protected: false };
/// let decision = decide("write_file", &action, &rules, Mode::Auto, &places);
/// assert_eq!(decision.verdict, Verdict::Deny);
/// # Ok::<(), tenon_agent::RuleError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The folders of the workspace; the first is the main one.
    pub roots: Vec<String>,
    /// The home folder of the user.
    pub home: String,
    /// The folder that commands start in.
    pub cwd: String,
    /// The symbolic links on the ways by which the user came to the roots and to the home folder, as far as
    /// commands cannot change them in a root, each with where it leads in the end.
    pub ways: Vec<(String, String)>,
}

/// Where a path may point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Exactly there.
    Exact(String),
    /// Entries of a folder: all of them (`*`), or some that are not known.
    Beneath { folder: String, all: bool },
    /// Anywhere.
    Unknown,
}

/// How removing a whole tree there would be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    /// Within the workspace, or beneath a temporary folder.
    Free,
    /// The workspace itself, or all that is in it.
    Root,
    /// All that is in a temporary folder.
    AllTemporary,
    /// The machine or the account would stop working.
    System,
    /// Elsewhere.
    Outside,
    /// Not known before it runs.
    Unknown,
}

impl Places {
    /// Returns the places of a session in a workspace, whose user's home folder has this absolute path.
    ///
    /// ```
    /// use tenon_agent::Places;
    /// use tenon_sandbox::Workspace;
    ///
    /// let workspace = Workspace::open("/usr".as_ref())?;
    /// let places = Places::of(&workspace, "/home/ada".as_ref());
    /// assert_eq!((places.cwd.as_str(), places.home.as_str()), ("/usr", "/home/ada"));
    /// # Ok::<(), tenon_sandbox::FileError>(())
    /// ```
    #[must_use]
    pub fn of(workspace: &Workspace, home: &Path) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let roots: Vec<String> = workspace.roots().iter().map(|root| text(root)).collect();
        let named = workspace.ways().into_iter().chain([home.to_owned()]);
        let links = named.flat_map(|path| links_to(&path));
        let ways = links.filter_map(|(link, end)| {
            let is_in_root = roots.iter().any(|root| link.starts_with(root));
            Some((link.to_str()?.to_owned(), end.to_str()?.to_owned())).filter(|_| !is_in_root)
        });
        let mut ways: Vec<_> = ways.collect();
        ways.sort();
        ways.dedup();
        let places = Self { ways, cwd: text(workspace.root()), roots, home: String::new() };
        Self { home: places.led(&text(home)), ..places }
    }

    /// Returns the same without the links that lead elsewhere by now.
    pub(crate) fn at_present(&self) -> Self {
        let mut places = self.clone();
        places.ways.retain(|(link, end)| {
            let is_same = |(now, leads): &(PathBuf, PathBuf)| {
                now == Path::new(link) && leads == Path::new(end)
            };
            links_to(Path::new(link)).first().is_some_and(is_same)
        });
        places
    }

    /// Returns where an absolute path leads by the user's links on its way, clean.
    pub(crate) fn led(&self, path: &str) -> String {
        if self.ways.is_empty() {
            return clean(path);
        }
        let mut at = String::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => at.truncate(at.rfind('/').unwrap_or_default()),
                part => {
                    at.push('/');
                    at.push_str(part);
                    if let Some((_, end)) = self.ways.iter().find(|(link, _)| *link == at) {
                        at.clone_from(end);
                    }
                }
            }
        }
        if at.is_empty() { "/".to_owned() } else { at }
    }

    /// Returns where a word points as a path, for a command after these changes of folder. By the user's links it
    /// leads to where they lead; `cd` itself goes back as it came.
    pub(crate) fn target(&self, word: &Word, folder: Option<&[Word]>) -> Target {
        let mut path = Some(clean(&self.cwd));
        match folder {
            Some(steps) => {
                for step in steps {
                    path = match self.step(step, path.as_deref()) {
                        Target::Exact(path) => Some(path),
                        // One of several folders; where it is does not matter beneath a known one.
                        Target::Beneath { folder, .. } => Some(format!("{folder}{SOME_FOLDER}")),
                        Target::Unknown => None,
                    };
                }
            }
            None => path = None,
        }
        let path = path.map(|path| self.led(&path));
        self.pointed(word, path.as_deref(), &|path| self.led(path))
    }

    fn step(&self, word: &Word, from: Option<&str>) -> Target {
        self.pointed(word, from, &clean)
    }

    fn pointed(&self, word: &Word, from: Option<&str>, led: &dyn Fn(&str) -> String) -> Target {
        let mut text = match word.pieces.first() {
            Some(Piece::Home(_) | Piece::Folder | Piece::Begin) => String::new(),
            Some(Piece::Text(text)) if text.starts_with('/') => String::new(),
            Some(Piece::Unknown(_)) => return Target::Unknown,
            _ => match from {
                Some(from) => format!("{from}/"),
                None => return Target::Unknown,
            },
        };
        let mut pieces = word.pieces.iter();
        for piece in pieces.by_ref() {
            match piece {
                Piece::Text(more) => text.push_str(more),
                Piece::Home(user) if user.is_empty() => text.push_str(&self.home),
                Piece::Home(user) if user == "root" => text.push_str("/root"),
                Piece::Home(user) => text.push_str(&format!("/home/{user}")),
                Piece::Begin => text.push_str(&clean(&self.cwd)),
                Piece::Folder => match from {
                    Some(from) => text.push_str(from),
                    None => return Target::Unknown,
                },
                Piece::Glob(_) | Piece::Unknown(_) | Piece::Brace(_) | Piece::Break => {
                    let rest: Vec<_> = std::iter::once(piece).chain(pieces).collect();
                    return beneath(&text, &rest, led);
                }
            }
        }
        Target::Exact(led(&text))
    }

    /// Says how removing a tree there is to be judged.
    pub(crate) fn zone(&self, target: &Target) -> Zone {
        match target {
            Target::Unknown => Zone::Unknown,
            Target::Exact(path) => self.zone_of_path(path),
            Target::Beneath { folder, all } => self.zone_of_entries(folder, *all),
        }
    }

    fn zone_of_path(&self, path: &str) -> Zone {
        let covers_home = !self.home.is_empty() && is_within(&clean(&self.home), path);
        let covers_root = self.roots.iter().any(|root| is_within(&clean(root), path));
        if SYSTEM.contains(&path) || covers_home {
            Zone::System
        } else if self.is_inside(path) {
            if covers_root { Zone::Root } else { Zone::Free }
        } else if !covers_root && TEMPORARY.iter().any(|folder| is_beneath(path, folder)) {
            Zone::Free
        } else {
            Zone::Outside
        }
    }

    fn zone_of_entries(&self, folder: &str, all: bool) -> Zone {
        let is_root = self.roots.iter().any(|root| clean(root) == folder);
        let covers_root = self.roots.iter().any(|root| is_within(&clean(root), folder));
        if is_root && !all && folder != "/" {
            Zone::Free
        } else if SYSTEM.contains(&folder) || folder == clean(&self.home) {
            Zone::System
        } else if is_root {
            Zone::Root
        } else if self.is_inside(folder) {
            Zone::Free
        } else if TEMPORARY.contains(&folder) {
            if all { Zone::AllTemporary } else { Zone::Free }
        } else if TEMPORARY.iter().any(|temporary| is_beneath(folder, temporary)) {
            if all && covers_root { Zone::Outside } else { Zone::Free }
        } else {
            Zone::Outside
        }
    }

    /// Says whether a target surely lies in the workspace or beneath a temporary folder.
    pub(crate) fn holds(&self, target: &Target) -> bool {
        match target {
            Target::Exact(path) | Target::Beneath { folder: path, .. } => {
                self.is_inside(path) || TEMPORARY.iter().any(|folder| is_within(path, folder))
            }
            Target::Unknown => false,
        }
    }

    /// Says whether a clean path is a root of the workspace or beneath one.
    pub(crate) fn is_inside(&self, path: &str) -> bool {
        self.roots.iter().any(|root| is_within(path, &clean(root)))
    }

    /// Returns a path of a file tool as a clean absolute one.
    pub(crate) fn absolute(&self, path: &str) -> String {
        if path.starts_with('/') {
            self.led(path)
        } else {
            self.led(&format!("{}/{path}", self.cwd))
        }
    }
}

/// Judges `text` followed by something that is not known: entries of the last whole folder.
fn beneath(text: &str, rest: &[&Piece], led: &dyn Fn(&str) -> String) -> Target {
    let mut after = String::new();
    let mut wild = true;
    for piece in rest {
        match piece {
            Piece::Text(more) => after.push_str(more),
            Piece::Glob(more) => after.push_str(more),
            _ => {
                wild = false;
                after.push('…');
            }
        }
    }
    if after.split('/').any(|part| part == "..") {
        return Target::Unknown;
    }
    let (folder, name) = text.rsplit_once('/').unwrap_or(("", text));
    let first = after.split('/').next().unwrap_or_default();
    let pattern = format!("{name}{first}");
    // `*`, `.*`, `.[!.]*` and `**` name everything; `*.o` does not.
    let all = wild
        && pattern.contains('*')
        && pattern.chars().all(|c| matches!(c, '*' | '.' | '?' | '[' | ']' | '!' | '^'))
        && after.split('/').skip(1).all(|part| part.chars().all(|c| c == '*'));
    Target::Beneath { folder: led(&format!("{folder}/")), all }
}

/// Says whether people see the text as it is.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.contains(['\n', '\t', '\r']) && visible(text) == text
}

/// Returns a path for people, in one line.
pub(crate) fn in_one_line(path: &str) -> String {
    visible(path).replace('\n', "␊")
}

/// Takes `.`, `..` and doubled slashes out of an absolute path.
pub(crate) fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Says whether a clean path is this folder or lies beneath it.
pub(crate) fn is_within(path: &str, folder: &str) -> bool {
    path == folder || is_beneath(path, folder)
}

fn is_beneath(path: &str, folder: &str) -> bool {
    path.len() > 1
        && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/') || folder == "/")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the links of a user")]
mod tests {
    use std::os::unix::fs::symlink;

    use tenon_sandbox::Workspace;

    use super::{Places, Target, Zone, clean, is_within};

    #[test]
    fn a_workspace_in_an_unusual_place_stays_usable() {
        let zone = |root: &str, path: &str| {
            let (folder, name) = path.rsplit_once('/').unwrap_or_default();
            let places = Places {
                roots: vec![root.to_owned()],
                home: "/root".into(),
                cwd: root.to_owned(),
                ..Places::default()
            };
            places.zone(&match name {
                "*" => Target::Beneath { folder: clean(folder), all: true },
                "*.o" => Target::Beneath { folder: clean(folder), all: false },
                _ => Target::Exact(path.to_owned()),
            })
        };
        for (root, path, want) in [
            ("/root", "/root/build", Zone::Free),
            ("/root", "/root/*.o", Zone::Free),
            ("/root", "/root/*", Zone::System),
            ("/root", "/root", Zone::System),
            ("/", "/app/build", Zone::Free),
            ("/", "/*.o", Zone::System),
            ("/", "/usr", Zone::System),
            ("/tmp/work", "/tmp/work", Zone::Root),
            ("/tmp/work", "/tmp/other", Zone::Free),
            ("/tmp/a/work", "/tmp/a", Zone::Outside),
            ("/tmp/a/work", "/tmp/a/*", Zone::Outside),
            ("/tmp/work", "/tmp/*", Zone::AllTemporary),
        ] {
            assert_eq!(zone(root, path), want, "{root} {path}");
        }
    }

    #[test]
    fn paths_are_compared_by_components() {
        assert_eq!(clean("/a/./b//../c/"), "/a/c");
        assert_eq!(clean("/../.."), "/");
        assert!(is_within("/a/b", "/a"));
        assert!(is_within("/a", "/a"));
        assert!(is_within("/a", "/"));
        assert!(!is_within("/ab", "/a"));
    }

    #[test]
    fn links_that_were_exchanged_are_no_ways() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for name in ["disk/work", "home/notes"] {
            std::fs::create_dir_all(top.join(name)).unwrap();
        }
        let link = |target: &str, name: &str| symlink(target, top.join(name)).unwrap();
        link("home", "u");
        link("../disk/by", "home/proj");
        link("work", "disk/by");
        let workspace = Workspace::open(&top.join("u/proj")).unwrap();
        let places = Places::of(&workspace, &top.join("u"));
        let text = |name: &str| top.join(name).display().to_string();
        assert_eq!(places.home, text("home"));
        let pair = |(link, end): (&str, &str)| (text(link), text(end));
        let all = [("disk/by", "disk/work"), ("home/proj", "disk/work"), ("u", "home")];
        assert_eq!(places.ways, all.map(pair));
        assert_eq!(places.at_present(), places);
        assert_eq!(places.led(&text("u/proj/../x")), text("disk/x"));
        std::fs::remove_file(top.join("home/proj")).unwrap();
        link("notes", "home/proj");
        let left = [("disk/by", "disk/work"), ("u", "home")];
        assert_eq!(places.at_present().ways, left.map(pair));
    }
}

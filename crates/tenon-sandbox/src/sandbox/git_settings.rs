//! What commands get of the user's settings for git: who commits, what is ignored, how files are filtered, how things
//! look. Files that they include come in their place, for the files themselves are out of sight.
//!
//! Left out are other programs than filters, secrets, and signatures, whose keys no command sees. No other file is followed from
//! what lies in a folder of the session or is come to through one: a command may write it, and could name a
//! file that it does not see.

#![expect(
    clippy::disallowed_methods,
    reason = "the user's own files, of which a command gets a part"
)]

use std::path::{Component, Path, PathBuf};

use crate::git_config;
use crate::links::resolved;

/// As deep as git itself follows includes.
const DEPTH_MAX: usize = 10;

/// A longer file is no file of settings.
const BYTES_MAX: u64 = 1 << 20;

/// Beneath HOME, in the order in which git reads them.
const FILES: [&str; 2] = [".config/git/config", ".gitconfig"];

/// The settings that name what is ignored, and which attributes files have, everywhere, and where git looks for that
/// beneath HOME without them.
const EVERYWHERE: [(&str, &str); 2] =
    [("excludesFile", ".config/git/ignore"), ("attributesFile", ".config/git/attributes")];

/// Returns files beneath `home` as commands see them, by their names in it.
pub(super) fn git_settings(home: &Path, roots: &[PathBuf]) -> Vec<(&'static str, Vec<u8>)> {
    let outside = |name: &&str| is_outside(&home.join(name), roots);
    let reading = Reading { home, roots, follows: FILES.iter().all(outside) };
    let of_files = FILES.iter().filter_map(|name| reading.shared(&home.join(name), DEPTH_MAX));
    let mut config: String = of_files.collect();
    config.push_str(&git_config::required_filters(&config));
    let mut shown = Vec::new();
    for (setting, name) in EVERYWHERE {
        let path = match git_config::last(&config, "core", &setting.to_lowercase()) {
            Some(named) => reading.named(home, &named),
            None => Some(home.join(name)),
        };
        let path = path.filter(|path| reading.may_follow(path));
        if let Some(text) = path.and_then(|path| read(&path)) {
            config.push_str(&format!("[core]\n\t{setting} = ~/{name}\n"));
            shown.push((name, text.into_bytes()));
        }
    }
    if !config.is_empty() {
        shown.push((".gitconfig", config.into_bytes()));
    }
    shown
}

struct Reading<'a> {
    home: &'a Path,
    roots: &'a [PathBuf],
    /// Whether no command can write what the settings begin with.
    follows: bool,
}

impl Reading<'_> {
    /// Returns what commands get of a file, with what it includes.
    fn shared(&self, path: &Path, deeper: usize) -> Option<String> {
        let text = read(path)?;
        let folder = path.parent()?;
        git_config::shared(&text, &mut |condition, included| {
            let holds = condition.is_none_or(|condition| self.holds(condition));
            let included = self.named(folder, included).filter(|_| holds && deeper > 0);
            let included = included.filter(|path| self.may_follow(path));
            included.and_then(|path| self.shared(&path, deeper - 1)).unwrap_or_default()
        })
    }

    fn may_follow(&self, path: &Path) -> bool {
        self.follows && is_outside(path, self.roots)
    }

    /// Returns the path that a setting names in a file in `folder`.
    fn named(&self, folder: &Path, setting: &str) -> Option<PathBuf> {
        match setting.strip_prefix('~') {
            Some(rest) => rest.strip_prefix('/').map(|rest| self.home.join(rest)),
            None => Some(folder.join(setting)),
        }
    }

    /// Whether a condition of `includeIf` holds: of those on the repository's folder those that name a
    /// folder above it, which is how they are used. Others hold not.
    fn holds(&self, condition: &str) -> bool {
        let above = condition.strip_prefix("gitdir:").or(condition.strip_prefix("gitdir/i:"));
        let Some(above) = above.map(|above| above.trim_end_matches("**")) else { return false };
        let Some(folder) = self.named(Path::new("/"), above) else { return false };
        let repositories = self.roots.iter().map(|root| root.join(".git"));
        let is_whole = above.ends_with('/');
        let is_one =
            |path: PathBuf| if is_whole { path.starts_with(&folder) } else { path == folder };
        above.starts_with(['/', '~']) && repositories.into_iter().any(is_one)
    }
}

/// Whether neither a path nor a link on its way lies in a folder of the session.
fn is_outside(path: &Path, roots: &[PathBuf]) -> bool {
    let is_plain = !path.components().any(|part| part == Component::ParentDir);
    let way = resolved(path).filter(|_| is_plain).map(|(place, mut links)| {
        links.push(place);
        links
    });
    way.is_some_and(|way| !way.iter().any(|path| roots.iter().any(|root| path.starts_with(root))))
}

fn read(path: &Path) -> Option<String> {
    let found = std::fs::metadata(path).ok()?;
    let is_short = found.is_file() && found.len() <= BYTES_MAX;
    is_short.then(|| std::fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[(&str, &str)]) {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        for (name, text) in files {
            let path = top.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.replace("TOP", top.to_str().unwrap())).unwrap();
        }
        let shown = git_settings(&top.join("home"), &[top.join("home/work/a")]);
        let shown: Vec<(&str, &str)> = shown
            .iter()
            .map(|(name, bytes)| (*name, std::str::from_utf8(bytes).unwrap()))
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn settings_come_from_where_git_reads_them() {
        let xdg = ("home/.config/git/config", "[user]\n\tname = n\n\temail = x\n");
        let own = ("home/.gitconfig", "[user]\n\temail = e\n");
        let both = "[user]\n\tname = n\n[user]\n\temail = x\n[user]\n\temail = e\n";
        check(&[xdg, own], &[(".gitconfig", both)]);
        check(&[], &[]);
        check(&[("home/.gitconfig", "[commit]\n\tgpgSign = true\n[gpg]\n\tformat = ssh\n")], &[]);
    }

    #[test]
    fn included_files_stand_in_their_place() {
        let config = "[include]\n\tpath = .gitconfig.local\n[includeIf \"gitdir:~/work/\"]\n\
                      \tpath = ~/at-work\n[includeIf \"gitdir:~/play/\"]\n\tpath = ~/at-play\n\
                      [include]\n\tpath = work/a/of-the-workspace\n[color]\n\tui = never\n";
        let shared = "[user]\n\tname = n\n[user]\n\temail = w\n[color]\n\tui = never\n";
        check(
            &[
                ("home/.gitconfig", config),
                ("home/.gitconfig.local", "[user]\n\tname = n\n[alias]\n\tx = !x\n"),
                ("home/at-work", "[user]\n\temail = w\n"),
                ("home/at-play", "[user]\n\temail = p\n"),
                ("home/work/a/of-the-workspace", "[include]\n\tpath = ~/secret\n"),
                ("home/secret", "[user]\n\tname = secret\n"),
            ],
            &[(".gitconfig", shared)],
        );
        check(&[("home/.gitconfig", "[include]\n\tpath = .gitconfig\n")], &[]);
    }

    #[test]
    fn what_is_ignored_everywhere_is_so_inside() {
        let set = "[core]\n\texcludesFile = ~/.config/git/ignore\n";
        let ignore = ("home/.config/git/ignore", "*.o\n");
        check(&[ignore], &[(".config/git/ignore", "*.o\n"), (".gitconfig", set)]);
        let config = ("home/.gitconfig", "[core]\n\texcludesFile = ~/mine\n");
        let both = format!("[core]\n\texcludesFile = ~/mine\n{set}");
        let expected = [(".config/git/ignore", "*.p\n"), (".gitconfig", both.as_str())];
        check(&[ignore, config, ("home/mine", "*.p\n")], &expected);
        let config = ("home/.gitconfig", "[core]\n\texcludesFile = work/a/secrets\n");
        let left = "[core]\n\texcludesFile = work/a/secrets\n";
        check(&[config, ("home/work/a/secrets", "x\n")], &[(".gitconfig", left)]);
    }

    #[test]
    fn files_are_filtered_as_outside() {
        let filter = "[filter \"x\"]\n\tclean = a\n[filter \"x\"]\n\tsmudge = b\n";
        let config = "[include]\n\tpath = more\n[filter \"x\"]\n\tsmudge = b\n";
        let set = "[filter \"x\"]\n\trequired = true\n[core]\n\tattributesFile = ~/.config/git/attributes\n";
        let attributes = ("home/.config/git/attributes", "*.x filter=x\n");
        let shown = format!("{filter}{set}");
        check(
            &[
                ("home/.gitconfig", config),
                ("home/more", "[filter \"x\"]\n\tclean = a\n\tother = c\n"),
                attributes,
            ],
            &[(".config/git/attributes", "*.x filter=x\n"), (".gitconfig", &shown)],
        );
        let named = "[core]\n\tattributesFile = ~/mine\n";
        let set = format!("{named}[core]\n\tattributesFile = ~/.config/git/attributes\n");
        let expected = [(".config/git/attributes", "*.y filter=x\n"), (".gitconfig", &*set)];
        check(
            &[("home/.gitconfig", named), ("home/mine", "*.y filter=x\n"), attributes],
            &expected,
        );
        let named = "[core]\n\tattributesFile = work/a/secrets\n";
        check(
            &[("home/.gitconfig", named), ("home/work/a/secrets", "x\n")],
            &[(".gitconfig", named)],
        );
    }

    #[test]
    fn nothing_is_followed_through_a_folder_of_the_session() {
        let check = |links: &[(&str, &str)], files: &[(&str, &str)], shared: Option<&str>| {
            let top = tempfile::tempdir().unwrap();
            let top = top.path().canonicalize().unwrap();
            std::fs::create_dir_all(top.join("home/work/a")).unwrap();
            for (name, text) in [&[("home/secret", "SECRET\n")], files].concat() {
                std::fs::write(top.join(name), text).unwrap();
            }
            for (name, target) in links {
                std::os::unix::fs::symlink(target, top.join(name)).unwrap();
            }
            let shown = git_settings(&top.join("home"), &[top.join("home/work/a")]);
            let said: Vec<&[u8]> = shown.iter().map(|(_, bytes)| bytes.as_slice()).collect();
            assert_eq!(said, shared.map(str::as_bytes).as_slice(), "{links:?} {files:?}");
        };
        let named = "[core]\n\texcludesFile = ~/work/a/ignore\n";
        let left_out = "[core]\n\texcludesFile = ~/work/a/ignore\n";
        check(
            &[("home/work/a/ignore", "../../secret")],
            &[("home/.gitconfig", named)],
            Some(left_out),
        );
        let included = ("home/.gitconfig", "[include]\n\tpath = ~/work/a/inc\n");
        check(&[("home/work/a/inc", "../../secret")], &[included], None);
        let up = "[core]\n\texcludesFile = ~/work/a/../../secret\n";
        check(&[], &[("home/.gitconfig", up)], Some(up));
        // The settings themselves lie there.
        let secret = "[user]\n\tname = n\n[core]\n\texcludesFile = ~/secret\n";
        let own = [("home/.gitconfig", "work/a/gitconfig")];
        check(&own, &[("home/work/a/gitconfig", secret)], Some(secret));
    }
}

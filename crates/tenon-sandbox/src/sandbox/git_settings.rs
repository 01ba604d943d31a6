//! What commands get of the user's settings for git: who commits, what is ignored, how files are filtered, how things
//! look. Files that they include come in their place, for the files themselves are out of sight; what they include under
//! a condition comes as a file of its own, so that git decides whether it holds.
//!
//! Left out are other programs than filters, secrets, and signatures, whose keys no command sees. No other file is followed from
//! what lies in a folder of the session or is come to through one: a command may write it, and could name a
//! file that it does not see.

#![expect(
    clippy::disallowed_methods,
    reason = "the user's own files, of which a command gets a part"
)]

use std::cell::RefCell;
use std::path::{Component, Path, PathBuf};

use crate::git_config;
use crate::links::resolved;

/// As deep as git itself follows includes.
const DEPTH_MAX: usize = 10;

/// A longer file is no file of settings.
const BYTES_MAX: u64 = 1 << 20;

/// Beneath HOME, in the order in which git reads them.
const FILES: [&str; 2] = [".config/git/config", ".gitconfig"];

/// How the names of files begin that stand for what is included under a condition, beneath HOME.
const INCLUDED: &str = ".config/git/included-";

/// How many there are at most.
const INCLUDED_MAX: usize = 64;

/// The settings that name what is ignored, and which attributes files have, everywhere, and where git looks for that
/// beneath HOME without them.
const EVERYWHERE: [(&str, &str); 2] =
    [("excludesFile", ".config/git/ignore"), ("attributesFile", ".config/git/attributes")];

/// Returns files beneath `home` as commands see them, by their names in it.
pub(super) fn git_settings(home: &Path, roots: &[PathBuf]) -> Files {
    let outside = |name: &&str| is_outside(&home.join(name), roots);
    let follows = FILES.iter().all(outside);
    let reading = Reading { home, roots, follows, first: RefCell::default() };
    let mut shown = Files::new();
    let text_of = |mut files: Option<&mut Files>| -> String {
        let text = |name| reading.shared(&home.join(name), DEPTH_MAX, &mut files);
        FILES.iter().filter_map(text).collect()
    };
    // With what holds for the session's own repositories in its place.
    let all = text_of(None);
    let mut config = text_of(Some(&mut shown));
    let required = git_config::required_filters(&config);
    config = [reading.first.take(), required.first, config, required.last].concat();
    for (setting, name) in EVERYWHERE {
        let path = match git_config::last(&all, "core", &setting.to_lowercase()) {
            Some(named) => reading.named(home, &named),
            None => Some(home.join(name)),
        };
        let path = path.filter(|path| reading.may_follow(path));
        if let Some(text) = path.and_then(|path| read(&path)) {
            config.push_str(&format!("[core]\n\t{setting} = ~/{name}\n"));
            shown.push((name.to_owned(), text.into_bytes()));
        }
    }
    if !config.is_empty() {
        shown.push((".gitconfig".to_owned(), config.into_bytes()));
    }
    shown
}

/// Files by their names beneath HOME.
type Files = Vec<(String, Vec<u8>)>;

struct Reading<'a> {
    home: &'a Path,
    roots: &'a [PathBuf],
    /// Whether no command can write what the settings begin with.
    follows: bool,
    /// What comes in front of all settings for filters that are included under a condition: behind others of the same
    /// filter it would hold instead.
    first: RefCell<String>,
}

impl Reading<'_> {
    /// Returns what commands get of a file, with what it includes. What it includes under a condition is put among
    /// `files`; where there are none, it stands in its place if the condition holds.
    fn shared(&self, path: &Path, deeper: usize, files: &mut Option<&mut Files>) -> Option<String> {
        let text = read(path)?;
        let folder = path.parent()?;
        git_config::shared(&text, &mut |condition, included| {
            let included = self.named(folder, included).filter(|_| deeper > 0);
            let included = included.filter(|path| self.may_follow(path));
            let in_place = files.is_none() && condition.is_none_or(|it| self.holds(it));
            let has_room = files.as_ref().is_some_and(|files| files.len() < INCLUDED_MAX);
            let Some(included) = included.filter(|_| in_place || has_room) else {
                return String::new();
            };
            let mut text = self.shared(&included, deeper - 1, files).unwrap_or_default();
            let (Some(condition), Some(files)) = (condition, files.as_mut()) else { return text };
            if text.is_empty() {
                return text;
            }
            let required = git_config::required_filters(&text);
            text.push_str(&required.last);
            self.first.borrow_mut().push_str(&required.first);
            let name = format!("{INCLUDED}{}", files.len());
            files.push((name.clone(), text.into_bytes()));
            git_config::include_if(&self.placed(folder, condition), &format!("~/{name}"))
        })
    }

    /// Returns a condition as it stands in another file, for another home.
    fn placed(&self, folder: &Path, condition: &str) -> String {
        let Some((kind, pattern)) = condition.split_once(':') else { return condition.to_owned() };
        let base = match pattern.split_once('/') {
            Some(("~", rest)) if kind.starts_with("gitdir") => Some((self.home, rest)),
            Some((".", rest)) if kind.starts_with("gitdir") => Some((folder, rest)),
            _ => None,
        };
        let base = base.and_then(|(base, rest)| Some((base.to_str()?, rest)));
        base.map_or(condition.to_owned(), |(base, rest)| format!("{kind}:{base}/{rest}"))
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
        let said = |bytes| String::from_utf8(bytes).unwrap().replace(top.to_str().unwrap(), "TOP");
        let shown: Vec<_> = shown.into_iter().map(|(name, bytes)| (name, said(bytes))).collect();
        let shown: Vec<_> = shown.iter().map(|(name, text)| (&**name, &**text)).collect();
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
        let config = "[include]\n\tpath = .gitconfig.local\n[include]\n\tpath = work/a/of-the-workspace\n\
                      [color]\n\tui = never\n";
        check(
            &[
                ("home/.gitconfig", config),
                ("home/.gitconfig.local", "[user]\n\tname = n\n[alias]\n\tx = !x\n"),
                ("home/work/a/of-the-workspace", "[include]\n\tpath = ~/secret\n"),
                ("home/secret", "[user]\n\tname = secret\n"),
            ],
            &[(".gitconfig", "[user]\n\tname = n\n[color]\n\tui = never\n")],
        );
        check(&[("home/.gitconfig", "[include]\n\tpath = .gitconfig\n")], &[]);
    }

    #[test]
    fn git_decides_what_is_included_under_a_condition() {
        for (said, shown) in [
            ("gitdir:~/work/", "gitdir:TOP/home/work/"),
            ("gitdir/i:./Work/*/.git", "gitdir/i:TOP/home/Work/*/.git"),
            ("gitdir:**/work/**", "gitdir:**/work/**"),
            ("onbranch:~/main", "onbranch:~/main"),
            (r"hasconfig:remote.*.url:\\a", r"hasconfig:remote.*.url:\\a"),
            ("hasconfig:remote.*.url:https://a:b@h/**", "hasconfig:remote.*.url:https://*@h/**"),
        ] {
            let filter = "[filter \"x\"]\n\tclean = a\n";
            let (first, last) = ("[filter \"x\"]\n\tsmudge = cat\n", "[color]\n\tui = never\n");
            let config = format!("[includeIf \"{said}\"]\n\tpath = ~/more\n{last}");
            let more = format!("{filter}[includeIf \"onbranch:b\"]\n\tpath = most\n");
            let inner = "[includeIf \"onbranch:b\"]\n\tpath = ~/.config/git/included-0\n";
            let expected = format!(
                "{first}[includeIf \"{shown}\"]\n\tpath = ~/.config/git/included-1\n{last}"
            );
            check(
                &[
                    ("home/.gitconfig", &config),
                    ("home/more", &more),
                    ("home/most", "[user]\n\temail = w\n\tsigningKey = k\n"),
                ],
                &[
                    (".config/git/included-0", "[user]\n\temail = w\n"),
                    (
                        ".config/git/included-1",
                        &format!("{filter}{inner}[filter \"x\"]\n\trequired = true\n"),
                    ),
                    (".gitconfig", &expected),
                ],
            );
        }
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

//! Files that settings of git include: git takes programs from them as from the settings themselves.
//!
//! Conditions (`includeIf`) are not looked at: whoever changes a branch would decide them. What
//! leads to a file counts like the file: a link on the way could lead elsewhere later.

use std::path::{Path, PathBuf};

use crate::git_config;
use crate::links::resolved;
use crate::users::home_of;

/// As deep as git itself follows them.
const DEPTH_MAX: usize = 10;

/// Names of files and links that are followed in all: more than any project has.
const NAMES_MAX: usize = 64;

/// Says what the files beneath `roots` are that settings include, and what they include in turn.
pub(crate) struct Includes<'a> {
    roots: &'a [PathBuf],
    home: Option<&'a Path>,
    /// Every name that counts, absolute and without links.
    pub(crate) found: Vec<PathBuf>,
}

impl<'a> Includes<'a> {
    /// `home` is what git takes a `~` for, as far as it is known.
    pub(crate) fn beneath(roots: &'a [PathBuf], home: Option<&'a Path>) -> Self {
        Self { roots, home, found: Vec::new() }
    }

    /// Follows the settings in the file `path` with this content. `read` gives the content of other
    /// files.
    pub(crate) fn follow(
        &mut self,
        path: &Path,
        bytes: &[u8],
        read: &mut dyn FnMut(&Path) -> Option<Vec<u8>>,
    ) {
        self.follow_to(path, bytes, read, DEPTH_MAX);
    }

    fn follow_to(
        &mut self,
        path: &Path,
        bytes: &[u8],
        read: &mut dyn FnMut(&Path) -> Option<Vec<u8>>,
        deeper: usize,
    ) {
        if deeper == 0 || !says_include(bytes) {
            return;
        }
        for value in git_config::included(bytes) {
            for named in self.named(path, &value) {
                let Some((place, links)) = resolved(&named) else { continue };
                let is_new = !self.found.contains(&place);
                for name in links.into_iter().chain([place.clone()]) {
                    self.note(name);
                }
                if is_new && let Some(bytes) = read(&place) {
                    self.follow_to(&named, &bytes, read, deeper - 1);
                }
            }
        }
    }

    fn note(&mut self, name: PathBuf) {
        let is_inside = self.roots.iter().any(|root| name != *root && name.starts_with(root));
        if is_inside && self.found.len() < NAMES_MAX && !self.found.contains(&name) {
            self.found.push(name);
        }
    }

    /// Returns the paths that a value may name. A `~` is the home, the one in the list of users where another program
    /// starts git, and, since git may be started with any other, each folder above a root, or a root, by which it
    /// leads into one.
    fn named(&self, config: &Path, value: &str) -> Vec<PathBuf> {
        let Some(behind) = value.strip_prefix('~') else {
            return config.parent().map(|folder| folder.join(value)).into_iter().collect();
        };
        let Some((user, rest)) = behind.split_once('/') else { return Vec::new() };
        let listed = home_of(user).into_iter();
        let home = self.home.filter(|_| user.is_empty()).map(Path::to_path_buf);
        let mut named: Vec<PathBuf> =
            home.into_iter().chain(listed).map(|it| it.join(rest)).collect();
        for root in self.roots {
            let others = root.ancestors().map(|home| home.join(rest));
            named.extend(others.filter(|path| path.starts_with(root)));
        }
        named.dedup();
        named
    }
}

/// Whether the text can include anything at all, which hardly any does.
fn says_include(bytes: &[u8]) -> bool {
    const WORD: &[u8] = b"include";
    bytes.windows(WORD.len()).any(|word| word.eq_ignore_ascii_case(WORD))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], links: &[(&str, &str)], expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let root = home.join("work");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        for (name, text) in files {
            std::fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
            std::fs::write(home.join(name), text.replace("HOME", home.to_str().unwrap())).unwrap();
        }
        for (name, target) in links {
            std::os::unix::fs::symlink(target, home.join(name)).unwrap();
        }
        let roots = [root.clone()];
        let mut includes = Includes::beneath(&roots, Some(&home));
        let config = root.join(".git/config");
        let bytes = std::fs::read(&config).unwrap();
        includes.follow(&config, &bytes, &mut |path| std::fs::read(path).ok());
        let mut found: Vec<_> =
            includes.found.iter().map(|path| path.strip_prefix(&root).unwrap()).collect();
        found.sort();
        assert_eq!(found, expected.iter().map(Path::new).collect::<Vec<_>>());
    }

    #[test]
    fn files_of_the_workspace_that_settings_include_are_found() {
        let config = |text| ("work/.git/config", text);
        check(&[config("[core]\n\tbare = false\n")], &[], &[]);
        check(&[config("[include]\n\tpath = ../a.cfg\n")], &[], &["a.cfg"]);
        check(&[config("[Include]\npath=\"in.cfg\" ; x\n")], &[], &[".git/in.cfg"]);
        check(
            &[config("[includeIf \"onbranch:x\"]\n\tpath = ~/work/b\n[include]path=HOME/work/c\n")],
            &[],
            // Git may be started with another home.
            &["b", "c", "work/b"],
        );
        check(&[config("[include]\npath = /etc/gitconfig\npath = ../../other\n")], &[], &[]);
        check(
            &[
                config("[include]\npath = ../conf/a\n"),
                ("work/conf/a", "[include]\npath = b\n"),
                ("work/conf/b", "[include]\npath = HOME/out\n"),
                ("out", "[include]\npath = work/d\n"),
            ],
            &[],
            &["conf/a", "conf/b", "d"],
        );
        check(
            &[
                config("[include]\npath = ../l/a\n[include]\npath = \"../with \\\"quotes\\\"\"\n"),
                ("work/conf/a", "[include]\npath = a\n"),
            ],
            &[("work/l", "m"), ("work/m", "conf")],
            &["conf/a", "l", "m", "with \"quotes\""],
        );
    }

    #[test]
    fn settings_are_found_by_ways_through_the_home() {
        let config = |text| ("work/.git/config", text);
        let (etc, inc) = (("work/etc/a", ""), config("[include]\npath = ~/inc\n"));
        check(&[inc, etc], &[("inc", "work/etc/a")], &["etc/a", "inc"]);
        let dots = config("[include]\npath = ~/dots/a\n");
        check(&[dots, etc], &[("dots", "work/etc")], &["dots/a", "etc/a"]);
        check(
            &[
                config("[include]\npath = ~/outer\n"),
                ("outer", "[include]\npath = HOME/work/etc/a\n[include]\npath = ~/work/etc/b\n"),
            ],
            &[],
            &["etc/a", "etc/b", "outer", "work/etc/b"],
        );
    }

    #[test]
    fn settings_that_include_each_other_come_to_an_end() {
        let turns = [
            ("work/.git/config", "[include]\npath = a\npath = config\n"),
            ("work/.git/a", "[include]\npath = config\n"),
        ];
        check(&turns, &[("work/.git/l", "l")], &[".git/a", ".git/config"]);
        let many: String =
            (0..1_000).map(|number| format!("[include]\npath = ../{number}\n")).collect();
        let folder = [PathBuf::from("/work")];
        let mut includes = Includes::beneath(&folder, None);
        includes.follow(Path::new("/work/.git/config"), many.as_bytes(), &mut |_| None);
        assert_eq!(includes.found.len(), NAMES_MAX);
    }
}

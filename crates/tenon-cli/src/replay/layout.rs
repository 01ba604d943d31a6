//! Where the copies of a session's folders lie: to each other as the folders do, so that relative paths between them
//! hold. What is absolute in a folder and leads to one of them (a symbolic link, a path in a file of git) leads to
//! its copy, and in a bundle to where it was recorded.

#![expect(clippy::disallowed_methods, reason = "makes links in a folder of tenon's own")]

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::symlink,
    },
    path::{Component, Path, PathBuf},
};

use tenon_agent::Session;

use super::Root;

/// The most links to folders, of which a session has a few.
const WAYS_MAX: usize = 16;

/// The longest path of a copy beneath the folder that all are in: with what is in it, and where that lies, it is to be
/// one for the kernel (4,096 bytes).
const BENEATH_BYTES_MAX: usize = 1_024;

/// The longest file of git's that has paths and no more; git itself has one path in most of them.
pub(super) const POINTER_BYTES_MAX: u64 = 64 << 10;

/// How a `.git` file begins.
const GITDIR: &[u8] = b"gitdir: ";

/// Returns where beneath a folder the copies of `folders` lie: each has its name, and those of the folders above it
/// beneath the deepest that all are in. Where that is no path for the kernel, they have their numbers.
pub(super) fn beneath(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut parents = folders.iter().map(|folder| folder.parent());
    let first = parents.next().flatten().map(Path::to_path_buf);
    let above = parents.fold(first, |above, parent| {
        let (above, parent) = (above?, parent?);
        above.ancestors().find(|above| parent.starts_with(above)).map(Path::to_path_buf)
    });
    let place = |folder: &PathBuf| {
        let beneath = folder.strip_prefix(above.as_ref()?).ok()?;
        // What leads up again would lead out.
        let is_path = (1..=BENEATH_BYTES_MAX).contains(&beneath.as_os_str().len())
            && beneath.components().all(|part| matches!(part, Component::Normal(_)));
        is_path.then(|| beneath.to_path_buf())
    };
    let places: Option<Vec<PathBuf>> = folders.iter().map(place).collect();
    places.unwrap_or_else(|| by_number(folders.len()))
}

/// Returns the paths through links by which `folders` of a session were named, and `others` that lead to one of
/// them, each with its folder, as far as a replay can have a link there: what is in a folder is copied with it.
pub(super) fn ways<'a>(
    session: &'a Session,
    folders: &[PathBuf],
    others: impl IntoIterator<Item = (&'a Path, &'a Path)>,
) -> Vec<(PathBuf, PathBuf)> {
    let is_name = |part: Component| matches!(part, Component::RootDir | Component::Normal(_));
    let meets = |one: &Path, other: &Path| one.starts_with(other) || other.starts_with(one);
    let mut ways: Vec<(PathBuf, PathBuf)> = Vec::new();
    for (way, folder) in session.ways().into_iter().chain(others) {
        let is_free = !folders.iter().any(|other| meets(way, other))
            && !ways.iter().any(|(other, _)| meets(way, other));
        let is_path = way.is_absolute() && way.parent().is_some() && way.components().all(is_name);
        if is_path && is_free && ways.len() < WAYS_MAX && folders.iter().any(|it| it == folder) {
            ways.push((way.to_path_buf(), folder.to_path_buf()));
        }
    }
    ways
}

/// Makes the links of `ways`, whose places are `links`, and returns them.
pub(super) fn link_ways(
    roots: &[Root],
    ways: &[(PathBuf, PathBuf)],
    links: Vec<Root>,
) -> io::Result<Vec<Root>> {
    for (link, (_, folder)) in links.iter().zip(ways) {
        fs::create_dir_all(link.copy.parent().unwrap_or(&link.copy))?;
        symlink(here(roots, folder), &link.copy)?;
    }
    Ok(links)
}

/// Returns places beside each other, in bundles and where nothing else is possible.
pub(super) fn by_number(count: usize) -> Vec<PathBuf> {
    (0..count).map(|number| number.to_string().into()).collect()
}

/// Whether the copy of a root is a part of the copy of another.
pub(super) fn is_part(roots: &[Root], root: &Root) -> bool {
    roots.iter().any(|other| other.copy != root.copy && root.copy.starts_with(&other.copy))
}

/// Whether one of `folders` lies in another.
pub(super) fn are_nested(folders: &[PathBuf]) -> bool {
    folders.iter().any(|one| folders.iter().any(|other| one != other && one.starts_with(other)))
}

/// Returns `path` as it leads to the copy of a root, if it is absolute and leads to one of them.
pub(super) fn here(roots: &[Root], path: &Path) -> PathBuf {
    exchanged(roots.iter().map(|root| (&*root.recorded, &*root.copy)), path)
}

/// Returns `path` as it was recorded, if it leads to the copy of a root.
pub(super) fn there(roots: &[Root], path: &Path) -> PathBuf {
    exchanged(roots.iter().map(|root| (&*root.copy, &*root.recorded)), path)
}

fn exchanged<'a>(pairs: impl Iterator<Item = (&'a Path, &'a Path)>, path: &Path) -> PathBuf {
    // As it is written beyond that, with each `/`.
    let rest = |from: &Path| {
        let rest = path.as_os_str().as_bytes().strip_prefix(from.as_os_str().as_bytes())?;
        (rest.is_empty() || rest.starts_with(b"/")).then_some(rest)
    };
    let fitting = pairs.filter_map(|(from, to)| Some((from, to, rest(from)?)));
    match fitting.max_by_key(|(from, ..)| from.as_os_str().len()) {
        Some((_, to, rest)) => {
            let whole = [to.as_os_str().as_bytes(), rest].concat();
            PathBuf::from(std::ffi::OsString::from_vec(whole))
        }
        None => path.to_path_buf(),
    }
}

/// Whether a file is one in which git has paths, a line each: the `.git` file of a linked worktree or a submodule, its
/// counterpart in the repository, and where objects of another repository are.
pub(super) fn is_pointer(path: &Path) -> bool {
    let is_of_worktree = || {
        let worktrees = path.parent().and_then(Path::parent);
        path.ends_with("gitdir")
            && worktrees.is_some_and(|above| above.file_name() == Some(OsStr::new("worktrees")))
    };
    path.ends_with(".git") || path.ends_with("objects/info/alternates") || is_of_worktree()
}

/// Returns such a file with each of its paths as `exchange` has it.
pub(super) fn pointing(content: &[u8], exchange: impl Fn(&Path) -> PathBuf) -> Vec<u8> {
    let line = |line: &[u8]| {
        let (word, rest) = match line.strip_prefix(GITDIR) {
            Some(rest) => (GITDIR, rest),
            None => (&b""[..], line),
        };
        let (path, end) = match rest.strip_suffix(b"\n") {
            Some(path) => (path, &b"\n"[..]),
            None => (rest, &b""[..]),
        };
        let path = exchange(Path::new(OsStr::from_bytes(path))).into_os_string().into_vec();
        [word, &*path, end].concat()
    };
    content.split_inclusive(|byte| *byte == b'\n').flat_map(line).collect()
}

/// Returns where the repository is that the `.git` file in `folder` names, given its content.
pub(super) fn repository(folder: &Path, content: &[u8]) -> Option<PathBuf> {
    let path = content.strip_prefix(GITDIR)?.trim_ascii_end();
    let mut whole = PathBuf::new();
    for component in folder.join(OsStr::from_bytes(path)).components() {
        match component {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_lie_to_each_other_as_the_folders_do() {
        let check = |folders: &[&str], expected: &[&str]| {
            let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(beneath(&folders), expected, "{folders:?}");
        };
        check(&["/home/u/work"], &["work"]);
        check(&["/home/u/.."], &["0"]);
        check(&["/p/work", "/p/work/../../x"], &["0", "1"]);
        check(&["/p/work", "/p/lib"], &["work", "lib"]);
        check(&["/p/a/work", "/p/b/c/lib"], &["a/work", "b/c/lib"]);
        check(&["/p/work/sub", "/p/work"], &["work/sub", "work"]);
        check(&["/work", "/lib"], &["work", "lib"]);
        check(&["/", "/lib"], &["0", "1"]);
        check(&["/p/work", &format!("/q{}", "/long-name".repeat(200))], &["0", "1"]);
    }

    fn roots() -> Vec<Root> {
        let root =
            |(recorded, copy): (&str, &str)| Root { recorded: recorded.into(), copy: copy.into() };
        [("/p/work", "/c/p/work"), ("/p/work/sub", "/c/p/work/sub"), ("/p/lib", "/c/p/lib")]
            .map(root)
            .to_vec()
    }

    #[test]
    fn what_leads_to_a_folder_leads_to_its_copy_and_back() {
        let roots = roots();
        for (recorded, copy) in [
            ("/p/lib", "/c/p/lib"),
            ("/p/lib/", "/c/p/lib/"),
            ("/p/work/sub/../x", "/c/p/work/sub/../x"),
            ("/p/library", "/p/library"),
            ("../lib", "../lib"),
            ("/etc", "/etc"),
        ] {
            assert_eq!(here(&roots, recorded.as_ref()), PathBuf::from(copy));
            assert_eq!(there(&roots, copy.as_ref()), PathBuf::from(recorded));
        }
        assert_eq!(
            roots.iter().map(|root| is_part(&roots, root)).collect::<Vec<_>>(),
            [false, true, false]
        );
    }

    #[test]
    fn files_in_which_git_has_paths_are_known_and_lead_to_the_copy() {
        for path in ["work/.git", ".git/worktrees/x/gitdir", ".git/objects/info/alternates"] {
            assert!(is_pointer(path.as_ref()), "{path}");
        }
        for path in ["work/x.git", "gitdir", ".git/gitdir", ".git/config", "alternates"] {
            assert!(!is_pointer(path.as_ref()), "{path}");
        }
        let roots = roots();
        let pointed = |text: &str| {
            String::from_utf8(pointing(text.as_bytes(), |path| here(&roots, path))).unwrap()
        };
        assert_eq!(
            pointed("gitdir: /p/lib/.git/worktrees/work\n"),
            "gitdir: /c/p/lib/.git/worktrees/work\n"
        );
        assert_eq!(pointed("/p/work/.git"), "/c/p/work/.git");
        assert_eq!(pointed("/q/objects\n/p/lib/x\n"), "/q/objects\n/c/p/lib/x\n");
        assert_eq!(pointed("gitdir: ../.git/modules/m\n"), "gitdir: ../.git/modules/m\n");
        let named = repository("/p/work".as_ref(), b"gitdir: ../.git/modules/m\n");
        assert_eq!(named, Some("/p/.git/modules/m".into()));
    }
}

//! Homes of other users that lie elsewhere than where homes usually are: what is in them is nobody's
//! business either.
//!
//! Known are the users of this machine's own list. A service's folder is no home, nor is one that
//! belongs to the system, to everybody, or to the work.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Settings;
use crate::mounts::Mounts;
use crate::users::{list, listed};
use crate::workspace::canonical;

/// Where homes are by default.
pub(super) const HOMES: [&str; 3] = ["/home", "/root", "/Users"];

/// Those of which each folder is a home.
const PEOPLE: [&str; 2] = ["/home", "/Users"];

/// File systems by which virtual machines show folders of the machine around them: of WSL, QEMU, Parallels, VirtualBox
/// and VMware.
const OF_HOSTS: [&str; 7] =
    ["9p", "drvfs", "fuse.vmhgfs-fuse", "prl_fs", "vboxsf", "virtiofs", "vmhgfs"];

/// What such a folder has in it that is a home, or has homes in it.
const MARKS_OF_HOMES: [&str; 5] = [".aws", ".gnupg", ".kube", ".ssh", "Users"];

/// Where a HOME of commands is that is not at the place of the user's: in the first of these, which are private, that no
/// root meets.
const ABOVE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];
const ELSEWHERE: &str = "tenon-home";

/// People's numbers begin here (`UID_MIN`), as on every distribution of today.
const FIRST_PERSON: u32 = 1_000;

/// Owns nothing.
const NOBODY: u32 = 65_534;

/// What is beneath them is programs, settings and devices.
const SYSTEM: [&str; 11] =
    ["/usr", "/opt", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys"];

/// Folders of many, which some systems give as somebody's home.
const OF_MANY: [&str; 7] = ["/", "/srv", "/var", "/var/lib", "/var/www", "/var/mail", "/var/spool"];

/// Returns what is closed of homes: those of others ([`of_others`]), this user's by the list where HOME is another, those
/// on the machine around a virtual one, and by the other paths at which they are mounted, too, these, this user's own,
/// and where homes are by default.
pub(super) fn closed(
    settings: &Settings,
    home: Option<&Path>,
    covered: &[PathBuf],
    mounts: &Mounts,
) -> Vec<PathBuf> {
    let mut closed = of_others(settings, home, covered);
    let own = canonical(of_one(&list(), rustix::process::geteuid().as_raw()));
    closed.extend(own.into_iter().filter(|own| is_closed(own, &settings.roots, home, covered)));
    let usual = canonical(HOMES);
    let people = canonical(PEOPLE);
    // What lies right in these, or is mounted there, is a home.
    let is_home = |place: &&Path| people.iter().any(|people| place.parent() == Some(people));
    let mounted = mounts.places().filter(is_home);
    let others = closed.iter().chain(&usual).map(PathBuf::as_path);
    let folders = others.chain(home).chain(mounted);
    let mut names: Vec<PathBuf> = folders.flat_map(|folder| elsewhere(mounts, folder)).collect();
    let parts = people.iter().flat_map(|people| mounts.parts_elsewhere(people));
    names.extend(parts.filter(|part| !is_home(part)).map(Path::to_path_buf));
    names.retain(|name| !is_of_system(name));
    closed.append(&mut names);
    closed.extend(of_hosts(&settings.roots, covered, mounts));
    closed
}

/// Returns where disks and homes of the machine around a virtual one are mounted, but for what is `covered` anyway and
/// what is the session's own. What the session works in may lie in them.
fn of_hosts(roots: &[PathBuf], covered: &[PathBuf], mounts: &Mounts) -> Vec<PathBuf> {
    let is_in = |path: &Path, folders: &[PathBuf]| folders.iter().any(|it| path.starts_with(it));
    let of_hosts = mounts.beneath(Path::new("/")).filter(|it| OF_HOSTS.contains(&it.file_system));
    let open = of_hosts
        .map(|it| it.path)
        .filter(|path| !is_in(path, roots) && !is_in(path, covered) && !is_of_system(path));
    let holds = |path: &Path| MARKS_OF_HOMES.iter().any(|mark| path.join(mark).is_dir());
    let closed = open.filter(|path| path.is_dir() && (is_disk(path) || holds(path)));
    closed.map(Path::to_path_buf).collect()
}

/// Whether a path is where WSL mounts a disk of Windows if it is told to do so right in `/`.
fn is_disk(path: &Path) -> bool {
    let name = path.to_str().and_then(|path| path.strip_prefix('/')).unwrap_or_default();
    name.len() == 1 && name.bytes().all(|letter| letter.is_ascii_lowercase())
}

/// Returns the other paths at which a folder is found. The kernel's list may be of a moment ago.
fn elsewhere(mounts: &Mounts, folder: &Path) -> Vec<PathBuf> {
    let identity = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    let own = identity(folder);
    let mut names = mounts.other_names(folder);
    names.retain(|name| own.is_some() && identity(name) == own);
    names
}

/// Returns the homes of others than this user that neither hold what the session works in nor lie
/// beneath what is `covered` anyway, and what the settings name besides.
pub(super) fn of_others(
    settings: &Settings,
    home: Option<&Path>,
    covered: &[PathBuf],
) -> Vec<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let own_places = settings.roots.iter().map(PathBuf::as_path).chain(home);
    let own_places: Vec<&Path> = own_places.collect();
    let mut homes = canonical(of_people(&list(), own));
    homes.retain(|folder| {
        let meets = |own: &&Path| own.starts_with(folder) || folder.starts_with(own);
        let is_covered = covered.iter().any(|covered| folder.starts_with(covered));
        folder.is_dir() && !is_covered && !own_places.iter().any(meets) && !is_of_system(folder)
    });
    homes.sort();
    // What lies in another one goes with it.
    homes.dedup_by(|one, above| one.starts_with(&*above));
    // What the session works in may lie in these.
    homes.extend(canonical(&settings.covered).into_iter().filter(|it| it.parent().is_some()));
    homes
}

/// Whether this user's home by the list is closed: where it is neither HOME nor above or beneath it, nor lies in what the
/// session works in. That may lie in it, as in `/home`.
fn is_closed(own: &Path, roots: &[PathBuf], home: Option<&Path>, covered: &[PathBuf]) -> bool {
    let is_in = |above: &PathBuf| own.starts_with(above);
    let meets = home.is_some_and(|home| home.starts_with(own) || own.starts_with(home));
    own.is_dir() && !meets && !roots.iter().chain(covered).any(is_in) && !is_of_system(own)
}

/// Whether a folder is one of the system's, or of many.
pub(super) fn is_of_system(folder: &Path) -> bool {
    SYSTEM.iter().any(|known| folder.starts_with(known))
        || OF_MANY.iter().any(|known| folder == Path::new(known))
}

/// Returns the homes of all people but one.
fn of_people(list: &str, own: u32) -> impl Iterator<Item = &str> {
    let is_other = move |number| number >= FIRST_PERSON && number != NOBODY && number != own;
    listed(list).filter(move |user| is_other(user.number)).map(|user| user.home)
}

/// Returns the home of one.
fn of_one(list: &str, own: u32) -> impl Iterator<Item = &str> {
    listed(list).filter(move |user| user.number == own).map(|user| user.home)
}

/// Returns where a home is, links followed; `None` where it is no folder.
pub(super) fn real_home(home: &Path) -> Option<PathBuf> {
    home.canonicalize().ok().filter(|home| home.is_dir())
}

/// Returns the same; `None` also where it is all of the machine, of which commands have no other in its place.
pub(super) fn home_folder(home: &Path) -> Option<PathBuf> {
    real_home(home).filter(|home| home.parent().is_some())
}

/// The user's home, and where commands have theirs.
pub(super) struct Homes {
    /// Where the user's is, links followed.
    pub(super) real: Option<PathBuf>,
    /// The same, where commands have theirs in its place.
    pub(super) home: Option<PathBuf>,
    /// Where commands have theirs since the user's is all of the machine.
    pub(super) elsewhere: Option<PathBuf>,
}

impl Homes {
    /// Returns those for commands with these roots. A home elsewhere is in or around none of them; there is none if there
    /// is no such place.
    pub(super) fn new(settings: &Settings, roots: &[PathBuf]) -> Self {
        let named = settings.home.as_deref();
        let (real, home) = (named.and_then(real_home), named.and_then(home_folder));
        let elsewhere = if real == home { None } else { elsewhere_than(roots) };
        Self { real, home, elsewhere }
    }
}

fn elsewhere_than(roots: &[PathBuf]) -> Option<PathBuf> {
    let above = canonical(ABOVE);
    let mut places = above.iter().map(|above| above.join(ELSEWHERE));
    let meets = |place: &Path, root: &Path| place.starts_with(root) || root.starts_with(place);
    places.find(|place| !roots.iter().any(|root| meets(place, root)))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use super::*;

    #[test]
    fn homes_of_people_are_found_and_those_of_services_are_not() {
        let list = "root:x:0:0::/root:/bin/sh\ndaemon:x:1:1::/var/lib/d:/bin/false\n\
                    me:x:1000:1000::/srv/me:/bin/sh\nyou:x:1001:1001:You,,:/srv/you:/bin/sh\n\
                    nobody:x:65534:65534::/nowhere:/bin/false\nbroken\nx:x:1002:1::relative:\n";
        assert_eq!(of_people(list, 1_000).collect::<Vec<_>>(), ["/srv/you"]);
        assert_eq!(of_one(list, 1_000).collect::<Vec<_>>(), ["/srv/me"]);
        assert_eq!(of_one(list, 1_002).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn disks_and_homes_of_the_machine_around_a_virtual_one_are_closed() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        for name in ["home/.ssh", "disk/Users/work", "data/in", "covered/.ssh"] {
            std::fs::create_dir_all(top.join(name)).unwrap();
        }
        let list = |kind: &str| {
            let line = |name| format!("7 1 0:9 / {}/{name} rw - {kind} x rw\n", top.display());
            ["home", "disk", "data", "covered", "none"].map(line).concat()
        };
        let check = |kind: &str, roots: &[&str], expected: &[&str]| {
            let roots: Vec<PathBuf> = roots.iter().map(|name| top.join(name)).collect();
            let mounts = Mounts::read(list(kind).as_bytes());
            let found = of_hosts(&roots, &[top.join("covered")], &mounts);
            let expected: Vec<_> = expected.iter().map(|name| top.join(name)).collect();
            assert_eq!(found, expected, "{kind} {roots:?}");
        };
        check("ext4", &[], &[]);
        check("virtiofs", &[], &["disk", "home"]);
        check("9p", &["disk/Users/work"], &["disk", "home"]);
        check("9p", &["disk"], &["home"]);
        check("9p", &[""], &[]);
        for (path, expected) in [("/d", true), ("/", false), ("/dd", false), ("/a/d", false)] {
            assert_eq!(is_disk(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_home_by_the_list_is_closed_where_it_is_not_by_the_variable() {
        let top = tempfile::tempdir().unwrap();
        let own = top.path().canonicalize().unwrap();
        let elsewhere = [own.with_extension("elsewhere")];
        let check = |home: Option<&Path>, roots: &[PathBuf], expected: bool| {
            assert_eq!(is_closed(&own, roots, home, &[]), expected, "{home:?} {roots:?}");
        };
        check(Some(&elsewhere[0]), &[], true);
        check(Some(&elsewhere[0]), &[own.join("work")], true);
        check(None, &elsewhere, true);
        check(None, std::slice::from_ref(&own), false);
        check(Some(&own), &[], false);
        check(Some(&own.join("home")), &[], false);
        assert!(!is_closed(&own.join("gone"), &[], None, &[]));
        assert!(!is_closed(&own, &[], None, std::slice::from_ref(&own)));
    }

    #[test]
    fn a_home_that_is_all_of_the_machine_is_elsewhere_for_commands() {
        let check = |roots: &[&str], expected: Option<&str>| {
            let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
            let canonical = |path: &Path| canonical([path]).pop();
            let expected = expected.map(Path::new).map(|above| canonical(above).unwrap());
            let expected = expected.map(|above| above.join(ELSEWHERE));
            assert_eq!(elsewhere_than(&roots), expected, "{roots:?}");
        };
        check(&["/srv", "/tmp/work"], Some("/tmp"));
        check(&["/tmp"], Some("/var/tmp"));
        check(&["/tmp/tenon-home/work", "/var"], Some("/run"));
        check(&["/tmp", "/var/tmp", "/run"], None);
        assert_eq!(real_home(Path::new("/")), Some("/".into()));
        assert_eq!(home_folder(Path::new("/")), None);
    }

    #[test]
    fn what_belongs_to_the_system_is_no_home() {
        for (folder, expected) in [
            ("/", true),
            ("/srv", true),
            ("/opt/tool", true),
            ("/usr/lib/x", true),
            ("/srv/you", false),
            ("/var/lib/ci", false),
            ("/data/you", false),
        ] {
            assert_eq!(is_of_system(Path::new(folder)), expected, "{folder}");
        }
    }
}

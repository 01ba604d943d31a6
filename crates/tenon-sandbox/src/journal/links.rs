//! Links that a call left in the workspace and that lead out of it: what writes by the name of one later, writes where it
//! leads. Links to what nobody here could change, as to the programs of the system, are ordinary.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, FileType, accessat};

use super::changes::LinkOut;
use super::record::{Image, Known, Place, State};
use super::store::Store;
use crate::links::resolved;

/// More are counted, in the order of their paths.
const LINKS_MAX: usize = 100;

/// Where the system has its programs: root could change them, but a link to one is what environments of languages have.
const OF_SYSTEM: [&str; 7] = ["/bin", "/lib", "/lib64", "/nix", "/opt", "/sbin", "/usr"];

/// Returns the first links that a call made, or had lead elsewhere, and that lead out to where somebody could write, and how
/// many more there are. `after` is how things are by now.
pub(super) fn links_out<'a>(
    store: &Store,
    image: &Image,
    after: impl Iterator<Item = (&'a Place, &'a State)>,
) -> (Vec<LinkOut>, u64) {
    let before = image.nodes.values().filter(|old| old.node.kind() == FileType::Symlink);
    let before: HashMap<&Place, &OsStr> =
        before.map(|old| (&old.place, old.node.target.as_os_str())).collect();
    let links = after.filter_map(|(place, state)| match state {
        State::Present { content: Known::Target(target), .. } => Some((place, target)),
        _ => None,
    });
    let new = links.filter(|(place, target)| before.get(place) != Some(&target.as_os_str()));
    let is_inside = |path: &Path| store.roots.iter().any(|root| path.starts_with(&root.path));
    let mut out = new.filter(|(place, _)| {
        let led = resolved(&store.absolute(place));
        led.is_some_and(|(led, _)| !is_inside(&led) && may_write(&led))
    });
    let named = |(place, target): (&Place, &OsString)| LinkOut {
        path: store.shown(place),
        target: target.clone(),
    };
    let first = out.by_ref().take(LINKS_MAX).map(named).collect();
    (first, out.count() as u64)
}

/// Whether this user could change what is at a path, or make what is not there.
fn may_write(path: &Path) -> bool {
    let is_there = |path: &Path| rustix::fs::lstat(path).is_ok();
    let is_root = rustix::process::geteuid().is_root();
    let is_of_system = || OF_SYSTEM.iter().any(|folder| path.starts_with(folder));
    if path == Path::new("/dev/null") || is_root && is_of_system() && is_there(path) {
        return false;
    }
    let there = path.ancestors().find(|path| is_there(path));
    there.is_some_and(|there| accessat(CWD, there, Access::WRITE_OK, AtFlags::EACCESS).is_ok())
}

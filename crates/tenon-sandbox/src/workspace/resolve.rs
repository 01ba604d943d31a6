//! Follows a path component by component, by descriptors, and says where it leads.
//!
//! The kernel's own walk (one openat2) is faster and used for reading, but it does not tell the
//! place it came to, refuses absolute links that point inside, and cannot make folders. Here each
//! component is opened on its own without following a link, links are followed by their text, and
//! `..` goes back to the descriptor it came from; so no step can leave the roots either. Outside of them
//! nothing is opened: a way there, by names or by links, counts only if it comes to a root, which is
//! then entered by the root's own descriptor.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::{EntryKind, FileError, Workspace, check_text};
use crate::linux::openat::look_at;

/// The kernel's own limit for one walk.
const LINKS_MAX: usize = 40;

/// Folders of the kernel: what looks like a file there is memory, a device or a switch.
pub(super) const KERNEL_FOLDERS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Where a path leads.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) root: usize,
    /// Beneath the root, links and `..` resolved; empty for the root itself.
    pub(super) beneath: PathBuf,
    /// The deepest folder on the way that exists, the target itself not counted.
    pub(super) folder: Arc<OwnedFd>,
    /// Folders to be made between `folder` and the target.
    pub(super) missing: Vec<OsString>,
    /// The target's name; empty for a root.
    pub(super) name: OsString,
    /// What is there.
    pub(super) node: Option<Node>,
    /// Nothing is there, and a symbolic link led to it.
    pub(super) dangling: bool,
    /// The same place by each link in the roots that led to it: the link, and what of the path came behind it.
    pub(super) ways: Vec<(usize, PathBuf)>,
}

/// Something that exists, opened for looking at it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) handle: Arc<OwnedFd>,
    pub(super) stat: Stat,
}

impl Resolved {
    /// Where `folder` is beneath its root: the target's place without its name and the folders still
    /// to be made.
    pub(super) fn folder_path(&self) -> &Path {
        let names = self.missing.len() + usize::from(!self.name.is_empty());
        let mut path = self.beneath.as_path();
        for _ in 0..names {
            path = path.parent().unwrap_or(Path::new(""));
        }
        path
    }

    pub(super) fn kind(&self) -> Option<EntryKind> {
        self.node.as_ref().map(|node| EntryKind::from(node.file_type()))
    }
}

impl Node {
    pub(super) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

/// One component still to be walked.
struct Part {
    name: OsString,
    from_link: bool,
}

/// A folder that was walked into.
struct Step {
    name: OsString,
    node: Node,
}

enum Place {
    Inside { root: usize, top: Arc<OwnedFd>, steps: Vec<Step> },
    Outside(PathBuf),
}

struct Resolver<'a> {
    workspace: &'a Workspace,
    /// As the model wrote it.
    path: &'a str,
    /// Links outside of the roots are followed too.
    far: bool,
    place: Place,
    pending: VecDeque<Part>,
    links: usize,
    ways: Vec<(usize, PathBuf)>,
}

impl Workspace {
    pub(super) fn resolve(&self, path: &str) -> Result<Resolved, FileError> {
        self.resolve_os(OsStr::new(path), path)
    }

    /// Like `resolve`, for a name that may not be UTF-8; `shown` stands in errors.
    pub(super) fn resolve_os(&self, path: &OsStr, shown: &str) -> Result<Resolved, FileError> {
        check_text(path)?;
        if let Some(granted) = self.granted_file(path) {
            return granted.resolved(shown);
        }
        let near = self.resolver(shown, false).resolve(path);
        let found = match near {
            // By links outside of the roots it may lead back.
            Err(FileError::Escapes { .. }) => self.resolver(shown, true).resolve(path).or(near),
            near => near,
        }?;
        self.check_open(&found, shown)?;
        Ok(found)
    }

    fn resolver<'a>(&'a self, path: &'a str, far: bool) -> Resolver<'a> {
        let place = Place::Outside(PathBuf::from("/"));
        let (pending, ways) = (VecDeque::new(), Vec::new());
        Resolver { workspace: self, path, far, place, pending, links: 0, ways }
    }
}

impl Resolver<'_> {
    fn resolve(mut self, path: &OsStr) -> Result<Resolved, FileError> {
        if let Some((root, rest)) = self.workspace.granted_folder(path) {
            self.place = self.inside(root)?;
            self.prepend(rest, false);
            return self.walk();
        }
        if path.as_bytes().starts_with(b"/") {
            self.enter_if_root()?;
        } else {
            self.place = self.inside(0)?;
        }
        self.prepend(path.as_bytes(), false);
        self.walk()
    }

    fn walk(mut self) -> Result<Resolved, FileError> {
        while let Some(part) = self.pending.pop_front() {
            let name = part.name.as_bytes();
            if name == b"." {
                continue;
            }
            if name == b".." {
                self.go_up()?;
                continue;
            }
            let folder = match &mut self.place {
                Place::Outside(at) => {
                    at.push(&part.name);
                    self.enter_if_root()?;
                    self.follow_outside()?;
                    continue;
                }
                Place::Inside { top, steps, .. } => match steps.last() {
                    Some(step) => Arc::clone(&step.node.handle),
                    None => Arc::clone(top),
                },
            };
            let node = match look_at(&folder, &*part.name) {
                Ok(handle) => {
                    let stat = rustix::fs::fstat(&handle).map_err(|errno| self.fail(errno))?;
                    Node { handle: Arc::new(handle), stat }
                }
                Err(Errno::NOENT) => return self.absent(folder, part),
                Err(errno) => return Err(self.fail(errno)),
            };
            match node.file_type() {
                FileType::Symlink => {
                    self.note_way(&part.name);
                    self.follow(&node.handle)?;
                }
                FileType::Directory => self.go_down(part.name, node)?,
                _ if self.pending.is_empty() => return self.finish(folder, part.name, node),
                _ => return Err(self.fail(Errno::NOTDIR)),
            }
        }
        self.finish_at_folder()
    }

    fn fail(&self, errno: Errno) -> FileError {
        FileError::from_errno(self.path, errno)
    }

    fn escapes(&self) -> FileError {
        FileError::Escapes { path: self.path.to_owned() }
    }

    fn inside(&self, root: usize) -> Result<Place, FileError> {
        let known = self.workspace.root_of(root).ok_or_else(|| self.escapes())?;
        let top = known.folder().map_err(|errno| self.fail(errno))?;
        Ok(Place::Inside { root, top, steps: Vec::new() })
    }

    /// Puts the components of `text` before what is pending.
    fn prepend(&mut self, text: &[u8], from_link: bool) {
        // A slash at the end asks for a directory, as `.` does.
        if text.ends_with(b"/") {
            self.pending.push_front(Part { name: OsString::from("."), from_link });
        }
        for name in text.rsplit(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let name = OsStr::from_bytes(name).to_owned();
            self.pending.push_front(Part { name, from_link });
        }
    }

    /// Walks into a root when the place outside is one.
    fn enter_if_root(&mut self) -> Result<(), FileError> {
        let Place::Outside(at) = &self.place else { return Ok(()) };
        let roots = &self.workspace.shared.roots;
        if let Some(root) = roots.iter().position(|root| root.is_at(at)) {
            self.place = self.inside(root)?;
        }
        Ok(())
    }

    fn go_up(&mut self) -> Result<(), FileError> {
        match &mut self.place {
            Place::Inside { root, steps, .. } => {
                if steps.pop().is_some() {
                    return Ok(());
                }
                let root = self.workspace.absolute(*root, Path::new(""));
                self.place = Place::Outside(root.parent().unwrap_or(&root).to_path_buf());
            }
            Place::Outside(at) => {
                at.pop();
            }
        }
        self.enter_if_root()
    }

    fn go_down(&mut self, name: OsString, node: Node) -> Result<(), FileError> {
        let Place::Inside { root, steps, .. } = &mut self.place else { return Ok(()) };
        steps.push(Step { name, node });
        // One root may lie inside another; what is in both belongs to the inner one.
        let roots = &self.workspace.shared.roots;
        if roots.len() > 1 {
            let at = self.workspace.absolute(*root, &beneath(steps));
            if let Some(inner) = roots.iter().position(|root| root.path == at) {
                self.place = self.inside(inner)?;
            }
        }
        Ok(())
    }

    /// Notes that the path goes on by a link in the folder that was come to.
    fn note_way(&mut self, link: &OsStr) {
        let Place::Inside { root, steps, .. } = &self.place else { return };
        let mut way = beneath(steps).join(link);
        for part in &self.pending {
            match part.name.as_bytes() {
                b"." => {}
                b".." => drop(way.pop()),
                _ => way.push(&part.name),
            }
        }
        self.ways.push((*root, way));
    }

    fn follow(&mut self, link: &OwnedFd) -> Result<(), FileError> {
        let target =
            rustix::fs::readlinkat(link, "", Vec::new()).map_err(|errno| self.fail(errno))?;
        self.go_on_by(target.as_bytes())
    }

    /// Follows the place outside, if it is a link. Of what cannot be looked at the name counts.
    fn follow_outside(&mut self) -> Result<(), FileError> {
        let Place::Outside(at) = &mut self.place else { return Ok(()) };
        if !self.far || KERNEL_FOLDERS.iter().any(|folder| at.starts_with(folder)) {
            return Ok(());
        }
        let Ok(target) = rustix::fs::readlink(&*at, Vec::new()) else { return Ok(()) };
        at.pop();
        self.go_on_by(target.as_bytes())
    }

    /// Goes on by the text of a link in the folder that was come to.
    fn go_on_by(&mut self, target: &[u8]) -> Result<(), FileError> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(self.fail(Errno::LOOP));
        }
        self.prepend(target, true);
        if target.starts_with(b"/") {
            self.place = Place::Outside(PathBuf::from("/"));
            self.enter_if_root()?;
        }
        Ok(())
    }

    /// The path goes on, but nothing is there.
    fn absent(mut self, folder: Arc<OwnedFd>, first: Part) -> Result<Resolved, FileError> {
        let Place::Inside { root, steps, .. } = &self.place else { return Err(self.escapes()) };
        let (root, mut beneath) = (*root, beneath(steps));
        let mut depth = steps.len();
        let dangling = first.from_link;
        let mut names = vec![first.name];
        let mut goes_up = false;
        let mut asks_folder = false;
        for part in std::mem::take(&mut self.pending) {
            asks_folder = part.name == ".";
            if part.name == ".." {
                goes_up = true;
                if names.pop().is_none() {
                    depth = depth.checked_sub(1).ok_or_else(|| self.escapes())?;
                }
            } else if !asks_folder {
                names.push(part.name);
            }
        }
        if goes_up {
            return Err(self.fail(Errno::NOENT));
        }
        beneath.extend(&names);
        // With a slash at the end all of it is folders, and the target has no name.
        let name = if asks_folder { OsString::new() } else { names.pop().unwrap_or_default() };
        let ways = self.ways;
        Ok(Resolved { root, beneath, folder, missing: names, name, node: None, dangling, ways })
    }

    fn finish(
        self,
        folder: Arc<OwnedFd>,
        name: OsString,
        node: Node,
    ) -> Result<Resolved, FileError> {
        let Place::Inside { root, steps, .. } = &self.place else { return Err(self.escapes()) };
        let (root, beneath, ways) = (*root, beneath(steps).join(&name), self.ways);
        let node = Some(node);
        Ok(Resolved { root, beneath, folder, missing: vec![], name, node, dangling: false, ways })
    }

    fn finish_at_folder(self) -> Result<Resolved, FileError> {
        let escapes = self.escapes();
        let Place::Inside { root, top, mut steps } = self.place else { return Err(escapes) };
        let beneath = beneath(&steps);
        let (name, node) = match steps.pop() {
            Some(step) => (step.name, step.node),
            None => {
                let stat = rustix::fs::fstat(&top)
                    .map_err(|errno| FileError::from_errno(self.path, errno))?;
                (OsString::new(), Node { handle: Arc::clone(&top), stat })
            }
        };
        let folder = steps.pop().map_or(top, |step| step.node.handle);
        let (node, ways) = (Some(node), self.ways);
        Ok(Resolved { root, beneath, folder, missing: vec![], name, node, dangling: false, ways })
    }
}

fn beneath(steps: &[Step]) -> PathBuf {
    let mut bytes = Vec::new();
    for step in steps {
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(step.name.as_bytes());
    }
    PathBuf::from(OsString::from_vec(bytes))
}

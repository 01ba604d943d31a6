//! Has bubblewrap make the namespaces and the file tree of one command, where the kernel lets no
//! other program have them.
//!
//! A helper looks at what there is, opens what is to be bound and becomes bubblewrap, which starts
//! the helper again inside, as the first process of the command's namespace (see `inside.rs`).
//! Sources are open descriptors, so that nobody can exchange them; targets are names. A name that
//! bubblewrap would have to make never lies where a command can have put a link before.

use std::collections::HashSet;
use std::ffi::{CStr, OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, MemfdFlags, Mode, OFlags, ResolveFlags, SeekFrom, fstat, openat2};
use rustix::io::{Errno, FdFlags};

use super::carve::{CarveOut, OWN_FOLDER, carve_outs};
use super::closed::open_closed;
use super::control::{Control, exit, open_null, replace, reset_signals};
use super::inside::{PROC_MASKS, become_user};
use super::layout::{Layout, Part, Step, unless_exchanged};
use super::limits::write_file;
use super::openat::{open_plain, write_all};
use super::request::{HELPER_NAME, Inside, Refused, Report, Wall};
use super::wire::{Readable, Reader, Sendable, Writer};
use crate::file_system::Identity;
use crate::mounts::Mounts;

/// The one place where it is taken from.
pub(crate) const BUBBLEWRAP: &str = "/usr/bin/bwrap";

/// How bubblewrap starts this program: wherever its file is, here is a descriptor of it.
pub(super) const PROGRAM: &CStr = c"/proc/self/fd/9";
const PROGRAM_HANDLE: i32 = 9;
const ARGUMENTS_HANDLE: i32 = 8;

/// In the folder of private folders: what is put on what nobody may see.
pub(crate) const EMPTY_FOLDER: &str = "empty-folder";
pub(crate) const EMPTY_FILE: &str = "empty-file";

/// What is made for one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Enclosure {
    pub(crate) layout: Layout,
    pub(crate) inside: Inside,
    /// Holds what lasts as long as the session: a folder or file for each step that is private or
    /// a file, named by the step's number, and the two empty ones. Files right within what is private
    /// are in its folder.
    pub(crate) private: PathBuf,
    /// Its device and inode: a command that has the folder above in its session can put another there.
    pub(crate) identity: Identity,
}

/// Never returns. Becomes bubblewrap. The socket is standard input, and stays it.
pub(super) fn enter() -> ! {
    let Ok(control) = Control::take() else { exit(2) };
    // Ctrl-C on the agent's terminal is the agent's to handle.
    let _ = rustix::process::setsid();
    reset_signals();
    let enclosure: Enclosure = match control.read() {
        Ok(enclosure) => enclosure,
        Err(errno) => control.fail(errno),
    };
    let refused = become_bubblewrap(&control, &enclosure);
    control.report(Report::Refused(refused));
    exit(1);
}

fn become_bubblewrap(control: &Control, enclosure: &Enclosure) -> Refused {
    let prepared = (|| {
        // Numbers that nothing opened below may get.
        let program = rustix::fs::open("/proc/self/exe", OFlags::PATH, Mode::empty())?;
        replace(&program, PROGRAM_HANDLE);
        replace(&open_null()?, ARGUMENTS_HANDLE);
        become_user(enclosure.layout.owner)?;
        // Where memory runs out, the kernel ends a command before the agent.
        let _ = write_file("/proc/self/oom_score_adj", b"500");
        let arguments = arguments(enclosure)?;
        replace(&arguments.to_file()?, ARGUMENTS_HANDLE);
        replace(&control.0, 0);
        // The descriptors stay open.
        Ok(arguments)
    })();
    let _arguments = match prepared {
        Ok(arguments) => arguments,
        Err(errno) => return Wall::Mounts.refused(errno),
    };
    let program = [PROGRAM, HELPER_NAME].map(|word| OsStr::from_bytes(word.to_bytes()));
    #[expect(clippy::disallowed_methods, reason = "the helper's own process becomes bubblewrap")]
    let mut bubblewrap = std::process::Command::new(BUBBLEWRAP);
    bubblewrap.env_clear().arg("--args").arg(ARGUMENTS_HANDLE.to_string()).arg("--").args(program);
    if enclosure.layout.listen {
        bubblewrap.arg("listen");
    }
    let error = bubblewrap.exec();
    let errno = error.raw_os_error().map_or(Errno::NOENT, Errno::from_raw_os_error);
    Wall::Namespaces.refused(errno)
}

/// What bubblewrap is told, and the descriptors that it is told of.
#[derive(Default)]
struct Arguments {
    words: Vec<OsString>,
    handles: Vec<OwnedFd>,
}

impl Arguments {
    fn say<const N: usize>(&mut self, words: [&OsStr; N]) {
        self.words.extend(words.map(OsStr::to_owned));
    }

    fn option(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.say([name.as_ref(), value.as_ref()]);
    }

    fn bind_open(&mut self, source: OwnedFd, target: &Path, access: Access) -> Result<(), Errno> {
        rustix::io::fcntl_setfd(&source, FdFlags::empty())?;
        let name = if access == Access::Write { "--bind-fd" } else { "--ro-bind-fd" };
        let number = source.as_raw_fd().to_string();
        self.say([name.as_ref(), number.as_ref(), target.as_os_str()]);
        self.handles.push(source);
        Ok(())
    }

    /// An empty folder of this command's alone.
    fn fresh(&mut self, target: impl AsRef<OsStr>, mode: u32, bytes_max: u64) {
        self.option("--perms", format!("{mode:04o}"));
        self.option("--size", bytes_max.to_string());
        self.option("--tmpfs", target);
    }

    fn to_file(&self) -> Result<OwnedFd, Errno> {
        let file = rustix::fs::memfd_create(c"arguments", MemfdFlags::CLOEXEC)?;
        for word in &self.words {
            write_all(&file, &[word.as_bytes(), &[0]].concat())?;
        }
        rustix::fs::seek(&file, SeekFrom::Start(0))?;
        Ok(file)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

fn arguments(enclosure: &Enclosure) -> Result<Arguments, Errno> {
    let Enclosure { layout, inside, .. } = enclosure;
    let private = &open_private(&enclosure.private, enclosure.identity)?;
    let mut arguments = Arguments::default();
    for name in ["user", "ipc", "pid", "uts", "cgroup-try"] {
        arguments.say([format!("--unshare-{name}").as_ref()]);
    }
    if layout.own_network {
        arguments.say(["--unshare-net".as_ref()]);
    }
    arguments.say(["--as-pid-1".as_ref()]);
    arguments.option("--cap-drop", "ALL");
    arguments.option("--chdir", "/");
    arguments.say(["--ro-bind", "/", "/"].map(OsStr::new));
    arguments.option("--dev", "/dev");
    arguments.fresh("/dev/shm", 0o1777, layout.temporary_bytes_max);
    arguments.option("--proc", "/proc");
    if rustix::process::geteuid().is_root() {
        for name in PROC_MASKS {
            let path = Path::new("/proc").join(name);
            hide(&mut arguments, &path, &path, private)?;
        }
    }
    let (frozen, pinned): (Vec<_>, Vec<_>) =
        carve_outs(inside)?.into_iter().partition(|carve_out| carve_out.read_only);
    let pinned = pinned.iter().map(CarveOut::path);
    let pinned = pinned.filter(|path| needs_pin(&layout.steps, inside, path)).collect();
    steps(&mut arguments, enclosure, private, pinned)?;
    for path in frozen.iter().map(CarveOut::path) {
        // What lies behind a link has a path of its own.
        if let Ok(handle) = open_plain(&path) {
            arguments.bind_open(handle, &path, Access::Read)?;
        }
    }
    // On what was bound, or that would cover it. Tenon's own in a root is in sight, and read-only as a whole.
    let is_own =
        |path: &Path| inside.roots.iter().any(|root| path.starts_with(root.join(OWN_FOLDER)));
    let hidden = inside.hidden.iter().filter(|path| shows(&layout.steps, path) && !is_own(path));
    for path in hidden {
        hide(&mut arguments, path, &outside(&layout.steps, path), private)?;
    }
    for step in layout.steps.iter().filter(|step| step.part == Part::Cover) {
        arguments.option("--remount-ro", &step.path);
    }
    arguments.option("--remount-ro", "/dev");
    arguments.option("--remount-ro", "/proc");
    Ok(arguments)
}

fn steps(
    arguments: &mut Arguments,
    Enclosure { layout, inside, .. }: &Enclosure,
    private: &OwnedFd,
    mut pinned: Vec<PathBuf>,
) -> Result<(), Errno> {
    let mounts = Mounts::of_this_process();
    let with_fresh = layout.steps.iter().zip(fresh_folders(&layout.steps));
    for (number, (step, fresh)) in with_fresh.enumerate() {
        let Step { path, part } = step;
        // They would cover what is beneath, which comes after what is above.
        for above in pinned.extract_if(.., |pinned| path.starts_with(pinned)) {
            bind_itself(arguments, &above, &mounts)?;
        }
        let above = above(&layout.steps, path);
        if let Some(Step { part: Part::Kept { writable: true, .. }, .. }) = above {
            // A command may have put links here; what is not plainly there is not bound.
            unless_exchanged(step, &layout.steps, open_plain(path))?;
        }
        if let Some(folder) = fresh {
            arguments.fresh(&folder, 0o755, layout.temporary_bytes_max);
        }
        match part {
            Part::Cover => arguments.fresh(path, 0o555, 1 << 20),
            Part::File { .. } | Part::Link { .. } if directly_in(&layout.steps, path).is_some() => {
            }
            Part::Link { target } => {
                arguments.say(["--symlink".as_ref(), target.as_os_str(), path.as_os_str()]);
            }
            Part::Private { .. } | Part::File { .. } => {
                let own = open_in(private, &number.to_string())?;
                arguments.bind_open(own, path, Access::Write)?;
            }
            Part::Kept { source, writable } => {
                let is_written = *writable && !is_only_read(inside, path);
                let opened = unless_exchanged(step, &layout.steps, open_plain(source))?;
                let Some(opened) = opened else { continue };
                bind_kept(arguments, (opened, source), path, is_written, &mounts)?;
            }
        }
    }
    for path in pinned {
        bind_itself(arguments, &path, &mounts)?;
    }
    Ok(())
}

/// Keeps a folder where it is. Behind a link, or gone again, it is above nothing that is hidden.
fn bind_itself(arguments: &mut Arguments, path: &Path, mounts: &Mounts) -> Result<(), Errno> {
    let opened = open_plain(path).ok();
    opened.map_or(Ok(()), |opened| bind_kept(arguments, (opened, path), path, true, mounts))
}

fn bind_kept(
    arguments: &mut Arguments,
    (opened, source): (OwnedFd, &Path),
    path: &Path,
    is_written: bool,
    mounts: &Mounts,
) -> Result<(), Errno> {
    let access = if is_written { Access::Write } else { Access::Read };
    arguments.bind_open(opened, path, access)?;
    if is_written {
        // They are bound along, writable.
        for mounted in mounts.beneath(source) {
            arguments.option("--remount-ro", mounted.path);
        }
    }
    Ok(())
}

/// Whether the root that a path lies in is only read by this call.
fn is_only_read(inside: &Inside, path: &Path) -> bool {
    let above = inside.roots.iter().chain(&inside.repositories);
    let above = above.filter(|root| path.starts_with(root));
    let nearest = above.max_by_key(|root| root.as_os_str().len());
    nearest.is_some_and(|root| inside.read_only.contains(root))
}

/// Puts something empty on what is at `path`, and outside at `source`, if something is.
fn hide(
    arguments: &mut Arguments,
    path: &Path,
    source: &Path,
    private: &OwnedFd,
) -> Result<(), Errno> {
    let target = match open_closed(source) {
        Ok(target) => target,
        // A link cannot be mounted on, and what it leads to has a path of its own.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let empty = match FileType::from_raw_mode(fstat(&target)?.st_mode) {
        FileType::Directory => EMPTY_FOLDER,
        FileType::Symlink => return Ok(()),
        _ => EMPTY_FILE,
    };
    arguments.bind_open(open_in(private, empty)?, path, Access::Read)
}

/// Opens the folder of private folders, if it is the one that was made.
fn open_private(path: &Path, made: Identity) -> Result<OwnedFd, Errno> {
    let folder = open_plain(path)?;
    let found = fstat(&folder)?;
    ((found.st_dev, found.st_ino) == made).then_some(folder).ok_or(Errno::STALE)
}

/// Opens what is in the folder of private folders by its name, and no link.
fn open_in(private: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(private, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// Whether a command could move what is at `path` if it were not bound on itself: it may write the folder that this lies
/// in, and nothing is bound there already.
fn needs_pin(steps: &[Step], inside: &Inside, path: &Path) -> bool {
    let is_writable = |step: &Step| matches!(step.part, Part::Kept { writable: true, .. });
    !steps.iter().any(|step| step.path == path)
        && above(steps, path).is_some_and(is_writable)
        && !is_only_read(inside, path)
}

/// Returns the step in whose tree `path` lies.
pub(crate) fn above<'a>(steps: &'a [Step], path: &Path) -> Option<&'a Step> {
    let holds = |step: &&Step| path.starts_with(&step.path) && path != step.path;
    steps.iter().filter(holds).max_by_key(|step| step.path.as_os_str().len())
}

/// Returns the number of the private folder that `path` lies in without another between them. A file
/// or link is put there as it is: what is bound cannot be exchanged, as programs do with their settings.
pub(crate) fn directly_in(steps: &[Step], path: &Path) -> Option<usize> {
    let is_private = |step: &Step| matches!(step.part, Part::Private { .. });
    steps.iter().position(|step| path.parent() == Some(&step.path) && is_private(step))
}

/// Returns where outside what is at `path` inside comes from.
fn outside(steps: &[Step], path: &Path) -> PathBuf {
    let exactly = steps.iter().find(|step| step.path == path);
    let from = |step: &Step| match (&step.part, path.strip_prefix(&step.path).ok()?) {
        (Part::Kept { source, .. }, rest) if rest.as_os_str().is_empty() => Some(source.clone()),
        (Part::Kept { source, .. }, rest) => Some(source.join(rest)),
        _ => None,
    };
    exactly.or_else(|| above(steps, path)).and_then(from).unwrap_or_else(|| path.to_path_buf())
}

/// Whether what is at `path` outside is there inside as well.
pub(crate) fn shows(steps: &[Step], path: &Path) -> bool {
    let exactly = steps.iter().find(|step| step.path == path);
    match exactly.or_else(|| above(steps, path)) {
        None => true,
        Some(step) => matches!(step.part, Part::Kept { .. }),
    }
}

/// Returns the fresh folder that is mounted before each step, if one is: each once, or it would cover what
/// was bound beneath it before.
fn fresh_folders(steps: &[Step]) -> Vec<Option<PathBuf>> {
    let mut mounted = HashSet::new();
    let fresh = steps.iter().map(|Step { path, .. }| {
        let folder = first_below_private(above(steps, path), path);
        folder.filter(|folder| mounted.insert(folder.clone()))
    });
    fresh.collect()
}

/// A private folder lasts from command to command, and what a command puts there may be links. So
/// in the place of a folder that something is bound beneath, a fresh one is mounted: what is in it
/// nobody made, and it cannot be moved away, being mounted in every command of the session.
fn first_below_private(above: Option<&Step>, path: &Path) -> Option<PathBuf> {
    let Some(Step { path: private, part: Part::Private { .. } }) = above else { return None };
    let first = private.join(path.strip_prefix(private).ok()?.components().next()?);
    (first != path).then_some(first)
}

impl Sendable for Enclosure {
    fn write(&self, writer: &mut Writer) {
        self.layout.write(writer);
        self.inside.write(writer);
        writer.field(self.private.as_os_str());
        writer.number(self.identity.0);
        writer.number(self.identity.1);
    }
}

impl Readable for Enclosure {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            layout: Layout::read(reader)?,
            inside: Inside::read(reader)?,
            private: reader.path()?,
            identity: (reader.number()?, reader.number()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::request::Owner;

    fn steps() -> Vec<Step> {
        let kept = |source: &str, writable| Part::Kept { source: source.into(), writable };
        let private = || Part::Private { mode: 0o700 };
        let parts = [
            ("/home", Part::Cover),
            ("/home/u", private()),
            ("/home/u/.cargo", kept("/home/u/.cargo", false)),
            ("/home/u/.local/bin", kept("/home/u/.local/bin", false)),
            ("/home/u/work/a", kept("/home/u/work/a", true)),
        ];
        parts.map(|(path, part)| Step { path: path.into(), part }).into()
    }

    #[test]
    fn nothing_is_made_where_a_command_can_have_put_a_link() {
        let steps = steps();
        let check = |path: &str, expected: Option<&str>| {
            let path = Path::new(path);
            let found = first_below_private(above(&steps, path), path);
            assert_eq!(found, expected.map(PathBuf::from), "{path:?}");
        };
        check("/home/u", None);
        check("/home/u/.cargo", None);
        check("/home/u/.local/bin", Some("/home/u/.local"));
        check("/home/u/work/a", Some("/home/u/work"));
        check("/home/u/.cargo/bin", None);
        check("/srv/a", None);
    }

    #[test]
    fn what_lies_in_a_private_folder_itself_is_put_there() {
        let steps = steps();
        let check = |path: &str, expected| {
            assert_eq!(directly_in(&steps, Path::new(path)), expected, "{path}");
        };
        check("/home/u/.gitconfig", Some(1));
        check("/home/u/.pip/pip.conf", None);
        check("/home/u/.cargo/config.toml", None);
        check("/home/other", None);
    }

    #[test]
    fn a_fresh_folder_is_mounted_once_whatever_comes_between_what_is_beneath_it() {
        let private = Part::Private { mode: 0o1777 };
        let kept = Part::Kept { source: "/var/tmp".into(), writable: true };
        let parts = [
            ("/var/tmp", private.clone(), None),
            ("/var/tmp/u/added", kept.clone(), Some("/var/tmp/u")),
            ("/var/tmp/u/home", private, None),
            ("/var/tmp/u/home/.local/bin", kept.clone(), Some("/var/tmp/u/home/.local")),
            ("/var/tmp/u/work", kept, None),
        ];
        let expected = parts.each_ref().map(|(.., fresh)| fresh.map(PathBuf::from));
        let steps = parts.map(|(path, part, _)| Step { path: path.into(), part });
        assert_eq!(fresh_folders(&steps), expected);
    }

    #[test]
    fn what_is_covered_or_private_shows_nothing_of_outside() {
        let steps = steps();
        let check = |path: &str, expected| assert_eq!(shows(&steps, Path::new(path)), expected);
        check("/etc/shadow", true);
        check("/home/other", false);
        check("/home/u/.ssh", false);
        check("/home/u/.cargo/credentials", true);
        check("/home/u/work/a/state", true);
        check("/home/u/work/a", true);
        check("/home/u/work", false);
    }

    #[test]
    fn what_a_command_could_move_is_bound_on_itself() {
        let steps = steps();
        let check = |path: &str, read_only: &[&str], expected| {
            let read_only = read_only.iter().map(PathBuf::from).collect();
            let root = PathBuf::from("/home/u/work/a");
            let inside = Inside {
                is_enclosed: true,
                folder: root.clone(),
                owner: Owner { user: 1, group: 1 },
                roots: vec![root],
                repositories: Vec::new(),
                read_only,
                lifted: Vec::new(),
                hidden: Vec::new(),
                pinned: Vec::new(),
                mounted: Vec::new(),
            };
            assert_eq!(needs_pin(&steps, &inside, Path::new(path)), expected, "{path}");
        };
        check("/home/u/work/a/run", &[], true);
        check("/home/u/work/a/run", &["/home/u/work/a"], false);
        check("/home/u/.cargo/registry", &[], false);
        check("/home/u/.cache", &[], false);
        check("/home/u/work/a", &[], false);
    }

    #[test]
    fn a_folder_that_was_exchanged_is_not_bound() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let (private, other) = (top.join("private"), top.join("other"));
        for folder in [&private, &other] {
            rustix::fs::mkdir(folder, Mode::RWXU).unwrap();
        }
        let identity = crate::file_system::identity_of_folder(&private).unwrap();
        let opened = || open_private(&private, identity);
        rustix::fs::symlink(&other, private.join("0")).unwrap();
        assert_eq!(open_in(&opened().unwrap(), "0").unwrap_err(), Errno::LOOP);
        rustix::fs::rename(&private, top.join("away")).unwrap();
        rustix::fs::symlink(&other, &private).unwrap();
        assert_eq!(opened().unwrap_err(), Errno::LOOP);
        rustix::fs::unlink(&private).unwrap();
        rustix::fs::rename(&other, &private).unwrap();
        assert_eq!(opened().unwrap_err(), Errno::STALE);
    }
}

//! What the file tree looks like to a command: read-only everywhere, with private folders, the
//! workspace and little else put on top.
//!
//! The agent plans it (see `sandbox/plan.rs`), the warm helper carries it out once, in its own
//! mount namespace. Everything that is put somewhere is taken hold of first, because what is put
//! on top hides it.

use std::ffi::{CString, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Uid, chmodat, chownat, fstat, mkdirat,
    openat2, symlinkat,
};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, MountFlags, MountPropagationFlags, mount, mount_change};

use super::namespace::{Deep, Tree, set_all, set_attributes};
use super::openat::{open_plain, write_all};
use super::request::{Owner, Refused, Wall};
use super::wire::{Readable, Reader, Sendable, Writer};

/// An empty folder and an empty file, to be put on what nobody may see.
pub(super) const EMPTY_FOLDER: &str = "/dev/.empty-folder";
pub(super) const EMPTY_FILE: &str = "/dev/.empty-file";

/// What a program may expect in /dev. The terminal is the one of its session, which has none.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// What the kernel says of a path that leads elsewhere by now, or nowhere.
const EXCHANGED: [Errno; 4] = [Errno::LOOP, Errno::NOENT, Errno::NOTDIR, Errno::ACCESS];

/// Files in private folders; each costs the kernel about 1 KiB.
const INODES_MAX: u32 = 400_000;

/// What the warm helper is told when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// In order: what is beneath comes after what is above.
    pub(crate) steps: Vec<Step>,
    /// Folders among them, with nothing put beneath, that seem writable: what is written there is
    /// private and gone at the end. Where the kernel does not stack folders they are read-only.
    pub(crate) layered: Vec<PathBuf>,
    /// Files beneath them, which are these to a command.
    pub(crate) instead: Vec<Instead>,
    pub(crate) owner: Owner,
    /// In all private folders and layers together.
    pub(crate) temporary_bytes_max: u64,
    /// Of each call.
    pub(crate) processes_max: u64,
    pub(crate) own_network: bool,
    /// Whether a socket for the proxy is wanted.
    pub(crate) listen: bool,
    /// What most calls may write, in order: the rules for that are made once.
    pub(crate) writable: Vec<PathBuf>,
    /// Private folders that the agent looks into, at most [`super::pass::LISTED_MAX`].
    pub(crate) listed: Vec<PathBuf>,
}

/// A file, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instead {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// Absolute, without symbolic links.
    pub(crate) path: PathBuf,
    pub(crate) part: Part,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// An empty folder that stays empty.
    Cover,
    /// An empty folder to write in.
    Private { mode: u32 },
    /// What is at `source`, which is mostly the same place.
    Kept { source: PathBuf, writable: bool },
    /// A file with these bytes, in a private folder.
    File { bytes: Vec<u8> },
    /// A symbolic link, in an empty or private folder.
    Link { target: PathBuf },
}

impl Part {
    /// Whether it is something of the machine's that commands see and do not write.
    pub(crate) fn is_only_read(&self) -> bool {
        matches!(self, Self::Kept { writable: false, .. })
    }
}

/// Returns what a step came to; `None` where commands do without it: what they would only read, and whose name somebody
/// exchanged meanwhile, as a command of another session can.
///
/// # Errors
/// As it was; `STALE` for such a step in a folder of the session, which its commands could write without it.
pub(super) fn unless_exchanged<T>(
    step: &Step,
    steps: &[Step],
    answer: Result<T, Errno>,
) -> Result<Option<T>, Errno> {
    let is_in_root = || {
        let is_root = |step: &Step| matches!(step.part, Part::Kept { writable: true, .. });
        steps.iter().any(|above| is_root(above) && step.path.starts_with(&above.path))
    };
    match answer {
        Err(errno) if step.part.is_only_read() && EXCHANGED.contains(&errno) => {
            match is_in_root() {
                true => Err(Errno::STALE),
                false => Ok(None),
            }
        }
        answer => answer.map(Some),
    }
}

/// Carries the layout out.
pub(super) fn build(layout: &Layout) -> Result<(), Refused> {
    carry_out(layout).map_err(|errno| Wall::Mounts.refused(errno))
}

/// Opens the folders that the agent looks into, which are made.
pub(super) fn open_listed(layout: &Layout) -> Result<Vec<OwnedFd>, Refused> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = |path| openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let opened = layout.listed.iter().map(open).collect::<Result<_, Errno>>();
    opened.map_err(|errno| Wall::Mounts.refused(errno))
}

fn carry_out(layout: &Layout) -> Result<(), Errno> {
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let mut taken = Vec::new();
    for step in &layout.steps {
        let tree = match &step.part {
            Part::Kept { source, writable } => take(source, *writable).map(Some),
            _ => Ok(None),
        };
        taken.extend(unless_exchanged(step, &layout.steps, tree)?.map(|tree| (step, tree)));
    }
    let mut devices = Vec::new();
    for name in DEVICES {
        devices.push((name, Tree::of(CWD, &*format!("/dev/{name}"))?));
    }
    set_all(held())?;
    let private = mount_memory(layout)?;
    let mut made = Vec::new();
    for (number, (step, tree)) in taken.iter().enumerate() {
        let answer = carry_out_step(step, tree.as_ref(), &private, number);
        made.extend(unless_exchanged(step, &layout.steps, answer)?.map(|()| &step.path));
    }
    let is_missing = |path: &Path| {
        let is_step = layout.steps.iter().any(|step| step.path == path);
        is_step && !made.iter().any(|made| *made == path)
    };
    let layered = layout.layered.iter().filter(|path| !is_missing(path));
    for (number, path) in layered.enumerate() {
        let instead = layout.instead.iter().filter(|file| file.path.starts_with(path));
        match stack(path, &private, number, instead.clone()) {
            // Without it a toolchain can fetch nothing new, and everything else works.
            Err(_) if instead.count() == 0 => {}
            // What was to be seen through it must not be.
            Err(errno) => return Err(errno),
            Ok(()) => {}
        }
    }
    let shared = private.folder("shm", 0o1777)?;
    // On top of the memory, which then has no name. To unmount it would take the kernel longer than
    // all mounts of a small layout.
    make_devices(&devices, &shared)?;
    for step in layout.steps.iter().filter(|step| step.part == Part::Cover) {
        close_cover(&step.path, &layout.steps)?;
    }
    Ok(())
}

/// The one file system in memory that everything private is in, so that all of it has one limit.
struct Memory {
    top: OwnedFd,
    owner: Owner,
}

/// Where it is mounted while the rest is made. What commands see there comes last.
const MEMORY: &str = "/dev";

fn mount_memory(layout: &Layout) -> Result<Memory, Errno> {
    let place = Path::new(MEMORY);
    mount_empty(&open_plain(place)?, layout.temporary_bytes_max)?;
    Ok(Memory { top: open_plain(place)?, owner: layout.owner })
}

impl Memory {
    /// Makes a folder in it that the owner writes, to be mounted somewhere.
    fn folder(&self, name: &str, mode: u32) -> Result<Tree, Errno> {
        self.make(name, mode)?;
        Tree::of(&self.top, name)
    }

    fn make(&self, name: &str, mode: u32) -> Result<(), Errno> {
        let (user, group) = (Uid::from_raw(self.owner.user), Gid::from_raw(self.owner.group));
        mkdirat(&self.top, name, Mode::RWXU)?;
        chownat(&self.top, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
        chmodat(&self.top, name, Mode::from_raw_mode(mode), AtFlags::empty())
    }

    /// Makes a link of the owner's: in a folder that all may write, the kernel follows no other.
    fn link(&self, target: &Path, path: &Path) -> Result<(), Errno> {
        if let Some(above) = path.parent() {
            open_folder(above)?;
        }
        symlinkat(target, CWD, path)?;
        let (user, group) = (Uid::from_raw(self.owner.user), Gid::from_raw(self.owner.group));
        chownat(CWD, path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
    }
}

fn held() -> MountAttrFlags {
    MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
}

/// Takes hold of what is at `path`. Mounts inside of it come along, for reading only.
fn take(path: &Path, writable: bool) -> Result<Tree, Errno> {
    let tree = Tree::of(open_plain(path)?, c"")?;
    tree.set(held(), Deep::Yes)?;
    if writable {
        tree.make_top_writable()?;
    }
    Ok(tree)
}

fn carry_out_step(
    step: &Step,
    tree: Option<&Tree>,
    private: &Memory,
    number: usize,
) -> Result<(), Errno> {
    match &step.part {
        Part::Cover => {
            private.folder(&format!("{number}"), 0o555)?.mount_on(open_folder(&step.path)?)
        }
        Part::Private { mode } => {
            private.folder(&format!("{number}"), *mode)?.mount_on(open_folder(&step.path)?)
        }
        Part::Kept { .. } => {
            let Some(tree) = tree else { return Err(Errno::INVAL) };
            let is_folder = FileType::from_raw_mode(fstat(&tree.0)?.st_mode).is_dir();
            let target = if is_folder { open_folder(&step.path)? } else { open_file(&step.path)? };
            tree.mount_on(target)
        }
        Part::File { bytes } => write_new(&step.path, bytes, 0o644),
        Part::Link { target } => private.link(target, &step.path),
    }
}

/// Opens a folder and makes it where it is not there, which is possible in a private folder.
fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    match open_plain(path) {
        Err(Errno::NOENT) => {}
        answer => return answer,
    }
    if let Some(above) = path.parent() {
        open_folder(above)?;
    }
    mkdirat(CWD, path, Mode::from_raw_mode(0o755))?;
    open_plain(path)
}

fn open_file(path: &Path) -> Result<OwnedFd, Errno> {
    match open_plain(path) {
        Err(Errno::NOENT) => write_new(path, b"", 0o644)?,
        answer => return answer,
    }
    open_plain(path)
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Errno> {
    if let Some(above) = path.parent() {
        open_folder(above)?;
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(mode))?;
    write_all(&file, bytes)
}

fn mount_empty(target: &OwnedFd, bytes_max: u64) -> Result<(), Errno> {
    let options = format!("mode=755,size={bytes_max},nr_inodes={INODES_MAX}");
    let options = CString::new(options).map_err(|_| Errno::INVAL)?;
    // By descriptor: what was looked at is what is mounted on.
    let place = format!("/proc/self/fd/{}", target.as_raw_fd());
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(c"tmpfs", &*place, c"tmpfs", flags, &*options)
}

/// Puts a private folder in front of the one at `path`, and both as one in its place. Refused where
/// something is mounted within: a stack would hide that. What is `instead` in the private one hides
/// what is there.
fn stack<'a>(
    path: &Path,
    private: &Memory,
    number: usize,
    instead: impl Iterator<Item = &'a Instead>,
) -> Result<(), Errno> {
    let below = open_plain(path)?;
    let (upper, work) = (format!("upper{number}"), format!("work{number}"));
    private.make(&upper, 0o755)?;
    private.make(&work, 0o700)?;
    for file in instead {
        let beneath = file.path.strip_prefix(path).map_err(|_| Errno::INVAL)?;
        write_new(&Path::new(MEMORY).join(&upper).join(beneath), &file.bytes, 0o644)?;
    }
    // By descriptor: a path would need its commas and colons escaped.
    let [below, top] =
        [&below, &private.top].map(|handle| format!("/proc/self/fd/{}", handle.as_raw_fd()));
    let options = format!("lowerdir={below},upperdir={top}/{upper},workdir={top}/{work},userxattr");
    let options = CString::new(options).map_err(|_| Errno::INVAL)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(c"overlay", &*below, c"overlay", flags, &*options)
}

/// Makes a cover read-only; what is mounted beneath stays as it is.
fn close_cover(path: &Path, steps: &[Step]) -> Result<(), Errno> {
    // A later step at the same place lies on top of it.
    if steps.iter().filter(|step| step.path == path).count() > 1 {
        return Ok(());
    }
    set_attributes(&open_plain(path)?, held(), MountAttrFlags::empty(), Deep::No)
}

fn make_devices(devices: &[(&str, Tree)], shared: &Tree) -> Result<(), Errno> {
    mount_empty(&open_plain(Path::new("/dev"))?, 1 << 20)?;
    for (name, tree) in devices {
        let path = PathBuf::from("/dev").join(name);
        write_new(&path, b"", 0o666)?;
        // Devices are written all the same; what is kept is their mode, owner and times.
        let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        tree.set(attributes, Deep::No)?;
        tree.mount_on(open_plain(&path)?)?;
    }
    for (name, target) in [
        (c"/dev/fd", c"/proc/self/fd"),
        (c"/dev/stdin", c"/proc/self/fd/0"),
        (c"/dev/stdout", c"/proc/self/fd/1"),
        (c"/dev/stderr", c"/proc/self/fd/2"),
        (c"/dev/ptmx", c"pts/ptmx"),
    ] {
        symlinkat(target, CWD, name)?;
    }
    let pts = open_folder(Path::new("/dev/pts"))?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let place = format!("/proc/self/fd/{}", pts.as_raw_fd());
    mount(c"devpts", &*place, c"devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")?;
    shared.mount_on(open_folder(Path::new("/dev/shm"))?)?;
    mkdirat(CWD, EMPTY_FOLDER, Mode::from_raw_mode(0o555))?;
    write_new(Path::new(EMPTY_FILE), b"", 0o444)?;
    let read_only = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOSUID;
    set_attributes(&open_plain(Path::new("/dev"))?, read_only, MountAttrFlags::empty(), Deep::No)
}

impl Sendable for Layout {
    fn write(&self, writer: &mut Writer) {
        writer.each(&self.steps, |writer, step| {
            writer.field(step.path.as_os_str());
            match &step.part {
                Part::Cover => writer.number(0),
                Part::Private { mode } => {
                    writer.number(1);
                    writer.number(u64::from(*mode));
                }
                Part::Kept { source, writable } => {
                    writer.number(2);
                    writer.field(source.as_os_str());
                    writer.flag(*writable);
                }
                Part::File { bytes } => {
                    writer.number(3);
                    writer.field(&OsString::from_vec(bytes.clone()));
                }
                Part::Link { target } => {
                    writer.number(4);
                    writer.field(target.as_os_str());
                }
            }
        });
        writer.list(&self.layered);
        writer.each(&self.instead, |writer, file| {
            writer.field(file.path.as_os_str());
            writer.field(&OsString::from_vec(file.bytes.clone()));
        });
        self.owner.write(writer);
        writer.number(self.temporary_bytes_max);
        writer.number(self.processes_max);
        writer.flag(self.own_network);
        writer.flag(self.listen);
        writer.list(&self.writable);
        writer.list(&self.listed);
    }
}

impl Readable for Layout {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let step = |reader: &mut Reader<'_>| {
            let path = reader.path()?;
            let part = match reader.number()? {
                0 => Part::Cover,
                1 => Part::Private { mode: u32::try_from(reader.number()?).ok()? },
                2 => Part::Kept { source: reader.path()?, writable: reader.flag()? },
                3 => Part::File { bytes: reader.field()?.into_vec() },
                4 => Part::Link { target: reader.path()? },
                _ => return None,
            };
            Some(Step { path, part })
        };
        Some(Self {
            steps: reader.each(step)?,
            layered: reader.paths()?,
            instead: reader.each(|reader| {
                Some(Instead { path: reader.path()?, bytes: reader.field()?.into_vec() })
            })?,
            owner: Owner::read(reader)?,
            temporary_bytes_max: reader.number()?,
            processes_max: reader.number()?,
            own_network: reader.flag()?,
            listen: reader.flag()?,
            writable: reader.paths()?,
            listed: reader.paths()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_read_is_left_out_where_its_name_was_exchanged_but_not_in_a_folder_of_the_session()
     {
        let step = |path: &str, writable| Step {
            path: path.into(),
            part: Part::Kept { source: path.into(), writable },
        };
        let steps = [step("/h/.cargo", false), step("/w", true), step("/w/.cargo", false)];
        let check = |number: usize, errno, expected| {
            let answer: Result<Option<()>, Errno> =
                unless_exchanged(&steps[number], &steps, Err(errno));
            assert_eq!(answer, expected, "{number} {errno}");
        };
        check(0, Errno::LOOP, Ok(None));
        check(0, Errno::NOMEM, Err(Errno::NOMEM));
        check(1, Errno::LOOP, Err(Errno::LOOP));
        check(2, Errno::LOOP, Err(Errno::STALE));
        check(2, Errno::NOMEM, Err(Errno::NOMEM));
    }

    #[test]
    fn a_layout_survives_its_bytes() {
        let parts = [
            Part::Cover,
            Part::Private { mode: 0o700 },
            Part::Kept { source: PathBuf::from("/s"), writable: true },
            Part::File { bytes: vec![0, 255] },
            Part::Link { target: PathBuf::from("../s") },
        ];
        let steps = parts.map(|part| Step { path: PathBuf::from("/a b"), part });
        let layout = Layout {
            steps: steps.to_vec(),
            layered: vec!["/home/u/.cargo".into()],
            instead: vec![Instead { path: "/home/u/.cargo/config".into(), bytes: vec![255, 0] }],
            owner: Owner { user: 1, group: u32::MAX },
            temporary_bytes_max: 7,
            processes_max: 9,
            own_network: true,
            listen: false,
            writable: vec!["/work".into()],
            listed: vec!["/home/u".into()],
        };
        let bytes = layout.to_bytes().unwrap();
        assert_eq!(Layout::from_bytes(&bytes[4..]), Some(layout));
    }
}

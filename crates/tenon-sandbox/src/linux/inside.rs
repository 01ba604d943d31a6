//! The first process of a call's namespaces: makes what is the call's own, starts the shell, and
//! takes everything with it when it ends.
//!
//! Nothing in the namespace can signal, trace or read it. It ends with the shell, on request, when
//! the agent is gone, or when the command uses too much memory; the kernel then kills the rest.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::fs::{CWD, FileType, Gid, Uid, fstat};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, MountFlags, mount};
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, wait};

use super::control::{
    Control, Signals, close_all_but, close_outputs, exit, kill_all_others, replace, wait_for,
};
use super::layout::{EMPTY_FILE, EMPTY_FOLDER, open_plain};
use super::limits::{MemoryWatch, set_processes, write_file};
use super::namespace::{Deep, Tree, set_attributes};
use super::pass::receive_with;
use super::process_tree::{Left, reap, signal_descendants};
use super::request::{Confinement, Inside, Refused, Report, Request, STOP, Wall};
use super::shell::start_shell;
use crate::linux::openat::look_at;
use crate::workspace::PROTECTED_NAMES;

/// Between two looks at how much memory a command has.
const MEMORY_EVERY: Duration = Duration::from_millis(100);

/// What only root may read in /proc. Everything there is read-only besides, and kcore, kmsg and the
/// like open for nobody without capabilities.
const PROC_MASKS: [&str; 8] = [
    "kpagecount",
    "kpageflags",
    "kpagecgroup",
    "keys",
    "timer_list",
    "slabinfo",
    "vmallocinfo",
    "bus",
];

/// How far folders of submodules are looked through (`modules/a/modules/b`, `modules/a/b/c`).
const MODULES_DEPTH_MAX: usize = 5;

/// Never returns. Makes what every call has, waits for one on `channel`, and runs it.
pub(super) fn run(channel: &OwnedFd, processes_max: u64) -> ! {
    // Sockets of other calls, and the warm helper's own.
    close_all_but(&mut [channel.as_raw_fd()]);
    let _ = rustix::thread::set_name(c"tenon-init");
    let made = make_proc(processes_max);
    let mut byte = [0];
    let Ok((1, handles)) = receive_with(channel, &mut byte) else { exit(0) };
    let Ok([control, out, error]) = <[OwnedFd; 3]>::try_from(handles) else { exit(1) };
    let control = Control(control);
    replace(&out, 1);
    replace(&error, 2);
    close_all_but(&mut [control.0.as_raw_fd()]);
    if let Err(errno) = made {
        control.report(Report::Refused(Wall::Proc.refused(errno)));
        exit(1);
    }
    let started = Signals::open().and_then(|signals| Ok((signals, control.read()?)));
    let (signals, request): (Signals, Request) = match started {
        Ok(started) => started,
        Err(errno) => control.fail(errno),
    };
    let Confinement::Walls(walls) = &request.confinement else { control.fail(Errno::INVAL) };
    let Some(inside) = &walls.inside else { control.fail(Errno::INVAL) };
    if let Err(refused) = enter(inside) {
        control.report(Report::Refused(refused));
        exit(1);
    }
    if let Err(errno) = rustix::process::chdir(&inside.folder) {
        control.report(Report::NoFolder(errno.raw_os_error()));
        exit(1);
    }
    let shell = match start_shell(&control, &request) {
        Ok(shell) => shell,
        Err(errno) => control.fail(errno),
    };
    // The number says nothing outside of this namespace.
    control.report(Report::Started(0));
    close_outputs();
    attend(&control, &signals, &request, shell)
}

fn attend(control: &Control, signals: &Signals, request: &Request, shell: Pid) -> ! {
    let mut memory = MemoryWatch::new(request.limits.as_ref(), MEMORY_EVERY);
    let mut kill_at: Option<Instant> = None;
    let mut exited = false;
    loop {
        let until = memory.wake_at(kill_at);
        let woken = wait_for(control, PollFlags::IN | PollFlags::RDHUP, signals, until);
        signals.take();
        let left = reap(&mut |pid, status| {
            if pid == shell {
                exited = true;
                control.report(Report::of(status));
            }
        });
        let now = Instant::now();
        // After a request to end, the others have their grace as the shell has.
        let is_over = exited && kill_at.is_none() || left == Left::None;
        if is_over || woken.control_closed || kill_at.is_some_and(|kill_at| now >= kill_at) {
            end(control, shell);
        }
        if woken.control_readable && kill_at.is_none() {
            let mut byte = [0];
            if !matches!(rustix::io::read(&control.0, &mut byte), Ok(1)) || byte != [STOP] {
                end(control, shell);
            }
            kill_at = Some(now + Duration::from_millis(request.grace_ms));
            let me = rustix::process::getpid();
            signal_descendants(me, Signal::TERM);
            // A stopped process takes the signal only when it goes on.
            signal_descendants(me, Signal::CONT);
        }
        if memory.is_exceeded(now) {
            control.report(Report::MemoryExceeded);
            end(control, shell);
        }
    }
}

/// Kills and reaps everything, and says so before the kernel takes the namespaces apart, which
/// nobody need wait for. All that is left without a parent is a child of this process, so without
/// children there is nobody.
fn end(control: &Control, shell: Pid) -> ! {
    loop {
        kill_all_others();
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => control.report(Report::of(status)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    control.report(Report::Done);
    exit(0);
}

/// Everything that is this call's own.
fn enter(inside: &Inside) -> Result<(), Refused> {
    protect(inside).map_err(|errno| Wall::Protected.refused(errno))?;
    become_user(inside).map_err(|errno| Wall::Ids.refused(errno))?;
    let own = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        // Only now: the kernel forgets it when the user changes.
        .and_then(|()| rustix::process::set_parent_process_death_signal(Some(Signal::KILL)));
    own.map_err(|errno| Wall::Ids.refused(errno))
}

fn make_proc(processes_max: u64) -> Result<(), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(c"proc", c"/proc", c"proc", flags, None)?;
    set_processes(processes_max)?;
    // Where memory runs out, the kernel ends a command before the agent. Raising needs no right.
    let _ = write_file("/proc/self/oom_score_adj", b"500");
    // Nobody but root can read what the masks are for.
    if rustix::process::geteuid().is_root() {
        for name in PROC_MASKS {
            hide(&Path::new("/proc").join(name))?;
        }
    }
    set_read_only(Path::new("/proc"), Deep::No)
}

fn set_read_only(path: &Path, deep: Deep) -> Result<(), Errno> {
    let read_only = MountAttrFlags::MOUNT_ATTR_RDONLY;
    set_attributes(&open_plain(path)?, read_only, MountAttrFlags::empty(), deep)
}

/// Puts something empty on what is at `path`.
fn hide(path: &Path) -> Result<(), Errno> {
    let target = match open_plain(path) {
        Ok(target) => target,
        // A link cannot be mounted on, and what it leads to has a path of its own.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let kind = FileType::from_raw_mode(fstat(&target)?.st_mode);
    if kind.is_symlink() {
        return Ok(());
    }
    let empty = if kind.is_dir() { EMPTY_FOLDER } else { EMPTY_FILE };
    Tree::of(CWD, empty)?.mount_on(target)
}

fn protect(inside: &Inside) -> Result<(), Errno> {
    for root in &inside.roots {
        let folder = open_plain(root)?;
        for name in PROTECTED_NAMES {
            freeze(&folder, root, name.as_ref(), inside)?;
        }
        protect_repository(&folder, root, inside)?;
    }
    for repository in &inside.repositories {
        let folder = open_plain(repository)?;
        protect_settings(&folder, repository, inside)?;
    }
    for root in &inside.read_only {
        set_read_only(root, Deep::Yes)?;
    }
    for path in &inside.hidden {
        hide(path)?;
    }
    Ok(())
}

/// Binds a repository's directory on itself, so that it cannot be moved away, and freezes what runs
/// programs in it.
fn protect_repository(folder: &OwnedFd, root: &Path, inside: &Inside) -> Result<(), Errno> {
    let path = root.join(".git");
    let Some(target) = look(folder, Path::new(".git"))? else { return Ok(()) };
    match FileType::from_raw_mode(fstat(&target)?.st_mode) {
        FileType::Directory => {
            let tree = Tree::of(&target, c"")?;
            tree.mount_on(&target)?;
            protect_settings(&tree.0, &path, inside)
        }
        // It says where the repository is.
        FileType::RegularFile => freeze(folder, root, Path::new(".git"), inside),
        _ => Ok(()),
    }
}

fn protect_settings(repository: &OwnedFd, path: &Path, inside: &Inside) -> Result<(), Errno> {
    for name in ["hooks", "info"] {
        freeze(repository, path, name.as_ref(), inside)?;
    }
    let mut modules = vec![(PathBuf::from("modules"), 0)];
    while let Some((place, depth)) = modules.pop() {
        for name in child_folders(repository, &place) {
            let place = place.join(name);
            if look(repository, &place.join("HEAD"))?.is_some() {
                for name in ["hooks", "info"] {
                    freeze(repository, path, &place.join(name), inside)?;
                }
                modules.push((place.join("modules"), depth + 1));
            } else if depth < MODULES_DEPTH_MAX {
                modules.push((place, depth + 1));
            }
        }
    }
    Ok(())
}

fn child_folders(repository: &OwnedFd, place: &Path) -> Vec<std::ffi::OsString> {
    use std::os::unix::ffi::OsStrExt;
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
    let folder = super::openat::open_beneath(repository, place, flags, rustix::fs::Mode::empty());
    let entries = folder.ok().and_then(|folder| rustix::fs::Dir::read_from(folder).ok());
    let mut names = Vec::new();
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name().to_bytes();
        if entry.file_type().is_dir() && name != b"." && name != b".." {
            names.push(std::ffi::OsStr::from_bytes(name).to_owned());
        }
    }
    names
}

/// Binds what is at `name` on itself, read-only, unless this call may write it.
fn freeze(folder: &OwnedFd, above: &Path, name: &Path, inside: &Inside) -> Result<(), Errno> {
    let path = above.join(name);
    if inside.lifted.iter().any(|lifted| path.starts_with(lifted) || lifted.starts_with(&path)) {
        return Ok(());
    }
    let Some(target) = look(folder, name)? else { return Ok(()) };
    if FileType::from_raw_mode(fstat(&target)?.st_mode).is_symlink() {
        return Ok(());
    }
    let tree = Tree::of(&target, c"")?;
    tree.set(MountAttrFlags::MOUNT_ATTR_RDONLY, Deep::Yes)?;
    tree.mount_on(target)
}

/// Opens what is at `name` for looking at it; `None` if nothing is.
fn look(folder: &OwnedFd, name: &Path) -> Result<Option<OwnedFd>, Errno> {
    match look_at(folder, name) {
        Ok(handle) => Ok(Some(handle)),
        // A path through a link leads elsewhere; there it is protected or not a wall's matter.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn become_user(inside: &Inside) -> Result<(), Errno> {
    let (user, group) = (Uid::from_raw(inside.user), Gid::from_raw(inside.group));
    if rustix::process::geteuid() == user && rustix::process::getegid() == group {
        return Ok(());
    }
    rustix::thread::set_thread_groups(&[group])?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    rustix::thread::set_thread_res_uid(user, user, user)
}

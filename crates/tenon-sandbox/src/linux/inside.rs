//! The first process of a call's namespaces: makes what is the call's own, starts the shell, and
//! takes everything with it when it ends.
//!
//! Nothing in the namespace can signal, trace or read it. It ends with the shell, on request, when
//! the agent is gone, or when the command has too much of something; the kernel then kills the rest.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, CWD, FileType, Gid, StatVfsMountFlags, Uid, fstat, fstatvfs, statat};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, MountFlags, mount};
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, wait};

use super::carve::carve_outs;
use super::confine::Ahead;
use super::control::{
    Control, Signals, close_all_but, close_outputs, exit, open_null, replace, reset_signals,
    wait_for,
};
use super::in_kernel::set_semaphores_and_queues;
use super::layout::{EMPTY_FILE, EMPTY_FOLDER};
use super::limits::{set_processes, write_file};
use super::namespace::{Deep, Tree, listen, set_attributes};
use super::openat::open_plain;
use super::others::Others;
use super::pass::{receive_with, send_with};
use super::process_tree::{Left, reap, signal_descendants};
use super::request::{Confinement, Inside, Owner, Refused, Report, Request, STOP, Wall};
use super::shell::start_shell;
use super::watch::Watch;
use crate::mounts::Mounts;

/// How long the agent may take to hear that a call is over. It takes less than a millisecond.
const HEARD_WITHIN: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// What all calls of the warm helper have.
pub(super) struct Shared {
    pub(super) ahead: Ahead,
    pub(super) processes_max: u64,
}

/// What only root may read in /proc. Everything there is read-only besides.
pub(super) const PROC_MASKS: [&str; 8] = [
    "kpagecount",
    "kpageflags",
    "kpagecgroup",
    "keys",
    "timer_list",
    "slabinfo",
    "vmallocinfo",
    "bus",
];

/// These the kernel opens for nobody without capabilities.
const PROC_CLOSED: [&str; 2] = ["kcore", "kmsg"];

/// Whether no command inside walls reads what has this name in `/proc`: memory, messages and keys of the
/// kernel's.
///
/// ```
/// assert!(tenon_sandbox::is_closed_in_proc("kcore"));
/// assert!(!tenon_sandbox::is_closed_in_proc("cpuinfo"));
/// ```
pub fn is_closed_in_proc(name: &str) -> bool {
    PROC_MASKS.contains(&name) || PROC_CLOSED.contains(&name)
}

/// Never returns. In the namespaces of the warm helper: makes what every call has, waits for one on
/// `channel`, and runs it.
pub(super) fn run(channel: OwnedFd, shared: &Shared) -> ! {
    let rules = shared.ahead.rules.as_fd().as_raw_fd();
    // Sockets of other calls, and the warm helper's own.
    close_all_but(&mut [channel.as_raw_fd(), rules]);
    let made = make_proc(shared.processes_max);
    wait_for_call(channel, made, Some(&shared.ahead))
}

/// Never returns. In namespaces that bubblewrap made: says that it is there, with a socket for the
/// proxy if one is wanted, waits for a call, and runs it. The channel is standard input.
pub(super) fn run_enclosed(listens: bool) -> ! {
    let Ok(channel) = Control::take() else { exit(2) };
    reset_signals();
    let own = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let ready = own.and_then(|()| {
        if rustix::process::getpid() != Pid::INIT {
            return Err(Errno::NOTSUP);
        }
        let listener = if listens { Some(listen()?) } else { None };
        let handles: Vec<_> = listener.iter().map(AsFd::as_fd).collect();
        send_with(&channel.0, &Report::Ready.to_bytes(), &handles)
    });
    if ready.is_err() {
        exit(1);
    }
    wait_for_call(channel.0, Ok(()), None)
}

/// The channel is closed when the shell begins.
fn wait_for_call(channel: OwnedFd, made: Result<(), Errno>, ahead: Option<&Ahead>) -> ! {
    let _ = rustix::thread::set_name(c"tenon-init");
    // The command's session, which has no terminal.
    let _ = rustix::process::setsid();
    let signals = Signals::open();
    let mut byte = [0];
    let Ok((1, handles)) = receive_with(&channel, &mut byte) else { exit(0) };
    let Ok([control, out, error]) = <[OwnedFd; 3]>::try_from(handles) else { exit(1) };
    let control = Control(control);
    // Of this file tree: by one of the machine's the device would have another mode.
    if let Ok(null) = open_null() {
        replace(&null, 0);
    }
    replace(&out, 1);
    replace(&error, 2);
    let mut kept = vec![control.0.as_raw_fd(), channel.as_raw_fd()];
    kept.extend(signals.as_ref().map(|signals| signals.0.as_raw_fd()));
    kept.extend(ahead.map(|ahead| ahead.rules.as_fd().as_raw_fd()));
    close_all_but(&mut kept);
    if let Err(errno) = made {
        control.report(Report::Refused(Wall::Proc.refused(errno)));
        exit(1);
    }
    let started = signals.and_then(|signals| Ok((signals, control.read()?)));
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
    let shell = match start_shell(&control, &request, ahead) {
        Ok(shell) => shell,
        Err(errno) => control.fail(errno),
    };
    drop(channel);
    // The number says nothing outside of this namespace.
    control.report(Report::Started(0));
    close_outputs();
    attend(&control, &signals, &request, shell)
}

fn attend(control: &Control, signals: &Signals, request: &Request, shell: Pid) -> ! {
    let mut watch = Watch::new(request);
    let others = Others::in_namespace();
    let others = others.as_ref();
    let mut kill_at: Option<Instant> = None;
    let mut exited = false;
    loop {
        let until = watch.wake_at(kill_at);
        let woken = wait_for(control, PollFlags::IN | PollFlags::RDHUP, signals, until);
        signals.take();
        let mut status = None;
        let left = reap(&mut |pid, its| status = status.or((pid == shell).then_some(its)));
        exited |= status.is_some();
        if let (Some(status), Left::None) = (status, left) {
            // Nobody is left: that is said with it, so that the agent wakes up once.
            control.report_all(&[Report::of(status), Report::Done]);
            leave_last(control);
        }
        if let Some(status) = status {
            control.report(Report::of(status));
        }
        let now = Instant::now();
        // After a request to end, the others have their grace as the shell has.
        let is_over = exited && kill_at.is_none() || left == Left::None;
        if is_over || woken.control_closed || kill_at.is_some_and(|kill_at| now >= kill_at) {
            end(control, shell, others);
        }
        if woken.control_readable && kill_at.is_none() {
            let mut byte = [0];
            if !matches!(rustix::io::read(&control.0, &mut byte), Ok(1)) || byte != [STOP] {
                end(control, shell, others);
            }
            kill_at = Some(now + Duration::from_millis(request.grace_ms));
            let me = rustix::process::getpid();
            signal_descendants(me, Signal::TERM);
            // A stopped process takes the signal only when it goes on.
            signal_descendants(me, Signal::CONT);
        }
        if let Some(report) = watch.exceeded(now, others) {
            control.report(report);
            end(control, shell, others);
        }
    }
}

/// Kills and reaps everything, and says so. All that is left without a parent is a child of this
/// process, so without children there is nobody.
fn end(control: &Control, shell: Pid, others: Option<&Others>) -> ! {
    loop {
        others.inspect(|others| others.signal(Signal::KILL));
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => control.report(Report::of(status)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    control.report(Report::Done);
    leave_last(control)
}

/// Ends when the agent has heard that everything is over: to take the namespaces apart costs the
/// kernel more than that, and it would do so first.
fn leave_last(control: &Control) -> ! {
    let mut handles = [PollFd::new(&control.0, PollFlags::RDHUP)];
    let _ = poll(&mut handles, Some(&HEARD_WITHIN));
    exit(0);
}

/// Everything that is this call's own.
fn enter(inside: &Inside) -> Result<(), Refused> {
    if inside.is_enclosed {
        // The user was changed before, and what follows was done.
        return stands(inside).map_err(|errno| Wall::Protected.refused(errno));
    }
    protect(inside).map_err(|errno| Wall::Protected.refused(errno))?;
    become_user(inside.owner).map_err(|errno| Wall::Ids.refused(errno))?;
    let own = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        // Only now: the kernel forgets it when the user changes.
        .and_then(|()| rustix::process::set_parent_process_death_signal(Some(Signal::KILL)));
    own.map_err(|errno| Wall::Ids.refused(errno))
}

fn make_proc(processes_max: u64) -> Result<(), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(c"proc", c"/proc", c"proc", flags, None)?;
    set_processes(processes_max)?;
    set_semaphores_and_queues();
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
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let stat = fstat(&target)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind.is_symlink() {
        return Ok(());
    }
    let empty = if kind.is_dir() { EMPTY_FOLDER } else { EMPTY_FILE };
    Tree::of(CWD, empty)?.mount_on(target)
}

fn protect(inside: &Inside) -> Result<(), Errno> {
    for carve_out in carve_outs(inside)? {
        // Opened through what was bound before it.
        let Some(target) = carve_out.open()? else { continue };
        let tree = Tree::of(&target, c"")?;
        if carve_out.read_only {
            tree.set(MountAttrFlags::MOUNT_ATTR_RDONLY, Deep::Yes)?;
        }
        tree.mount_on(target)?;
    }
    for root in &inside.read_only {
        set_read_only(root, Deep::Yes)?;
    }
    hide_all(&inside.hidden)
}

/// Hides what is not hidden already: what was put on a name is gone when somebody outside renames
/// another file over it, so that each call must look.
pub(super) fn hide_all(paths: &[PathBuf]) -> Result<(), Errno> {
    let empty = [identity(Path::new(EMPTY_FOLDER))?, identity(Path::new(EMPTY_FILE))?];
    for path in paths {
        match identity(path) {
            Ok(found) if empty.contains(&found) => {}
            Err(Errno::NOENT) => {}
            _ => hide(path)?,
        }
    }
    Ok(())
}

fn identity(path: &Path) -> Result<(u64, u64), Errno> {
    let found = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((found.st_dev, found.st_ino))
}

/// Looks whether what bubblewrap was told to make is there. It ends when something fails; this is
/// for what it would not notice.
fn stands(inside: &Inside) -> Result<(), Errno> {
    let is_read_only = |handle: &OwnedFd| -> Result<bool, Errno> {
        Ok(fstatvfs(handle)?.f_flag.contains(StatVfsMountFlags::RDONLY))
    };
    let mut held = is_read_only(&open_plain(Path::new("/"))?)?;
    for path in &inside.read_only {
        held &= is_read_only(&open_plain(path)?)?;
    }
    for carve_out in carve_outs(inside)?.into_iter().filter(|carve_out| carve_out.read_only) {
        // What lies behind a link was left out, and has a path of its own.
        if let Ok(handle) = open_plain(&carve_out.path())
            && !is_read_only(&handle)?
        {
            // It came since bubblewrap was told what there is.
            return Err(Errno::STALE);
        }
    }
    // A name may have led elsewhere when it was remounted.
    let mounts = Mounts::of_this_process();
    if inside.written().any(|root| mounts.lets_write(root, &inside.mounted)) {
        return Err(Errno::STALE);
    }
    if held { Ok(()) } else { Err(Errno::NOTSUP) }
}

/// Root works as the one whose workspace it is.
pub(super) fn become_user(owner: Owner) -> Result<(), Errno> {
    let (user, group) = (Uid::from_raw(owner.user), Gid::from_raw(owner.group));
    if rustix::process::geteuid() == user && rustix::process::getegid() == group {
        return Ok(());
    }
    rustix::thread::set_thread_groups(&[group])?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    rustix::thread::set_thread_res_uid(user, user, user)
}

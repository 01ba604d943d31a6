//! Starts bash in a child of the helper, held to what the request says.

#![expect(unsafe_code, reason = "clone and exec")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use super::confine::{Ahead, drop_capabilities, filter, hold_files};
use super::control::{Control, exit, last_errno, made, replace, unblock_signals};
use super::limits;
use super::notify;
use super::openat::write_all;
use super::request::{Refused, Report, Request, Wall};

/// One argument of execve is at most 128 KiB, its end counted (MAX_ARG_STRLEN).
const ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// Runs a script that is too long for an argument, out of descriptor 3, which it closes first.
/// Like `-c` it leaves `$0`, `$@` and BASH_SOURCE alone and reads nothing from standard input.
const LONG_SCRIPT: &CStr = c"eval \"exec 3<&-; $(</dev/fd/3)\"";

/// Many times what the walls need of it; what is not used is not there.
const STACK_BYTES: usize = 512 * 1024;

/// Starts the shell as a child of this process.
pub(super) fn start_shell(
    control: &Control,
    request: &Request,
    ahead: Option<&Ahead>,
) -> Result<Pid, Errno> {
    let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(|_| Errno::INVAL);
    let is_long = request.script.len() > ARGUMENT_BYTES_MAX;
    let script = if is_long { LONG_SCRIPT.to_owned() } else { text(&request.script)? };
    let long_script = if is_long { Some(script_file(request.script.as_bytes())?) } else { None };
    let shells = request.shells.iter().map(|shell| text(shell)).collect::<Result<Vec<_>, _>>()?;
    let mut environment = Vec::with_capacity(request.environment.len());
    for (name, value) in &request.environment {
        let entry = [name.as_bytes(), b"=", value.as_bytes()].concat();
        environment.push(CString::new(entry).map_err(|_| Errno::INVAL)?);
    }
    let arguments = [c"bash".as_ptr(), c"-c".as_ptr(), script.as_ptr(), std::ptr::null()];
    let mut environment: Vec<*const c_char> =
        environment.iter().map(|entry| entry.as_ptr()).collect();
    environment.push(std::ptr::null());
    // In namespaces the first process has no parent that could be seen.
    let helpers = [Some(rustix::process::getpid()), rustix::process::getppid()];
    let helpers: Vec<_> = helpers.into_iter().flatten().collect();
    start_child(&mut || {
        let errno = prepare(control, request, ahead, &helpers, long_script.as_ref())
            .err()
            .unwrap_or_else(|| exec_shell(&shells, &arguments, &environment));
        control.report(Report::NoShell(errno.raw_os_error()));
        exit(127);
    })
}

/// Runs `child`, which does not return, in a new process. It has the memory of this one, which waits
/// until it executes a program or ends; so no page is copied, which is a fifth of what a command
/// costs.
fn start_child(mut child: &mut dyn FnMut()) -> Result<Pid, Errno> {
    extern "C" fn begin(child: *mut c_void) -> c_int {
        // SAFETY: it is what `clone` is given below, and lives while that waits.
        let child = unsafe { &mut *child.cast::<&mut dyn FnMut()>() };
        child();
        exit(127)
    }
    let mut stack = vec![MaybeUninit::<u128>::uninit(); STACK_BYTES / size_of::<u128>()];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let top = stack.as_mut_ptr_range().end.cast();
    // SAFETY: this process has one thread, which stands still while the new one uses its memory. The
    // stack is aligned to 16 bytes, used by the new one alone, and freed when that has memory of its
    // own or is gone.
    let pid = unsafe { libc::clone(begin, top, flags, (&raw mut child).cast()) };
    made(pid).ok_or_else(last_errno)
}

fn script_file(script: &[u8]) -> Result<OwnedFd, Errno> {
    let file = rustix::fs::memfd_create(c"script", MemfdFlags::CLOEXEC)?;
    write_all(&file, script)?;
    // Not 3 already, where its copy for the shell goes.
    rustix::io::fcntl_dupfd_cloexec(&file, 10)
}

/// In the child: everything that must hold before the shell begins. A wall that does not stand is
/// reported from here, and nothing runs.
fn prepare(
    control: &Control,
    request: &Request,
    ahead: Option<&Ahead>,
    helpers: &[Pid],
    long_script: Option<&OwnedFd>,
) -> Result<(), Errno> {
    let inside = request.confinement.inside();
    // A group of its own: `kill 0` in a script means the script's processes. A session too, unless
    // the first process of the namespace has it: to make one takes the kernel a tenth of a
    // millisecond, which that one had while it waited.
    if inside.is_some() {
        let _ = rustix::process::setpgid(None, None);
    } else {
        let _ = rustix::process::setsid();
    }
    if let Some(mark) = request.mark {
        mark.set();
    }
    if let Some(limits) = &request.limits {
        limits::set(limits, inside)?;
    }
    let walls = drop_capabilities(&request.confinement)
        .and_then(|()| hold_files(&request.confinement, ahead))
        .and_then(|()| give_up_calls(request, ahead, helpers, control))
        // After the capabilities: the kernel forgets this at a change of them.
        .and_then(|()| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(|_| Wall::Namespaces.refused(Errno::PERM))
        });
    if let Err(refused) = walls {
        control.report(Report::Refused(refused));
        exit(127);
    }
    if rustix::process::getppid() != helpers.first().copied() {
        return Err(Errno::SRCH);
    }
    if let Some(file) = long_script {
        replace(file, 3);
    }
    unblock_signals();
    Ok(())
}

/// In the child: from here on system calls are refused, or the agent is asked about them. If the
/// kernel does not let it be asked, it hears so, and nothing runs.
fn give_up_calls(
    request: &Request,
    ahead: Option<&Ahead>,
    helpers: &[Pid],
    control: &Control,
) -> Result<(), Refused> {
    let Some(filter) = filter(request, ahead, helpers) else { return Ok(()) };
    if !request.watched {
        return filter.install(0).map(drop).map_err(|errno| Wall::Seccomp.refused(errno));
    }
    match rustix::thread::set_no_new_privs(true).and_then(|()| notify::install(&filter)) {
        Ok(listener) => control.report_with(Report::Watched, &listener),
        Err(errno) => {
            control.report(Report::NotWatched(errno.raw_os_error()));
            exit(127);
        }
    }
    Ok(())
}

/// In the child: becomes the shell, or says why not.
fn exec_shell(
    shells: &[CString],
    arguments: &[*const c_char],
    environment: &[*const c_char],
) -> Errno {
    let mut errno = Errno::NOENT;
    for shell in shells {
        // SAFETY: both lists end with a null pointer and their strings outlive the call.
        unsafe { libc::execve(shell.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
        errno = last_errno();
        if errno != Errno::NOENT {
            break;
        }
    }
    errno
}

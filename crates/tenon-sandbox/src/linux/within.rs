//! Whether there are walls of another tenon around this one.

#![expect(unsafe_code, reason = "a system call that fails")]

use std::sync::OnceLock;

/// Returns whether this process runs within the walls of another tenon, which hold it and all that it
/// starts. Asked once.
///
/// ```
/// if tenon_sandbox::within_walls() {
///     println!("no namespaces can be had here");
/// }
/// ```
#[must_use]
pub fn within_walls() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        // SAFETY: without a filter the kernel installs nothing: it finds no memory to read it from.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
                std::ptr::null::<u8>(),
            )
        };
        // What the walls answer before the kernel looks for it.
        answer == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EBUSY)
    })
}

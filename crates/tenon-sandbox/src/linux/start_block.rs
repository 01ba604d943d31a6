//! The block of memory in which the kernel gave this program its variables. `/proc/PID/environ` shows what is there
//! at present, to root and to whoever may look into the process.

#![expect(unsafe_code, reason = "the process's own variables, where the C library keeps them")]

use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

use super::procfs;

/// Overwrites the values of the variables with these names in the block that `/proc/PID/environ` shows. This program
/// and those that it starts have them as before.
///
/// Does nothing where there is more than one thread, or where `/proc` does not tell.
///
/// ```
/// // First of all, while nothing has started a thread.
/// tenon_sandbox::hide_variables(&["OPENAI_API_KEY".as_ref()]);
/// ```
pub fn hide_variables(names: &[&OsStr]) {
    let Some(block) = procfs::read("/proc/self/stat").and_then(|stat| alone_with_block(&stat))
    else {
        return;
    };
    // SAFETY: with one thread, nothing changes this pointer and what it leads to but this function.
    let mut place = unsafe { libc::environ };
    while !place.is_null() {
        // SAFETY: it leads to a list of pointers to strings, the end of which is a null pointer.
        let variable = unsafe { *place };
        if variable.is_null() {
            return;
        }
        // SAFETY: as above.
        let copy = unsafe { CStr::from_ptr(variable) }.to_owned();
        let bytes = copy.as_bytes();
        let equals = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
        let (name, value) = bytes.split_at(equals);
        let is_named = names.iter().any(|wanted| wanted.as_bytes() == name);
        // Behind the sign, which stays, as does the end of the string.
        if let Some(length @ 1..) = value.len().checked_sub(1)
            && is_named
            && block.contains(&variable.addr())
        {
            // SAFETY: the list may be changed, as setenv does, which leaves the old string where it is: whoever kept a
            // pointer to it reads a shorter one. The copy stays until the process ends. What is overwritten is within
            // that string, in memory that the kernel made to be written.
            unsafe {
                *place = copy.into_raw();
                variable.add(equals + 1).write_bytes(0, length);
            }
        }
        // SAFETY: there was no null pointer yet.
        place = unsafe { place.add(1) };
    }
}

/// Returns where the block is, out of `/proc/self/stat`, if there is one thread.
fn alone_with_block(stat: &[u8]) -> Option<Range<usize>> {
    // The second field is a name in parentheses and can have anything in it; the third comes next.
    let behind_name = stat.rsplit(|byte| *byte == b')').next()?;
    let fields: Vec<&str> = std::str::from_utf8(behind_name).ok()?.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<usize>().ok();
    (field(20)? == 1).then_some(field(50)?..field(51)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_told_to_the_only_thread() {
        let stat = |threads: u32| {
            let before = "1 (a) b) S ".to_owned() + &"-1 ".repeat(16);
            format!("{before}{threads} {}100 200 0\n", "7 ".repeat(29)).into_bytes()
        };
        assert_eq!(alone_with_block(&stat(1)), Some(100..200));
        assert_eq!(alone_with_block(&stat(2)), None);
        assert_eq!(alone_with_block(b"1 (a) S 1"), None);
    }
}

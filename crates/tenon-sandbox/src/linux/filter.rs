//! A filter of system calls in the kernel's BPF: what it is made of, and how it is installed.
//!
//! Which calls are refused is said in `seccomp.rs`, and which the agent is asked about in `notify.rs`.
//! Every way around the list is closed here: another architecture's numbers, and numbers that are
//! younger than the list.

#![expect(unsafe_code, reason = "the call that installs the filter")]

use std::collections::BTreeMap;
use std::ffi::c_int;

use libc::{c_long, sock_filter};
use rustix::io::Errno;

use super::control::last_errno;

#[cfg(target_arch = "x86_64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the filter needs this architecture's number");

/// Younger calls are refused until somebody has looked at them: file_setattr (Linux 6.17).
pub(super) const NUMBER_MAX: u32 = 469;

// Offsets in `struct seccomp_data`, and of the low half of an argument (both architectures store
// that first).
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
pub(super) const fn argument_offset(index: u8) -> u32 {
    16 + 8 * index as u32
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
pub(super) const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
pub(super) const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const LEAD: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// What runs for each call that has rules, by its number. What comes to its end allows the call.
pub(super) type Calls = BTreeMap<u32, Vec<sock_filter>>;

/// A filter that can be installed.
#[derive(Clone)]
pub(super) struct Filter(pub(super) Vec<sock_filter>);

impl Filter {
    /// Puts it together as a search among the numbers. The kernel runs it for every number when it is
    /// installed, so that each comparison on the way to an answer costs every command.
    pub(super) fn of(calls: &Calls) -> Self {
        let allow = || vec![answer(libc::SECCOMP_RET_ALLOW)];
        // What runs for a number, and for those after it up to the next.
        let mut parts = BTreeMap::from([(0, allow())]);
        for (number, body) in calls {
            let whole = match only_answer(body) {
                Some(only) => vec![answer(only)],
                None => [body.clone(), allow()].concat(),
            };
            parts.insert(*number, whole);
            if !calls.contains_key(&(number + 1)) {
                parts.insert(number + 1, allow());
            }
        }
        // Also what has the bit of x32.
        parts.insert(NUMBER_MAX + 1, vec![refuse(Errno::NOSYS)]);
        let mut parts: Vec<Part> = parts.into_iter().collect();
        parts.dedup_by_key(|(first, body)| only_answer(body).ok_or(*first));
        let mut code = vec![
            load(ARCHITECTURE_OFFSET),
            jump(EQUAL, ARCHITECTURE, 1, 0),
            refuse(Errno::NOSYS),
            load(NUMBER_OFFSET),
        ];
        code.extend(search(&parts));
        Self(code)
    }

    /// Installs it in this process and everything it starts, for ever, and returns what the kernel
    /// answers. `no_new_privs` must be set.
    pub(super) fn install(&self, flags: u64) -> Result<c_int, Errno> {
        let length = u16::try_from(self.0.len()).map_err(|_| Errno::INVAL)?;
        let program = libc::sock_fprog { len: length, filter: self.0.as_ptr().cast_mut() };
        // SAFETY: the program points to `length` instructions, which the kernel only copies.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        };
        c_int::try_from(answer).ok().filter(|answer| *answer >= 0).ok_or_else(last_errno)
    }
}

/// From which number on, and what runs.
type Part = (u32, Vec<sock_filter>);

fn search(parts: &[Part]) -> Vec<sock_filter> {
    let (low, high) = parts.split_at(parts.len() / 2);
    let Some((first, body)) = high.first() else { return Vec::new() };
    if low.is_empty() {
        return body.clone();
    }
    let low = search(low);
    let mut code = match u8::try_from(low.len()) {
        Ok(length) => vec![jump(AT_LEAST, *first, length, 0)],
        // A comparison leads no further.
        Err(_) => vec![jump(AT_LEAST, *first, 0, 1), lead(low.len())],
    };
    code.extend(low);
    code.extend(search(high));
    code
}

/// The answer of what does nothing but answer.
fn only_answer(body: &[sock_filter]) -> Option<u32> {
    body.first().filter(|first| first.code == RETURN).map(|first| first.k)
}

/// What a call is tested for is less than 255 instructions, which a test holds it to.
pub(super) fn short(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

/// A system call's number fits 32 bits on every architecture.
pub(super) fn call(number: c_long) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(super) fn load(offset: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

pub(super) fn and(mask: u32) -> sock_filter {
    sock_filter { code: AND, jt: 0, jf: 0, k: mask }
}

pub(super) fn jump(code: u16, value: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter { code, jt: if_true, jf: if_false, k: value }
}

/// Goes on behind so many instructions, which are few enough where the kernel takes the filter.
pub(super) fn lead(length: usize) -> sock_filter {
    sock_filter { code: LEAD, jt: 0, jf: 0, k: u32::try_from(length).unwrap_or(u32::MAX) }
}

pub(super) fn answer(value: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: value }
}

/// The call is not made, and its caller told that it went well.
pub(super) fn pretend() -> sock_filter {
    answer(libc::SECCOMP_RET_ERRNO)
}

pub(super) fn refuse(errno: Errno) -> sock_filter {
    answer(libc::SECCOMP_RET_ERRNO | errno.raw_os_error().cast_unsigned())
}

#[cfg(test)]
impl Filter {
    /// Runs it as the kernel does, and returns its answer and how many instructions that took; `None`
    /// where the kernel would not take it.
    pub(super) fn run(
        &self,
        architecture: u32,
        number: u32,
        arguments: [u64; 6],
    ) -> Option<(u32, usize)> {
        let mut data = Vec::new();
        data.extend(number.to_le_bytes());
        data.extend(architecture.to_le_bytes());
        data.extend([0; 8]);
        data.extend(arguments.iter().flat_map(|argument| argument.to_le_bytes()));
        let (mut register, mut at) = (0_u32, 0_usize);
        for steps in 1.. {
            let instruction = self.0.get(at)?;
            at += 1;
            let branch =
                |holds: bool| usize::from(if holds { instruction.jt } else { instruction.jf });
            match instruction.code {
                LOAD => {
                    let start = instruction.k as usize;
                    let bytes = data.get(start..start + 4)?;
                    register = u32::from_le_bytes(bytes.try_into().unwrap());
                }
                AND => register &= instruction.k,
                EQUAL => at += branch(register == instruction.k),
                AT_LEAST => at += branch(register >= instruction.k),
                ANY_BIT => at += branch(register & instruction.k != 0),
                LEAD => at += instruction.k as usize,
                RETURN => return Some((instruction.k, steps)),
                _ => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_may_be_longer_than_a_comparison_leads() {
        let body = |number: u32| {
            let test = [load(argument_offset(0)), jump(EQUAL, number, 0, 1), answer(number)];
            test.into_iter().chain([load(argument_offset(1)); 4]).collect()
        };
        let calls: Calls =
            (0..NUMBER_MAX).step_by(3).map(|number| (number, body(number))).collect();
        let filter = Filter::of(&calls);
        for number in 0..NUMBER_MAX {
            for argument in [number, NUMBER_MAX] {
                let is_known = number % 3 == 0 && argument == number;
                let expected = if is_known { number } else { libc::SECCOMP_RET_ALLOW };
                let arguments = [u64::from(argument), 0, 0, 0, 0, 0];
                let answer = filter.run(ARCHITECTURE, number, arguments);
                assert_eq!(answer.map(|(answer, _)| answer), Some(expected), "{number} {argument}");
            }
        }
        assert!(filter.0.len() > 1_000);
    }
}

//! When files, folders and links of a copy were changed last.

use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT};

/// A time in whole seconds since 1970, and nanoseconds beyond: before 1970 the second counts down, and what
/// it has beyond it up.
pub(super) type Moment = (i64, u32);

/// Returns a time as a bundle has it.
pub(super) fn moment(time: SystemTime) -> Moment {
    let seconds = |since: Duration| i64::try_from(since.as_secs()).unwrap_or_default();
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => (seconds(since), since.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            match before.subsec_nanos() {
                0 => (-seconds(before), 0),
                nanoseconds => (-seconds(before) - 1, 1_000_000_000 - nanoseconds),
            }
        }
    }
}

/// Sets when a file, folder or link was changed last, where that can be set.
pub(super) fn set_modified(path: &Path, modified: SystemTime) {
    set_moment(path, moment(modified));
}

/// Does the same for a time of a bundle, which may be none.
pub(super) fn set_moment(path: &Path, (seconds, nanoseconds): Moment) {
    let last_modification = Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() };
    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let times = Timestamps { last_access, last_modification };
    // What cannot be set keeps the time of the copy.
    let _ = rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_count_up_from_the_second_before() {
        let check = |time: SystemTime, expected| assert_eq!(moment(time), expected);
        check(UNIX_EPOCH, (0, 0));
        check(UNIX_EPOCH + Duration::new(7, 20), (7, 20));
        check(UNIX_EPOCH - Duration::new(7, 0), (-7, 0));
        check(UNIX_EPOCH - Duration::new(7, 20), (-8, 999_999_980));
    }
}

//! The time that stands in front of an event.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the milliseconds since 1970 in UTC.
pub(super) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

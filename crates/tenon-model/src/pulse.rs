//! When the last byte of a reply came, for whoever shows a person that nothing comes: a model that thinks
//! may show nothing either, but its server sends something.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Tells how long the reply that is being read has been silent. Clones tell of the same replies.
///
/// ```
/// use std::time::{Duration, Instant};
/// use tenon_model::{HttpOptions, Pulse};
///
/// let pulse = Pulse::default();
/// let options = HttpOptions { pulse: pulse.clone(), ..HttpOptions::default() };
/// assert_eq!(pulse.silent_for(Instant::now()), None, "no reply is being read");
/// let now = Instant::now();
/// options.pulse.beat(now);
/// assert_eq!(pulse.silent_for(now + Duration::from_secs(2)), Some(Duration::from_secs(2)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Pulse(Arc<Mutex<Option<Instant>>>);

impl Pulse {
    /// Takes in that something of a reply came.
    pub fn beat(&self, now: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Takes in that no reply is being read any more.
    pub fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns how long nothing came of the reply that is being read, if one is.
    #[must_use]
    pub fn silent_for(&self, now: Instant) -> Option<Duration> {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.map(|last| now.saturating_duration_since(last))
    }
}

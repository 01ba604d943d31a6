//! A gate: what waits at it goes on when a test opens it. Replaces every sleep.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A one-way gate, shared by clones; starts closed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate {
    inner: Arc<(Mutex<Bars>, Condvar)>,
}

#[derive(Debug, Default)]
struct Bars {
    reached: bool,
    open: bool,
}

impl Gate {
    /// Returns a closed gate.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for good.
    pub(crate) fn open(&self) {
        self.change(|bars| bars.open = true);
    }

    /// Blocks until somebody waits at the gate (or has passed it).
    pub(crate) fn wait_reached(&self) {
        self.block_until(|bars| bars.reached);
    }

    /// Blocks until the gate is open.
    pub(crate) fn pass(&self) {
        self.change(|bars| bars.reached = true);
        self.block_until(|bars| bars.open);
    }

    /// Opens this gate too when `other` opens, from a thread of its own.
    pub(crate) fn open_with(&self, other: &Gate) {
        let (this, other) = (self.clone(), other.clone());
        std::thread::spawn(move || {
            other.block_until(|bars| bars.open);
            this.open();
        });
    }

    fn change(&self, change: impl FnOnce(&mut Bars)) {
        change(&mut self.inner.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.inner.1.notify_all();
    }

    fn block_until(&self, ready: impl Fn(&Bars) -> bool) {
        let bars = self.inner.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.inner.1.wait_while(bars, |bars| !ready(bars)));
    }
}

//! Ctrl-C and SIGTERM: during a turn the first one ends the turn cleanly and the second leaves at
//! once; outside of a turn one is enough.
//!
//! Leaving at once happens in the signal handler itself, so that it works whatever the program is
//! busy with. Children go with us: the sandbox's helper asks the kernel for that.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::ExitStatus;

/// The program's signals.
#[derive(Debug, Clone)]
pub(crate) struct Interrupts {
    /// Whether the next signal leaves at once.
    armed: Arc<AtomicBool>,
    leaving: Arc<AtomicBool>,
    turn: Arc<Mutex<CancellationToken>>,
}

/// A turn that a signal cancels; outside of its life a signal leaves at once.
#[derive(Debug)]
pub(crate) struct TurnGuard {
    /// Set by the first signal.
    pub(crate) cancel: CancellationToken,
    armed: Arc<AtomicBool>,
}

impl Interrupts {
    /// Takes over SIGINT and SIGTERM. Needs a running tokio runtime.
    pub(crate) fn install() -> io::Result<Self> {
        let interrupts = Self {
            armed: Arc::new(AtomicBool::new(true)),
            leaving: Arc::default(),
            turn: Arc::default(),
        };
        for kind in [SIGINT, SIGTERM] {
            // In this order: the second handler arms the first for the signal that comes next.
            let status = ExitStatus::Interrupted as i32;
            flag::register_conditional_shutdown(kind, status, Arc::clone(&interrupts.armed))?;
            flag::register(kind, Arc::clone(&interrupts.armed))?;
        }
        let watched = interrupts.clone();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => watched.leaving.store(true, Ordering::SeqCst),
                }
                watched.turn.lock().unwrap_or_else(PoisonError::into_inner).cancel();
            }
        });
        Ok(interrupts)
    }

    /// Begins a turn.
    pub(crate) fn turn(&self) -> TurnGuard {
        let cancel = CancellationToken::new();
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
        self.armed.store(false, Ordering::SeqCst);
        TurnGuard { cancel, armed: Arc::clone(&self.armed) }
    }

    /// Returns whether the program was asked to end, not just the turn.
    pub(crate) fn leaving(&self) -> bool {
        self.leaving.load(Ordering::SeqCst)
    }
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        self.armed.store(true, Ordering::SeqCst);
    }
}

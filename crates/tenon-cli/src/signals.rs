//! Ctrl-C, SIGTERM and SIGHUP (the terminal is gone): during a turn the first one ends the turn
//! cleanly and the second leaves at once; outside of a turn one is enough.
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
    consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
    flag,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
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
    /// Takes over SIGINT, SIGTERM and SIGHUP. Needs a running tokio runtime.
    pub(crate) fn install() -> io::Result<Self> {
        let interrupts = Self {
            armed: Arc::new(AtomicBool::new(true)),
            leaving: Arc::default(),
            turn: Arc::default(),
        };
        // What `nohup` started goes on when the terminal goes.
        let hangs_up = !is_ignored(SIGHUP);
        let kinds = [SIGINT, SIGTERM].into_iter().chain(hangs_up.then_some(SIGHUP));
        for kind in kinds {
            // In this order: the second handler arms the first for the signal that comes next.
            let status = ExitStatus::Interrupted as i32;
            flag::register_conditional_shutdown(kind, status, Arc::clone(&interrupts.armed))?;
            flag::register(kind, Arc::clone(&interrupts.armed))?;
        }
        let watched = interrupts.clone();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = hangs_up.then(|| signal(SignalKind::hangup())).transpose()?;
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => watched.leaving.store(true, Ordering::SeqCst),
                    () = next(hang_up.as_mut()) => watched.leaving.store(true, Ordering::SeqCst),
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

/// Has a write past the limit on the length of files (`ulimit -f`) fail like one on a full disk, where the
/// signal would end the program in the middle. Programs that it starts are ended as ever.
pub(crate) fn outlive_file_limit() {
    // Without it all is as the signal has it.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Waits for the next signal; for ever if there is none to wait for.
async fn next(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Says whether whoever started the program had it ignore a signal, as `nohup` does.
#[expect(clippy::disallowed_methods, reason = "asks the kernel about this process")]
fn is_ignored(kind: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set >> (kind - 1) & 1 == 1)
}

impl TurnGuard {
    /// Begins another turn under the same guard, so that no signal in between leaves at once.
    pub(crate) fn renew(&mut self, interrupts: &Interrupts) {
        self.cancel = CancellationToken::new();
        *interrupts.turn.lock().unwrap_or_else(PoisonError::into_inner) = self.cancel.clone();
        self.armed.store(false, Ordering::SeqCst);
    }
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        self.armed.store(true, Ordering::SeqCst);
    }
}

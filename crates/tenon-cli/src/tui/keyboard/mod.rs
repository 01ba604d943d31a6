//! The keyboard: a thread that waits for what the terminal sends, and keys, pastes and the end of
//! the terminal as events. The terminal's own state (blocking or not) is never changed, because the
//! shell and an editor share it.

mod parser;

use std::{
    collections::VecDeque,
    io,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    fd::OwnedFd,
    io::Errno,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub(crate) use parser::{Event, KeyCode, KeyEvent, KeyModifiers};

use self::parser::Parser;

/// How long the rest of a sequence is waited for before Esc is taken as a key of its own: longer
/// than a slow connection tears a sequence apart, shorter than a person notices.
const ESCAPE_WITHIN: Duration = Duration::from_millis(40);
/// How often it is looked for an answer while somebody waits to leave.
const DRAIN_EVERY: Duration = Duration::from_millis(2);
/// Bytes read at once.
const READ_BYTES: usize = 8_192;

/// An event, and when it came: whoever is busy takes it in later.
#[derive(Debug)]
pub(crate) struct Came {
    pub event: Event,
    pub at: Instant,
}

/// The keyboard while it is listened to; dropping it leaves what comes next to others.
pub(crate) struct Keyboard {
    /// What came before, and nobody took.
    ahead: VecDeque<Came>,
    events: UnboundedReceiver<Came>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Came {
    fn now(event: Event) -> Self {
        Self { event, at: Instant::now() }
    }
}

impl Keyboard {
    /// Begins to listen to standard input, behind what came `ahead`. Of what was typed while nobody
    /// listened the terminal has made line ends.
    ///
    /// # Errors
    /// If the kernel has no thread or descriptor for it.
    pub(crate) fn listen(mut ahead: VecDeque<Event>) -> io::Result<Self> {
        let mut parser = Parser::default();
        let mut typed = waiting();
        typed.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b'\r');
        ahead.extend(parser.push(&typed));
        let ahead = ahead.into_iter().map(Came::now).collect();
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let (sender, events) = unbounded_channel();
        let waits_for = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("keyboard".into())
            .stack_size(128 * 1024)
            .spawn(move || listen(&waits_for, parser, &sender))?;
        Ok(Self { ahead, events, stop, thread: Some(thread) })
    }

    /// Waits for the next event.
    pub(crate) async fn next(&mut self) -> Came {
        match self.ahead.pop_front() {
            Some(came) => came,
            None => self.events.recv().await.unwrap_or_else(|| Came::now(Event::Gone)),
        }
    }

    /// Reads for at most `time` what is not meant for whoever has the terminal next: everything up to
    /// the answer that every terminal gives. What else came stays for [`Self::leave`].
    pub(crate) fn drain(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            match self.events.try_recv() {
                Ok(Came { event: Event::Attributes | Event::Gone, .. }) => return,
                Ok(came) => self.ahead.push_back(came),
                Err(_) => std::thread::sleep(DRAIN_EVERY),
            }
        }
    }

    /// Returns an event that is there already.
    pub(crate) fn ready(&mut self) -> Option<Came> {
        self.ahead.pop_front().or_else(|| self.events.try_recv().ok())
    }

    /// Stops listening and returns what came and nobody took.
    pub(crate) fn leave(mut self) -> VecDeque<Event> {
        self.stop();
        std::iter::from_fn(|| self.ready()).map(|came| came.event).collect()
    }

    fn stop(&mut self) {
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns what is there to be read.
fn waiting() -> Vec<u8> {
    let stdin = io::stdin();
    let (mut found, mut bytes) = (Vec::new(), [0; READ_BYTES]);
    let now = Timespec::default();
    while let Ok(1..) = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&now))
        && let Ok(read @ 1..) = rustix::io::read(&stdin, &mut bytes)
    {
        found.extend_from_slice(bytes.get(..read).unwrap_or_default());
    }
    found
}

/// Reads until it is stopped or the terminal is gone.
fn listen(stop: &OwnedFd, mut parser: Parser, events: &UnboundedSender<Came>) {
    let stdin = io::stdin();
    let mut bytes = [0; READ_BYTES];
    let patience = Timespec::try_from(ESCAPE_WITHIN).ok();
    loop {
        let mut polled = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        let timeout = patience.as_ref().filter(|_| parser.is_waiting());
        let found = match poll(&mut polled, timeout) {
            Ok(0) => parser.give_up(),
            Ok(_) if polled.iter().skip(1).any(|fd| !fd.revents().is_empty()) => return,
            Ok(_) => match rustix::io::read(&stdin, &mut bytes) {
                Ok(read @ 1..) => parser.push(bytes.get(..read).unwrap_or_default()),
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Ok(_) | Err(_) => {
                    let _ = events.send(Came::now(Event::Gone));
                    return;
                }
            },
            Err(Errno::INTR) => continue,
            Err(_) => return,
        };
        for event in found {
            if events.send(Came::now(event)).is_err() {
                return;
            }
        }
    }
}

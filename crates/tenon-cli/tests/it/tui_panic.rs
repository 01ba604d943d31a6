//! A panic in the middle of a session, of the real program: nothing in it panics for tests, so it is
//! put where Rust's own libraries do, without room for one thread more.

use std::{thread::sleep, time::Duration};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;

use crate::{
    terminal::{Home, Terminal},
    tui::session_with,
};

/// Less than the stack of a thread, more than what the session allocates meanwhile.
const ROOM_BYTES: u64 = 1 << 20;

/// Takes the room for further threads away from the program.
fn take_room(terminal: &Terminal) {
    let id = terminal.process_id();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let kib: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
    let limit =
        Rlimit { current: Some(kib * 1024 + ROOM_BYTES), maximum: getrlimit(Resource::As).maximum };
    let pid = Pid::from_raw(i32::try_from(id).unwrap());
    prlimit(pid, Resource::As, limit).unwrap();
}

#[test]
fn a_panic_leaves_a_readable_message_the_terminal_and_a_session_that_goes_on() {
    let home = Home::new(json!([{"text": "The first answer."}, {"text": "The second."}]));
    let mut terminal = session_with(&home, (80, 40), &[("RUST_BACKTRACE", "0")]);
    terminal.press("the first prompt\r");
    terminal.wait_for("done · 1 step", 1);
    // Threads that wait for work are gone after a while.
    sleep(Duration::from_secs(11));
    take_room(&terminal);
    terminal.press("/cost\r");
    let code = terminal.exit_code();
    let screen = terminal.screen();
    assert_eq!(code, 101, "{screen}");
    assert!(screen.contains("panicked at"), "{screen}");
    assert!(terminal.is_cooked() && terminal.cursor().is_some(), "{screen}");
    let raw = terminal.raw();
    let last = |text: &str| raw.rfind(text).unwrap_or_else(|| panic!("no {text:?} in {raw:?}"));
    // Readable: whole rows, in the main screen, with the terminal as it was.
    assert!(last("\x1b[?2004l") < last("panicked at"));
    assert!(last("panicked at") < last("The session is kept: tenon show "), "{raw:?}");
    let id = raw.rsplit("tenon show ").next().unwrap().split_whitespace().next().unwrap();
    let mut terminal = Terminal::start_sized(&home, &["--resume", id], (80, 40), &[]);
    terminal.wait_for("goes on after 1 turn", 1);
    terminal.wait_for("The first answer.", 1);
    terminal.press("and then?\r");
    terminal.wait_for("The first answer.", 2);
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(home.logged("user_message", "prompt"), ["the first prompt", "and then?"]);
}

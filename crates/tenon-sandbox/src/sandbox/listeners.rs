//! Servers on this machine's own loopback, which commands inside walls do not reach: theirs is another.

use std::fs::File;
use std::io::Read;

/// The state of a socket that takes connections (the kernel's `tcp_states.h`, TCP_LISTEN).
const LISTENS: &str = "0A";

/// A socket's address as the kernel prints it, word by word in the processor's order of bytes: the loopback's and
/// the one that stands for all, of both kinds, and the former mapped into the longer.
const OWN: [&str; 5] = [
    "0100007F",
    "00000000",
    "00000000000000000000000001000000",
    "00000000000000000000000000000000",
    "0000000000000000FFFF00000100007F",
];

/// Says whether a server of this machine, outside of any walls, takes connections to `localhost` at `port`.
///
/// ```
/// let server = std::net::TcpListener::bind(("127.0.0.1", 0))?;
/// assert!(tenon_sandbox::listens_on_loopback(server.local_addr()?.port()));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn listens_on_loopback(port: u16) -> bool {
    ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().any(|path| {
        let mut list = String::new();
        #[expect(clippy::disallowed_methods, reason = "the kernel's list of sockets")]
        let read = File::open(path).and_then(|mut file| file.read_to_string(&mut list));
        // Without the list nothing is said of any.
        read.is_ok() && list.lines().any(|line| is_one(line, port))
    })
}

/// Whether a line of the kernel's list (net/ipv4/tcp_ipv4.c, `get_tcp4_sock`) is of such a server.
fn is_one(line: &str, port: u16) -> bool {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let local = fields.next().and_then(|local| local.rsplit_once(':'));
    let is_there = local.is_some_and(|(address, at)| {
        OWN.contains(&address) && u16::from_str_radix(at, 16) == Ok(port)
    });
    is_there && fields.nth(1) == Some(LISTENS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_server_is_known() {
        for (line, want) in [
            ("  0: 0100007F:4955 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0", true),
            ("  0: 00000000:4955 00000000:0000 0A 00000000:00000000", true),
            (
                "  1: 00000000000000000000000001000000:4955 00000000000000000000000000000000:0000 0A",
                true,
            ),
            ("  0: 0100007F:4955 0100007F:9999 01 00000000:00000000", false),
            ("  0: 0100007F:4956 00000000:0000 0A 00000000:00000000", false),
            ("  0: 0200A8C0:4955 00000000:0000 0A 00000000:00000000", false),
            ("  sl  local_address rem_address   st tx_queue rx_queue", false),
            ("", false),
        ] {
            assert_eq!(is_one(line, 0x4955), want, "{line:?}");
        }
    }
}

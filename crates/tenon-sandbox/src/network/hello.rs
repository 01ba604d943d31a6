//! The beginning of a TLS connection: whom does the client say it wants to talk to?
//!
//! A server that serves many hosts goes by the name in the handshake and not by the address, so a
//! client that asked for one host could talk to another. The bytes are looked at and passed on as
//! they are; nothing is decrypted. Parsed by rustls, which every TLS client of ours uses as well.

use rustls::server::Acceptor;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use super::event::Refusal;
use super::host::Host;

/// Longest beginning that is looked at. Hellos have 300 to 2,000 bytes.
const HELLO_BYTES_MAX: usize = 32 * 1024;

/// What a TLS client is told when its hello is not passed on: a fatal alert, unrecognized_name
/// (RFC 8446, section 6).
pub(super) const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 112];

/// Why a hello is not passed on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HelloError {
    /// The client is gone.
    Gone,
    Refused(Refusal),
}

/// Reads up to the end of the hello, if it names `host` or nobody, and returns the bytes read.
pub(super) async fn read_hello(
    client: &mut (impl AsyncBufRead + Unpin),
    host: &Host,
) -> Result<Vec<u8>, HelloError> {
    let mut acceptor = Acceptor::default();
    let mut hello = Vec::new();
    while hello.len() < HELLO_BYTES_MAX {
        let chunk = client.fill_buf().await.map_err(|_| HelloError::Gone)?;
        if chunk.is_empty() {
            return Err(HelloError::Gone);
        }
        hello.extend_from_slice(chunk);
        let mut unread = chunk;
        let mut verdict = None;
        while !unread.is_empty() && verdict.is_none() {
            verdict = feed(&mut acceptor, &mut unread, host);
        }
        let taken = chunk.len();
        client.consume(taken);
        match verdict {
            Some(Ok(())) => return Ok(hello),
            Some(Err(refusal)) => return Err(HelloError::Refused(refusal)),
            None => {}
        }
    }
    Err(HelloError::Refused(Refusal::NotTls))
}

/// Gives the parser more bytes. None means that the hello goes on.
fn feed(acceptor: &mut Acceptor, unread: &mut &[u8], host: &Host) -> Option<Result<(), Refusal>> {
    match acceptor.read_tls(unread) {
        Ok(0) | Err(_) => return Some(Err(Refusal::NotTls)),
        Ok(_) => {}
    }
    match acceptor.accept() {
        Ok(None) => None,
        Err(_) => Some(Err(Refusal::NotTls)),
        Ok(Some(accepted)) => match accepted.client_hello().server_name() {
            Some(name) if Host::parse(name).as_ref() != Ok(host) => {
                Some(Err(Refusal::OtherServerName { name: name.to_owned() }))
            }
            Some(_) | None => Some(Ok(())),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use rustls::crypto::ring;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};
    use tokio::io::BufReader;

    use super::*;

    fn hello(server: &str) -> Vec<u8> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let name = server.to_owned().try_into().unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8], host: &str, chunk_bytes: usize) -> Result<Vec<u8>, HelloError> {
        let host = Host::parse(host).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(read_hello(&mut BufReader::with_capacity(chunk_bytes, bytes), &host))
    }

    fn other(name: &str) -> Result<Vec<u8>, HelloError> {
        Err(HelloError::Refused(Refusal::OtherServerName { name: name.to_owned() }))
    }

    #[test]
    fn a_hello_to_the_host_goes_on_byte_for_byte() {
        let hello = hello("example.com");
        for chunk_bytes in [1, 7, 100, 8192] {
            assert_eq!(read(&hello, "Example.com.", chunk_bytes), Ok(hello.clone()));
        }
    }

    #[test]
    fn a_hello_to_another_host_is_refused() {
        assert_eq!(read(&hello("evil.org"), "example.com", 8192), other("evil.org"));
        assert_eq!(read(&hello("evil.org"), "192.0.2.7", 8192), other("evil.org"));
        assert_eq!(read(&hello("www.example.com"), "example.com", 1), other("www.example.com"));
    }

    #[test]
    fn a_hello_to_nobody_goes_on() {
        // A client that was given an address names nobody.
        let hello = hello("192.0.2.7");
        assert_eq!(read(&hello, "192.0.2.7", 8192), Ok(hello.clone()));
    }

    #[test]
    fn what_is_not_tls_is_refused() {
        let not_tls = Err(HelloError::Refused(Refusal::NotTls));
        assert_eq!(read(b"GET / HTTP/1.1\r\n\r\n", "example.com", 8192), not_tls);
        assert_eq!(read(b"SSH-2.0-OpenSSH_9.9\r\n", "example.com", 8192), not_tls);
        let hello = hello("example.com");
        assert_eq!(read(&hello[..hello.len() - 1], "example.com", 8192), Err(HelloError::Gone));
        assert_eq!(read(b"", "example.com", 8192), Err(HelloError::Gone));
    }

    #[test]
    fn an_endless_hello_is_not_waited_for() {
        // Records of one byte each of a handshake message that says it has 16 MB.
        let mut bytes = vec![22, 3, 1, 0, 4, 1, 255, 255, 255];
        while bytes.len() < 2 * HELLO_BYTES_MAX {
            bytes.extend_from_slice(&[22, 3, 1, 0, 1, 0]);
        }
        let not_tls = Err(HelloError::Refused(Refusal::NotTls));
        assert_eq!(read(&bytes, "example.com", 8192), not_tls);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut tls = vec![22, 3, 1, 0, 200];
            tls.extend_from_slice(&bytes);
            prop_assert!(read(&bytes, "example.com", 64).is_err());
            prop_assert!(read(&tls, "example.com", 64).is_err());
        }

        #[test]
        fn a_damaged_hello_never_names_another_host(at in 0_usize..200, byte: u8) {
            let mut hello = hello("example.com");
            if let Some(place) = hello.get_mut(at) {
                *place = byte;
            }
            if let Ok(passed) = read(&hello, "example.com", 64) {
                prop_assert_eq!(passed, hello);
            }
        }
    }
}

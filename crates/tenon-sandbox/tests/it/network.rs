//! The proxy between real sockets on loopback: a client, the proxy, a server that counts.
//!
//! A server here is at an address that is not public, so it needs a rule with its address and
//! port; names get their addresses from a table.

mod limits;
mod refused;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tenon_sandbox::{HostRule, Proxy, ProxyOptions, Resolve, Resolving};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::support::{TIMEOUT, runtime};

const LOOPBACK: &str = "127.0.0.1:0";

/// A proxy that is being served, with everything it told.
struct Served {
    proxy: Proxy,
    address: SocketAddr,
    events: Arc<Mutex<Vec<String>>>,
    lookups: Arc<AtomicUsize>,
    task: AbortHandle,
}

/// Names and their addresses, and how often one was asked for.
struct Table {
    addresses: Vec<(&'static str, IpAddr)>,
    lookups: Arc<AtomicUsize>,
}

impl Resolve for Table {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let found = self.addresses.iter().filter(move |(name, _)| *name == host);
        let found: Vec<IpAddr> = found.map(|(_, address)| *address).collect();
        Box::pin(async move {
            if found.is_empty() { Err(io::Error::other("no such name")) } else { Ok(found) }
        })
    }
}

fn rules(texts: &[&str]) -> Vec<HostRule> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// Serves a proxy with these rules. Must be called within the runtime.
fn serve(allowed: &[&str], names: &[(&'static str, &str)], options: ProxyOptions) -> Served {
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&events);
    let lookups = Arc::new(AtomicUsize::new(0));
    let addresses = names.iter().map(|(name, address)| (*name, address.parse().unwrap())).collect();
    let proxy = Proxy::new(ProxyOptions {
        resolver: Box::new(Table { addresses, lookups: Arc::clone(&lookups) }),
        on_event: Box::new(move |event| told.lock().unwrap().push(event.to_string())),
        ..options
    });
    proxy.allow(rules(allowed));
    let listener = std::net::TcpListener::bind(LOOPBACK).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = proxy.clone();
    let task = tokio::spawn(async move { serving.serve(listener).await }).abort_handle();
    Served { proxy, address, events, lookups, task }
}

impl Served {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes and returns all that comes back until the proxy ends the connection.
    async fn ask(&self, bytes: &[u8]) -> String {
        let mut client = self.connect().await;
        client.write_all(bytes).await.unwrap();
        read_all(&mut client).await
    }

    async fn tunnel(&self, target: &str) -> TcpStream {
        let mut client = self.connect().await;
        let head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        assert_eq!(read_head(&mut client).await, "HTTP/1.1 200 Connection established\r\n\r\n");
        client
    }

    fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }
}

async fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // An end by reset is an end.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// A server on loopback and how to name it.
struct Server {
    listener: TcpListener,
    authority: String,
}

async fn server() -> Server {
    let listener = TcpListener::bind(LOOPBACK).await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    Server { listener, authority }
}

impl Server {
    async fn accept(&self) -> TcpStream {
        self.listener.accept().await.unwrap().0
    }

    /// Lets every client hear what it says, and returns how many clients there are and were most
    /// at a time.
    fn echo(self) -> Arc<Mutex<(usize, usize, usize)>> {
        let counts = Arc::new(Mutex::new((0, 0, 0)));
        let shared = Arc::clone(&counts);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = self.listener.accept().await {
                let counts = Arc::clone(&shared);
                {
                    let mut counts = counts.lock().unwrap();
                    *counts = (counts.0 + 1, counts.1 + 1, counts.2.max(counts.1 + 1));
                }
                tokio::spawn(async move {
                    let (mut reads, mut writes) = stream.split();
                    let _ = tokio::io::copy(&mut reads, &mut writes).await;
                    counts.lock().unwrap().1 -= 1;
                });
            }
        });
        counts
    }

    /// Whether nobody has connected so far: who connects now is the first in the queue.
    async fn is_untouched(&self) -> bool {
        let ours = TcpStream::connect(&self.authority).await.unwrap();
        let (_, first) = self.listener.accept().await.unwrap();
        ours.local_addr().unwrap() == first
    }
}

fn check(test: impl Future<Output = ()>) {
    let ended = runtime().block_on(async { tokio::time::timeout(TIMEOUT, test).await });
    assert!(ended.is_ok(), "the test hangs");
}

#[test]
fn a_tunnel_passes_every_byte_as_it_is() {
    check(async {
        let server = server().await;
        let served = serve(&[&server.authority], &[], ProxyOptions::default());
        let mut client = served.tunnel(&server.authority).await;
        server.echo();
        let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let (mut reads, mut writes) = client.split();
        let sent = async {
            writes.write_all(&bytes).await.unwrap();
            writes.shutdown().await.unwrap();
        };
        let mut heard = Vec::new();
        let (_, read) = tokio::join!(sent, reads.read_to_end(&mut heard));
        assert_eq!(read.unwrap(), bytes.len());
        assert!(heard == bytes);
    });
}

#[test]
fn either_side_may_stop_talking_and_go_on_listening() {
    check(async {
        let server = server().await;
        let served = serve(&[&server.authority], &[], ProxyOptions::default());

        let mut client = served.tunnel(&server.authority).await;
        let mut other = server.accept().await;
        client.write_all(b"question").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(read_all(&mut other).await, "question");
        other.write_all(b"answer").await.unwrap();
        drop(other);
        assert_eq!(read_all(&mut client).await, "answer");

        let mut client = served.tunnel(&server.authority).await;
        let mut other = server.accept().await;
        other.write_all(b"greeting").await.unwrap();
        other.shutdown().await.unwrap();
        assert_eq!(read_all(&mut client).await, "greeting");
        client.write_all(b"thanks").await.unwrap();
        drop(client);
        assert_eq!(read_all(&mut other).await, "thanks");
    });
}

#[test]
fn a_hundred_megabytes_arrive_whole() {
    const TOTAL_BYTES: usize = 100_000_000;
    check(async {
        let server = server().await;
        let served = serve(&[&server.authority], &[], ProxyOptions::default());
        let mut client = served.tunnel(&server.authority).await;
        let mut other = server.accept().await;
        let piece: Vec<u8> = (0..=250).cycle().take(251 * 400).collect();
        let expected = piece.clone();
        let sending = tokio::spawn(async move {
            let mut left_bytes = TOTAL_BYTES;
            while left_bytes > 0 {
                let bytes = left_bytes.min(piece.len());
                other.write_all(&piece[..bytes]).await.unwrap();
                left_bytes -= bytes;
            }
        });
        let mut heard = vec![0; expected.len()];
        let mut total_bytes = 0;
        loop {
            let at = total_bytes % expected.len();
            let bytes = client.read(&mut heard[at..]).await.unwrap();
            if bytes == 0 {
                break;
            }
            assert!(heard[at..at + bytes] == expected[at..at + bytes], "at byte {total_bytes}");
            total_bytes += bytes;
        }
        sending.await.unwrap();
        assert_eq!(total_bytes, TOTAL_BYTES);
    });
}

#[test]
fn a_plain_request_is_one_request_and_its_response() {
    check(async {
        let server = server().await;
        let served = serve(&[&server.authority], &[], ProxyOptions::default());
        let authority = server.authority.clone();
        let answering = tokio::spawn(async move {
            let mut stream = server.accept().await;
            let head = read_head(&mut stream).await;
            let mut body = [0; 4];
            stream.read_exact(&mut body).await.unwrap();
            let answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\
                           Connection: keep-alive\r\n\r\nok";
            stream.write_all(answer).await.unwrap();
            stream.shutdown().await.unwrap();
            let rest = read_all(&mut stream).await;
            (head, body, rest, server.is_untouched().await)
        });
        // A second request behind the first, to be smuggled.
        let request = format!(
            "POST http://{authority}/a?b HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 4\r\n\
             Proxy-Authorization: Basic eA==\r\nExpect: 100-continue\r\n\r\nbody\
             GET http://{authority}/second HTTP/1.1\r\nHost: {authority}\r\n\r\n"
        );
        let answer = served.ask(request.as_bytes()).await;
        assert_eq!(
            answer,
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\
             Connection: close\r\n\r\nok"
        );
        let (head, body, rest, untouched) = answering.await.unwrap();
        assert_eq!(
            head,
            format!(
                "POST /a?b HTTP/1.1\r\nHost: {authority}\r\nExpect: 100-continue\r\n\
                 Content-Length: 4\r\nConnection: close\r\n\r\n"
            )
        );
        assert_eq!((&body, rest.as_str(), untouched), (b"body", "", true));
        assert_eq!(served.events(), [format!("allowed: {authority} (by {authority})")]);
    });
}

#[test]
fn a_client_that_leaves_within_its_body_ends_the_request() {
    check(async {
        let server = server().await;
        let served = serve(&[&server.authority], &[], ProxyOptions::default());
        let authority = &server.authority;
        let mut client = served.connect().await;
        let request = format!(
            "PUT http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 9\r\n\r\nhalf"
        );
        client.write_all(request.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let mut other = server.accept().await;
        assert!(read_all(&mut other).await.ends_with("\r\n\r\nhalf"));
        assert_eq!(read_all(&mut client).await, "");
    });
}

#[test]
fn the_address_that_was_checked_is_the_one_that_is_dialled() {
    check(async {
        let server = server().await;
        let port = server.listener.local_addr().unwrap().port();
        let name = format!("inner.example.com:{port}");
        // Of two answers one is named by a rule; the other is not tried.
        let names = [("inner.example.com", "127.0.0.2"), ("inner.example.com", "127.0.0.1")];
        let served = serve(&[&name, &server.authority], &names, ProxyOptions::default());
        served.tunnel(&name).await;
        let peer = server.accept().await.local_addr().unwrap();
        assert_eq!(peer.to_string(), server.authority);
        assert_eq!(served.lookups.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_server_that_cannot_be_reached_or_understood_is_a_failure_and_not_blocked() {
    check(async {
        // Nobody but the system may listen there.
        let closed = "127.0.0.1:1".to_owned();
        let served = serve(&[&closed, "gone.example.com"], &[], ProxyOptions::default());
        let answer = served.ask(format!("CONNECT {closed} HTTP/1.1\r\n\r\n").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer}");
        let answer = served.ask(b"CONNECT gone.example.com:443 HTTP/1.1\r\n\r\n").await;
        assert!(answer.contains("cannot be resolved: no such name"), "{answer}");

        let server = server().await;
        let at = server.authority.clone();
        served.proxy.allow(rules(&[&at]));
        tokio::spawn(async move {
            let mut stream = server.accept().await;
            read_head(&mut stream).await;
            stream.write_all(b"SSH-2.0-server\r\n\r\n").await.unwrap();
        });
        let request = format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n");
        let answer = served.ask(request.as_bytes()).await;
        assert!(answer.ends_with(&format!("failed: {at} (the response is not HTTP/1.1)\n")));
        assert!(!served.events().iter().any(|event| event.starts_with("blocked: ")));
    });
}

#[test]
fn a_dot_at_the_end_of_a_host_opens_nothing_more() {
    check(async {
        let server = server().await;
        let port = server.listener.local_addr().unwrap().port();
        let names = [("inner.example.com", "127.0.0.1")];
        let name = format!("inner.example.com:{port}");
        let served = serve(&[&name, "127.0.0.1:1"], &names, ProxyOptions::default());
        // Not without a rule for it, and not by a name that leads there.
        for host in ["127.0.0.1.", "inner.example.com."] {
            let head = format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n");
            let answer = served.ask(head.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
        }
        assert!(server.is_untouched().await);
        served.proxy.allow(rules(&[&server.authority]));
        served.tunnel(&format!("127.0.0.1.:{port}")).await;
        server.accept().await;
        let shown = served.events().join("\n");
        assert!(!shown.contains("127.0.0.1."), "{shown}");
    });
}

//! What the proxy does not let through, and that nobody hears of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use tenon_sandbox::{ProxyOptions, UpstreamProxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{check, read_all, read_head, rules, serve, server};
use crate::support::runtime;

#[test]
fn what_no_rule_allows_is_answered_with_what_would() {
    check(async {
        let served = serve(&["*.example.com"], &[], ProxyOptions::default());
        served.proxy.deny(rules(&["bad.example.com"]));
        let running = served.proxy.begin(None);
        let sentences = [
            ("CONNECT evil-example.com:443", "no rule allows it; --net evil-example.com would"),
            ("CONNECT 1.1.1.1:443", "no rule allows it; --net 1.1.1.1:443 would"),
            ("CONNECT a.example.com:22", "no rule allows it; --net a.example.com:22 would"),
            ("CONNECT bad.example.com:443", "the rule net(bad.example.com) denies it"),
        ];
        for (request, reason) in sentences {
            let answer = served.ask(format!("{request} HTTP/1.1\r\n\r\n").as_bytes()).await;
            let target = request.trim_start_matches("CONNECT ");
            let body = format!("blocked: {target} ({reason})\n");
            assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
            assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
            assert_eq!(served.events().last(), Some(&body.trim_end().to_owned()));
        }
        let blocked = served.proxy.take_blocked(running.id());
        let hosts: Vec<&str> = blocked.iter().map(|event| event.host.as_str()).collect();
        assert_eq!(hosts, ["evil-example.com", "1.1.1.1", "a.example.com", "bad.example.com"]);
        assert_eq!(served.proxy.take_blocked(running.id()), []);
        // A name that is not allowed is not even asked for: its owner would learn of it.
        assert_eq!(served.lookups.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn plain_http_has_no_tunnel_in_which_requests_could_name_other_hosts() {
    check(async {
        let served = serve(&["example.com", "127.0.0.1:80"], &[], ProxyOptions::default());
        for target in ["example.com:80", "127.0.0.1:80", "[::1]:80", "other.example:80"] {
            let answer = served.ask(format!("CONNECT {target} HTTP/1.1\r\n\r\n").as_bytes()).await;
            let reason = "plain HTTP goes through a proxy as http://…, not by CONNECT";
            assert!(answer.ends_with(&format!("blocked: {target} ({reason})\n")), "{answer}");
        }
        assert_eq!(served.lookups.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_name_does_not_lead_to_an_address_near_us() {
    check(async {
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "100.100.100.200",
            "169.254.169.254",
            "192.168.1.1",
            "0.0.0.0",
            "224.0.0.1",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "fd00:ec2::254",
            "fe80::1",
        ] {
            let server = server().await;
            let port = server.listener.local_addr().unwrap().port();
            let rule = format!("inner.example.com:{port}");
            let served =
                serve(&[&rule], &[("inner.example.com", address)], ProxyOptions::default());
            let answer = served.ask(format!("CONNECT {rule} HTTP/1.1\r\n\r\n").as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{address}: {answer}");
            assert!(answer.contains("is not a public address"), "{address}: {answer}");
            assert!(server.is_untouched().await, "{address}");
        }
    });
}

#[test]
fn a_request_that_two_programs_read_differently_reaches_nobody() {
    check(async {
        let server = server().await;
        let at = &server.authority;
        let served = serve(&[at], &[], ProxyOptions::default());
        let host = format!("Host: {at}\r\n");
        for request in [
            format!(
                "POST http://{at}/ HTTP/1.1\r\n{host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            format!(
                "POST http://{at}/ HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            format!(
                "POST http://{at}/ HTTP/1.1\r\n{host}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"
            ),
            format!("POST http://{at}/ HTTP/1.1\r\n{host}Content-Length: 3 \r\n 4\r\n\r\nabcd"),
            format!("GET http://{at}/ HTTP/1.1\r\n{host}X: 1\nY: 2\r\n\r\n"),
            format!("GET http://{at}/ HTTP/1.1\r\n{host}X: 1\rY: 2\r\n\r\n"),
            format!("GET http://{at}/ HTTP/1.1\r\n{host}X: \0\r\n\r\n"),
            format!("GET http://{at}/ HTTP/1.1\r\n{host}X : 1\r\n\r\n"),
            format!("GET http://{at}/ HTTP/1.1\r\n{host}{host}\r\n"),
            format!("GET http://{at}/ HTTP/1.1\r\nHost: other.example\r\n\r\n"),
            format!("GET http://{at}/ HTTP/1.1\r\n\r\n"),
            format!("GET http://user@{at}/ HTTP/1.1\r\n{host}\r\n"),
            format!("GET http://{at}\\@x.example/ HTTP/1.1\r\n{host}\r\n"),
            format!("GET https://{at}/ HTTP/1.1\r\n{host}\r\n"),
            format!("GET / HTTP/1.1\r\n{host}\r\n"),
            format!("CONNECT user@{at} HTTP/1.1\r\n{host}\r\n"),
            format!("CONNECT {at} HTTP/1.1\r\n{host}Content-Length: 5\r\n\r\nhello"),
            format!("CONNECT  {at} HTTP/1.1\r\n{host}\r\n"),
            format!("\r\nCONNECT {at} HTTP/1.1\r\n{host}\r\n"),
            format!("CONNECT {at} HTTP/2.0\r\n{host}\r\n"),
            format!("CONNECT {at}\r\n\r\n"),
            format!("CONNECT {at} HTTP/1.1\r\n{}\r\n", "X: 1\r\n".repeat(101)),
            format!("CONNECT {at} HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(40_000)),
        ] {
            let answer = served.ask(request.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 4"), "{request:?}: {answer:?}");
            assert!(server.is_untouched().await, "{request:?}");
        }
        let blocked = served.events().iter().filter(|event| event.starts_with("blocked: ")).count();
        assert_eq!(blocked, 23);
    });
}

/// What a client of `server` sends first.
fn hello(server: &str) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = server.to_owned().try_into().unwrap();
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

#[test]
fn tls_passes_untouched_to_the_host_that_was_asked_for_and_to_no_other() {
    check(async {
        // The network's own proxy, which stands for port 443 of the internet.
        let server = server().await;
        let address = format!("http://user:word@{}", server.authority);
        let upstream = Some(UpstreamProxy::parse(&address).unwrap());
        let options = ProxyOptions { upstream, ..ProxyOptions::default() };
        let served = serve(&["example.com", "example.com:8443"], &[], options);
        let said = [("example.com", true), ("evil.org", false)];
        let targets = ["example.com:8443", "example.com:443"];
        for (target, (said, passes)) in
            targets.into_iter().flat_map(|at| said.map(|said| (at, said)))
        {
            let hello = hello(said);
            let sent = hello.clone();
            let answering = async {
                let mut stream = server.accept().await;
                let head = read_head(&mut stream).await;
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                let mut heard = vec![0; if passes { sent.len() } else { 0 }];
                stream.read_exact(&mut heard).await.unwrap();
                stream.write_all(if passes { b"server hello" } else { b"" }).await.unwrap();
                if passes {
                    stream.shutdown().await.unwrap();
                }
                let rest = read_all(&mut stream).await;
                (head, heard, rest)
            };
            let asking = async {
                let mut client = served.tunnel(target).await;
                client.write_all(&hello).await.unwrap();
                client.shutdown().await.unwrap();
                let mut heard = Vec::new();
                let _ = client.read_to_end(&mut heard).await;
                heard
            };
            let ((head, heard, rest), answer) = tokio::join!(answering, asking);
            assert_eq!(
                head,
                format!(
                    "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\
                     Proxy-Authorization: Basic dXNlcjp3b3Jk\r\n\r\n"
                )
            );
            assert_eq!(rest, "");
            let alert = [21, 3, 3, 0, 2, 2, 112];
            assert_eq!(answer, if passes { b"server hello".to_vec() } else { alert.to_vec() });
            assert_eq!(heard, if passes { hello } else { Vec::new() });
        }
        let last = "blocked: example.com:443 (its TLS handshake names evil.org instead)";
        assert_eq!(served.events().last().map(String::as_str), Some(last));
        assert_eq!(served.lookups.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn behind_another_proxy_addresses_in_a_request_are_still_checked() {
    check(async {
        let server = server().await;
        let upstream = Some(UpstreamProxy::parse(&server.authority).unwrap());
        let options = ProxyOptions { upstream, ..ProxyOptions::default() };
        let served = serve(&["10.0.0.1", "169.254.169.254"], &[], options);
        for address in ["10.0.0.1:443", "169.254.169.254:443"] {
            let answer = served.ask(format!("CONNECT {address} HTTP/1.1\r\n\r\n").as_bytes()).await;
            assert!(answer.contains("is not a public address"), "{answer}");
        }
        assert!(server.is_untouched().await);
    });
}

/// Pieces of requests to hosts that no rule allows, and noise.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"CONNECT ".to_vec()),
        Just(b"GET http://".to_vec()),
        Just(b"example.com.evil.org".to_vec()),
        Just(b"evil.org@example.com".to_vec()),
        Just(b":443".to_vec()),
        Just(b"127.1".to_vec()),
        Just(b" HTTP/1.1\r\n".to_vec()),
        Just(b"Host: example.com\r\n".to_vec()),
        Just(b"\r\n\r\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

#[test]
fn noise_reaches_nobody_and_stops_nothing() {
    let runtime = runtime();
    let served = {
        let _inside = runtime.enter();
        serve(&["example.com"], &[], ProxyOptions::default())
    };
    let running = served.proxy.begin(None);
    proptest!(ProptestConfig::with_cases(200), |(bytes in pieces())| {
        runtime.block_on(async {
            let mut client = served.connect().await;
            // The proxy may have heard enough before all is sent.
            let _ = client.write_all(&bytes).await;
            let _ = client.shutdown().await;
            let answer = read_all(&mut client).await;
            assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
        });
    });
    assert_eq!(served.lookups.load(Ordering::SeqCst), 0);
    let allowed = served.events().into_iter().find(|event| !event.starts_with("blocked: "));
    assert_eq!(allowed, None);
    assert!(!served.proxy.take_blocked(running.id()).is_empty());
}

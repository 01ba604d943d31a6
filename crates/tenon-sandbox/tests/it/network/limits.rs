//! When connections end: slots, silence, rules that go, the end of the proxy.

use std::sync::Arc;
use std::time::Duration;

use tenon_sandbox::{ProxyLimits, ProxyOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{check, read_all, rules, serve, server};

/// Short, for tests in which something must come to its end.
const SOON: Duration = Duration::from_millis(30);

fn limited(limits: ProxyLimits) -> ProxyOptions {
    ProxyOptions { limits, ..ProxyOptions::default() }
}

#[test]
fn silent_and_slow_clients_hold_no_more_than_the_slots_and_not_for_ever() {
    check(async {
        let server = server().await;
        let at = server.authority.clone();
        let limits =
            ProxyLimits { connections_max: 4, head_timeout: SOON, ..ProxyLimits::default() };
        let served = serve(&[&at], &[], limited(limits));
        let mut clients = Vec::new();
        for _ in 0..40 {
            let mut client = served.connect().await;
            client.write_all(b"CONNECT exam").await.unwrap();
            clients.push(client);
            assert!(served.proxy.connections() <= 4);
        }
        // One that keeps sending has no more time than one that is silent.
        let mut trickling = served.connect().await;
        let trickle = tokio::spawn(async move {
            while trickling.write_all(b"x").await.is_ok() {
                tokio::time::sleep(SOON / 10).await;
            }
        });
        server.echo();
        served.tunnel(&at).await;
        assert!(served.proxy.connections() <= 4);
        for mut client in clients {
            assert_eq!(read_all(&mut client).await, "");
        }
        trickle.await.unwrap();
    });
}

#[test]
fn a_tunnel_in_which_nothing_passes_ends() {
    check(async {
        let server = server().await;
        let limits = ProxyLimits { idle_timeout: SOON, ..ProxyLimits::default() };
        let served = serve(&[&server.authority], &[], limited(limits));
        let mut client = served.tunnel(&server.authority).await;
        let mut other = server.accept().await;
        assert_eq!(read_all(&mut client).await, "");
        assert_eq!(read_all(&mut other).await, "");
    });
}

#[test]
fn a_grant_that_ends_takes_its_connections_along() {
    check(async {
        let server = server().await;
        let served = serve(&["example.com"], &[], ProxyOptions::default());
        let grant = served.proxy.grant(rules(&[&server.authority]));
        let other_grant = served.proxy.grant(rules(&["example.org"]));
        let mut client = served.tunnel(&server.authority).await;
        let mut other = server.accept().await;
        drop(other_grant);
        client.write_all(b"still here").await.unwrap();
        let mut heard = [0; 10];
        other.read_exact(&mut heard).await.unwrap();
        drop(grant);
        assert_eq!(read_all(&mut client).await, "");
        assert_eq!(read_all(&mut other).await, "");
        let head = format!("CONNECT {} HTTP/1.1\r\n\r\n", server.authority);
        assert!(served.ask(head.as_bytes()).await.starts_with("HTTP/1.1 403 "));
    });
}

#[test]
fn a_host_that_becomes_denied_is_left() {
    check(async {
        let server = server().await;
        let served = serve(&[&server.authority], &[], ProxyOptions::default());
        let mut client = served.tunnel(&server.authority).await;
        served.proxy.deny(rules(&["127.0.0.1"]));
        assert_eq!(read_all(&mut client).await, "");
    });
}

#[test]
fn the_end_of_serving_ends_every_connection() {
    check(async {
        let server = server().await;
        let served = serve(&[&server.authority], &[], ProxyOptions::default());
        let mut client = served.tunnel(&server.authority).await;
        let mut other = server.accept().await;
        served.task.abort();
        assert_eq!(read_all(&mut client).await, "");
        assert_eq!(read_all(&mut other).await, "");
        assert!(TcpStream::connect(served.address).await.is_err());
    });
}

#[test]
fn many_clients_at_once_are_all_served_and_no_more_than_the_slots_at_a_time() {
    check(async {
        let server = server().await;
        let at = server.authority.clone();
        let limits = ProxyLimits { connections_max: 16, ..ProxyLimits::default() };
        let served = Arc::new(serve(&[&at], &[], limited(limits)));
        let counts = server.echo();
        let mut clients = JoinSet::new();
        for number in 0..300 {
            let (served, at) = (Arc::clone(&served), at.clone());
            clients.spawn(async move {
                let mut client = served.tunnel(&at).await;
                let said = format!("client {number}");
                client.write_all(said.as_bytes()).await.unwrap();
                client.shutdown().await.unwrap();
                assert_eq!(read_all(&mut client).await, said);
            });
        }
        while let Some(client) = clients.join_next().await {
            client.unwrap();
        }
        let (total, _, most) = *counts.lock().unwrap();
        assert_eq!(total, 300);
        assert!(most <= 16, "{most} at a time");
    });
}

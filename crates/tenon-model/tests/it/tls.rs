//! HTTPS with an authority of one's own, against a TLS server on loopback.
//!
//! The certificate in `tls/` is for localhost, valid for 100 years, signed by `tls/ca.pem`, whose
//! key was thrown away: it vouches for nothing.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::Arc,
};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tenon_model::{HttpOptions, ProviderErrorKind};

use crate::{
    fake_server::Turn,
    support::{openai_with, request, run},
};

/// Starts a server that answers one request on each connection; returns its base URL.
fn start() -> String {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/localhost.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/localhost.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut reader = BufReader::new(StreamOwned::new(connection, stream));
            // The request's last byte is the body's closing brace; a refused handshake ends here.
            if reader.read_until(b'}', &mut Vec::new()).is_err() {
                continue;
            }
            let body = Turn::text("hi").openai_sse();
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            let tls = reader.get_mut();
            drop(tls.write_all(format!("{head}{body}").as_bytes()));
            tls.conn.send_close_notify();
            drop(tls.flush());
        }
    });
    format!("https://localhost:{port}")
}

#[tokio::test]
async fn a_company_s_authority_is_honoured() {
    let extra_ca_pem = vec![include_bytes!("tls/ca.pem").to_vec()];
    let http = HttpOptions { extra_ca_pem, ..HttpOptions::default() };
    let reply = run(&openai_with(&start(), http), request("hi")).await.reply();
    assert_eq!(reply.message.text(), "hi");
}

#[tokio::test]
async fn an_unknown_authority_is_refused_at_once_with_a_hint() {
    let run = run(&openai_with(&start(), HttpOptions::default()), request("hi")).await;
    assert_eq!(run.retries(), 0);
    let error = run.error();
    assert_eq!(error.kind, ProviderErrorKind::Configuration);
    assert!(error.message.contains("is not trusted: "), "{error}");
    assert!(error.hint.is_some_and(|hint| hint.contains("certificate authority")));
}

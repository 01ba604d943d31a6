//! How the network is reached: proxies, downloads, servers on loopback.

use tenon_model::{HttpClient, HttpOptions, LoopbackCandidate, Secret, loopback_servers};

use crate::{
    fake_server::{FakeServer, Reply},
    support::{openai_with, request, run},
};

fn through(proxy: &str, no_proxy: Option<&str>) -> HttpOptions {
    HttpOptions {
        proxy: Some(Secret::new(proxy)),
        no_proxy: no_proxy.map(str::to_owned),
        ..HttpOptions::default()
    }
}

#[tokio::test]
async fn requests_go_through_the_proxy() {
    let proxy = FakeServer::start(vec![Reply::openai_text("hi")]);
    let at = proxy.url().replace("http://", "http://user:pass-word@");
    let provider = openai_with("http://model.test/v1", through(&at, None));
    assert_eq!(run(&provider, request("hi")).await.reply().message.text(), "hi");
    let sent = &proxy.requests()[0];
    assert_eq!(sent.path, "http://model.test/v1/chat/completions");
    assert!(sent.header("proxy-authorization").unwrap().starts_with("Basic "));
}

#[tokio::test]
async fn loopback_is_never_reached_through_the_proxy() {
    let server = FakeServer::start(vec![Reply::openai_text("hi")]);
    let provider = openai_with(&server.url(), through("http://127.0.0.1:1", None));
    assert_eq!(run(&provider, request("hi")).await.reply().message.text(), "hi");
}

#[tokio::test]
async fn a_proxy_that_does_not_run_is_named_without_its_password() {
    let provider =
        openai_with("http://model.test", through("http://u:pass-word@127.0.0.1:1", None));
    let mut stream = tenon_model::Provider::stream(&provider, request("hi"));
    let Some(Ok(tenon_model::StreamEvent::Retrying { reason, .. })) =
        futures::StreamExt::next(&mut stream).await
    else {
        panic!("no retry")
    };
    assert!(reason.starts_with("Cannot connect to model.test (through the proxy)"), "{reason}");
    assert!(!reason.contains("pass-word"), "{reason}");
}

#[tokio::test]
async fn a_download_goes_on_where_it_stopped() {
    let server = FakeServer::start(vec![
        Reply::status(206).header("content-range", "bytes 4-9/10").body("456789"),
        Reply::status(302).header("location", "/elsewhere"),
        Reply::status(200).header("content-type", "x/y").body("0123456789"),
    ]);
    let http = HttpClient::new(HttpOptions::default());
    let mut download = http.get_from(&format!("{}/file", server.url()), 4).await.unwrap();
    assert_eq!((download.status, download.total_bytes), (206, Some(10)));
    assert_eq!(download.chunk().await.unwrap().unwrap(), "456789");
    assert_eq!(download.chunk().await.unwrap(), None);
    let mut download = http.get_from(&format!("{}/moved", server.url()), 0).await.unwrap();
    assert_eq!(download.status, 200);
    assert_eq!(download.chunk().await.unwrap().unwrap(), "0123456789");
    let sent = server.requests();
    assert_eq!(sent[0].header("range"), Some("bytes=4-"));
    assert_eq!((sent[2].path.as_str(), sent[2].header("range")), ("/elsewhere", None));
}

#[tokio::test]
async fn servers_on_loopback_are_found_by_their_models() {
    let long = "x".repeat(301);
    let names = ["qwen3:8b", "x\n  9  y", "", "x\u{2028}", "\u{1b}[2J", &long, "x"];
    let models = names.map(|id| serde_json::json!({"id": id}));
    let list = serde_json::json!({"object": "list", "data": models});
    let with = FakeServer::start(vec![Reply::status(200).body(&list.to_string())]);
    let without = FakeServer::start(vec![Reply::status(200).body(r#"{"data":[]}"#)]);
    let other = FakeServer::start(vec![Reply::status(200).body("<html>")]);
    let gone = FakeServer::start(Vec::new()).url();
    let urls = [gone, other.url(), without.url(), with.url(), "http://model.test".to_owned()];
    let candidates: Vec<_> =
        urls.iter().map(|url| LoopbackCandidate { name: "x", base_url: url }).collect();
    let http = HttpClient::new(HttpOptions::default());
    let found = loopback_servers(&http, &candidates).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].base_url, with.url());
    assert_eq!(found[0].models, ["qwen3:8b", "x"]);
    assert_eq!(with.requests()[0].path, "/v1/models");
    assert_eq!(with.requests()[0].header("authorization"), None);
}

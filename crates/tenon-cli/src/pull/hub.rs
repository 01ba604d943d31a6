//! The model hub: one file over HTTP, gone on with where it broke off.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests look at what was kept"))]

use std::{io, time::Duration};

use tenon_model::{HttpClient, HttpOptions};

use super::{ModelFile, Partial, Progress, partial::WriteError};
use crate::config::Config;

/// The hub unless `HF_ENDPOINT`, which its own tools know, names a mirror. The digest vouches for
/// what comes, not the host.
const HUB: &str = "https://huggingface.co";
/// Many networks drop packets to the hub silently; the other source should not wait for long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(15);
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Attempts in a row that may bring nothing new.
const IDLE_ATTEMPTS_MAX: u32 = 3;

/// Why the hub gave nothing more.
#[derive(Debug)]
pub(super) enum Failure {
    /// The file cannot be written; another source would not help.
    Disk(io::Error),
    /// The hub's fault, in a few words.
    Source(String),
}

/// Fetches what `partial` lacks.
pub(super) async fn fetch(
    model: &ModelFile,
    config: &Config,
    partial: &mut Partial<'_>,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let hub = config.variable("HF_ENDPOINT").unwrap_or(HUB).trim_end_matches('/');
    let options = config
        .network
        .http_options(Some(hub))
        .map_err(|error| Failure::Source(error.to_string()))?;
    let http = HttpClient::new(HttpOptions {
        connect_timeout: CONNECT_TIMEOUT,
        first_byte_timeout: FIRST_BYTE_TIMEOUT,
        idle_timeout: IDLE_TIMEOUT,
        ..options
    });
    let url = format!("{hub}/{}", model.hub_path);
    let mut idle_attempts = 0;
    while partial.next_part().is_some() {
        let before = partial.position();
        let result = attempt(&http, &url, model, partial, progress).await;
        idle_attempts = if partial.position() > before { 0 } else { idle_attempts + 1 };
        match result {
            Ok(()) if idle_attempts == 0 => {}
            Ok(()) => return Err(Failure::Source("it ends too early".into())),
            // A broken connection is taken up again as long as that brings something.
            Err(Attempt::Broken(words)) if before == 0 && idle_attempts > 0 => {
                return Err(Failure::Source(words));
            }
            Err(Attempt::Broken(_)) if idle_attempts < IDLE_ATTEMPTS_MAX => {}
            Err(Attempt::Broken(words) | Attempt::Wrong(words)) => {
                return Err(Failure::Source(words));
            }
            Err(Attempt::Disk(error)) => return Err(Failure::Disk(error)),
        }
    }
    Ok(())
}

/// Why an attempt ended.
enum Attempt {
    /// The connection; another one may do.
    Broken(String),
    /// What came is not the file.
    Wrong(String),
    Disk(io::Error),
}

async fn attempt(
    http: &HttpClient,
    url: &str,
    model: &ModelFile,
    partial: &mut Partial<'_>,
    progress: &mut Progress,
) -> Result<(), Attempt> {
    let start = partial.position();
    let mut download =
        http.get_from(url, start).await.map_err(|error| Attempt::Broken(error.to_string()))?;
    // A server that knows no ranges sends all of it again.
    let mut skipped = match download.status {
        206 => 0,
        200 => start,
        status => return Err(Attempt::Wrong(format!("it answers with status {status}"))),
    };
    if download.total_bytes.is_some_and(|bytes| bytes != model.bytes()) {
        return Err(Attempt::Wrong("it has another file under this name".into()));
    }
    loop {
        let chunk = match download.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(()),
            Err(error) => return Err(Attempt::Broken(error.to_string())),
        };
        let skip = usize::try_from(skipped).unwrap_or(usize::MAX).min(chunk.len());
        skipped -= skip as u64;
        match partial.write(chunk.get(skip..).unwrap_or_default()) {
            Ok(()) => progress.at(partial.position()),
            Err(WriteError::Io(error)) => return Err(Attempt::Disk(error)),
            Err(error) => return Err(Attempt::Wrong(error.to_string())),
        }
    }
}

#[cfg(test)]
#[path = "../../../../tests/support/fake_server/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod fake_server;

#[cfg(test)]
mod tests {
    use super::{
        fake_server::{FakeServer, Reply},
        *,
    };
    use crate::{args::SessionArgs, config::Environment, pull::partial::tests::model_of};

    /// Fetches a model of the parts `abcd` and `efghij`, and returns what is there of it.
    async fn fetch_from(server: &FakeServer) -> (Result<(), String>, String) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        let environment = Environment::of(&[("HOME", home), ("HF_ENDPOINT", &server.url())]);
        let config = Config::load(environment, &SessionArgs::default()).unwrap();
        let model = model_of(&["abcd", "efghij"]);
        let mut partial = Partial::open(&model, folder.path(), &mut |_| {}).unwrap();
        let result = fetch(&model, &config, &mut partial, &mut Progress::silent()).await;
        let result = result.map_err(|failure| match failure {
            Failure::Source(words) => words,
            Failure::Disk(error) => panic!("{error}"),
        });
        let there = std::fs::read_to_string(model.partial_path(folder.path())).unwrap();
        (result, there)
    }

    fn rest(range: &str, bytes: &str) -> Reply {
        Reply::status(206).header("content-range", range).piece(bytes)
    }

    #[tokio::test]
    async fn a_broken_download_goes_on_where_it_was() {
        let server = FakeServer::start(vec![
            Reply::status(200).piece("abcde").drop_connection(),
            rest("bytes 5-9/10", "fg").drop_connection(),
            Reply::status(200).piece("abcdefghij"),
        ]);
        let (result, there) = fetch_from(&server).await;
        assert_eq!((result, there.as_str()), (Ok(()), "abcdefghij"));
        let requests = server.requests();
        let ranges: Vec<Option<&str>> =
            requests.iter().map(|request| request.header("range")).collect();
        assert_eq!(ranges, [None, Some("bytes=5-"), Some("bytes=7-")]);
        assert!(requests.iter().all(|request| request.path == "/a/b"));
    }

    #[tokio::test]
    async fn another_file_and_bad_bytes_are_refused() {
        let other = Reply::status(200).header("content-range", "bytes 0-10/11").piece("abcdX");
        let cases = [
            (other, "another file", ""),
            (Reply::status(200).piece("abcdefghiX"), "part 2", "abcd"),
            (Reply::status(404), "status 404", ""),
        ];
        for (reply, expected, kept) in cases {
            let (result, there) = fetch_from(&FakeServer::start(vec![reply])).await;
            let words = result.unwrap_err();
            assert!(words.contains(expected), "{words}");
            assert_eq!(there, kept);
        }
    }

    #[tokio::test]
    async fn a_hub_that_breaks_off_at_once_is_not_asked_again() {
        let server = FakeServer::start(vec![Reply::status(200).drop_connection()]);
        let (result, _) = fetch_from(&server).await;
        assert!(result.is_err());
        assert_eq!(server.requests().len(), 1);
    }
}

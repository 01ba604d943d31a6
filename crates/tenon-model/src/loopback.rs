//! Finds model servers that run on this machine, by asking their usual ports for a list of models.

use std::time::Duration;

use futures::future::join_all;
use serde::Deserialize;
use tokio::time::timeout;

use crate::http::{HttpClient, endpoint, is_loopback};

/// How long a server may take to list its models. A port that nobody listens on answers at once.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// How much of an answer is read: a list of thousands of models.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Of the name of a model, which is a path at some servers.
const NAME_CHARS_MAX: usize = 300;

/// A place where a server may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopbackCandidate<'a> {
    /// The server's name for people.
    pub name: &'a str,
    /// Its base URL for [`crate::OpenAiProvider`].
    pub base_url: &'a str,
}

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopbackServer {
    /// The server's name for people.
    pub name: String,
    /// Its base URL for [`crate::OpenAiProvider`].
    pub base_url: String,
    /// The names of its models, in its own order; at least one. Each is one line of at most 300 characters.
    pub models: Vec<String>,
}

/// The usual ports of Ollama, LM Studio and llama.cpp.
pub const LOOPBACK_CANDIDATES: [LoopbackCandidate<'static>; 3] = [
    LoopbackCandidate { name: "Ollama", base_url: "http://127.0.0.1:11434/v1" },
    LoopbackCandidate { name: "LM Studio", base_url: "http://127.0.0.1:1234/v1" },
    LoopbackCandidate { name: "llama.cpp", base_url: "http://127.0.0.1:8080/v1" },
];

#[derive(Deserialize)]
struct Models {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
}

/// Asks all candidates at the same time and returns those that run and have a model, in the order
/// of the candidates. Takes at most half a second; asks no other machine.
pub async fn loopback_servers(
    http: &HttpClient,
    candidates: &[LoopbackCandidate<'_>],
) -> Vec<LoopbackServer> {
    let answers = candidates.iter().map(|candidate| async move {
        let models = timeout(ANSWER_TIMEOUT, models(http, candidate.base_url)).await.ok()??;
        Some(LoopbackServer {
            name: candidate.name.to_owned(),
            base_url: candidate.base_url.to_owned(),
            models,
        })
    });
    join_all(answers).await.into_iter().flatten().collect()
}

async fn models(http: &HttpClient, base_url: &str) -> Option<Vec<String>> {
    let url = endpoint(base_url, "models").ok().filter(is_loopback)?;
    let mut reply = http.get(&url).await.ok().filter(|reply| reply.status.is_success())?;
    let body = reply.body_up_to(ANSWER_BYTES_MAX).await;
    let models: Models = serde_json::from_slice(&body).ok()?;
    let names = models.data.into_iter().map(|model| model.id).filter(|name| is_name(name));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then_some(names)
}

/// Whether it is a line that a list can show. Other programs of this machine may answer at these ports.
fn is_name(text: &str) -> bool {
    let ends_a_line = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    !text.trim().is_empty() && !text.contains(ends_a_line) && text.chars().count() <= NAME_CHARS_MAX
}

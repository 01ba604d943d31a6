//! A provider that replays stream events and remembers the requests, and a front end that
//! remembers the events.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use serde_json::Value;
use tenon_agent::{Agent, AgentOptions, Answer, FrontEnd, Question, Sandbox, Tools, Update};
use tenon_model::{
    Abilities, EventStream, Provider, ProviderError, Request, StopReason, StreamEvent,
};
use tenon_sandbox::Workspace;

pub(crate) type Reply = Vec<Result<StreamEvent, ProviderError>>;

/// Replays replies; a request beyond the last one never ends.
pub(crate) struct Fake {
    replies: Mutex<VecDeque<Reply>>,
    pub requests: Mutex<Vec<Request>>,
    abilities: Abilities,
}

#[derive(Default)]
pub(crate) struct Front {
    pub updates: Mutex<Vec<Update>>,
    pub answers: Mutex<VecDeque<Answer>>,
    pub questions: Mutex<Vec<Question>>,
}

/// An agent in a workspace of its own.
pub(crate) struct Bench {
    pub agent: Agent,
    pub provider: Arc<Fake>,
    pub front: Arc<Front>,
    pub folder: tempfile::TempDir,
}

pub(crate) fn text(words: &str) -> Reply {
    vec![
        Ok(StreamEvent::TextDelta { text: words.into() }),
        Ok(StreamEvent::Stopped { reason: StopReason::EndOfTurn }),
    ]
}

pub(crate) fn calls(calls: &[(&str, Value)]) -> Reply {
    let mut events = Vec::new();
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let id = format!("call_{index}");
        events.extend([
            StreamEvent::ToolCallStarted { index, id, name: (*name).into() },
            StreamEvent::ToolCallDelta { index, arguments: arguments.to_string() },
            StreamEvent::ToolCallEnded { index },
        ]);
    }
    events.push(StreamEvent::Stopped { reason: StopReason::ToolCalls });
    events.into_iter().map(Ok).collect()
}

pub(crate) fn bench(replies: Vec<Reply>, tools: Tools) -> Bench {
    bench_with(replies, tools, |_| {})
}

pub(crate) fn bench_with(
    replies: Vec<Reply>,
    tools: Tools,
    change: impl FnOnce(&mut AgentOptions),
) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let provider = Arc::new(Fake {
        replies: Mutex::new(replies.into()),
        requests: Mutex::default(),
        abilities: Abilities::default(),
    });
    let front = Arc::new(Front::default());
    let workspace = Workspace::open(folder.path()).unwrap();
    let environment = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    let sandbox = Sandbox::unconfined(environment);
    let mut options = AgentOptions::new(provider.clone(), workspace, sandbox);
    options.tools = tools;
    options.front = front.clone();
    change(&mut options);
    Bench { agent: Agent::new(options).unwrap(), provider, front, folder }
}

impl Bench {
    /// Returns the content of the results that the model was sent with request `index`.
    pub(crate) fn results(&self, index: usize) -> Vec<(String, bool)> {
        let requests = self.provider.requests.lock().unwrap();
        let last = requests[index].conversation.last().unwrap();
        last.content
            .iter()
            .filter_map(|block| match block {
                tenon_model::ContentBlock::ToolResult(result) => {
                    Some((result.content.clone(), result.is_error))
                }
                _ => None,
            })
            .collect()
    }
}

impl Provider for Fake {
    fn model(&self) -> &str {
        "fake/model"
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn stream(&self, request: Request) -> EventStream<'_> {
        self.requests.lock().unwrap().push(request);
        match self.replies.lock().unwrap().pop_front() {
            Some(reply) => stream::iter(reply).boxed(),
            None => stream::pending().boxed(),
        }
    }
}

#[async_trait]
impl FrontEnd for Front {
    fn update(&self, update: Update) {
        self.updates.lock().unwrap().push(update);
    }

    async fn ask(&self, question: Question) -> Answer {
        self.questions.lock().unwrap().push(question);
        self.answers.lock().unwrap().pop_front().unwrap_or(Answer::Nobody)
    }
}

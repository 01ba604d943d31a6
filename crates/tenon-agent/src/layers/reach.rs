//! Hosts that a command could not reach: a person is asked once the command is over, and the model
//! told whether it may try again. Nobody there means no.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use tenon_sandbox::NetworkGrant;

use crate::{
    event::{CallEvent, TurnEvent},
    input::{Answer, HOST, Question},
    policy::Decision,
    session::{LogError, Recorder},
    tools::{Sandbox, ToolOutput},
};

/// A command that tries more hosts is not looking for one that somebody could allow.
const HOSTS_ASKED_MAX: usize = 3;

/// Asks about hosts, and remembers what was refused so that it is not asked again.
#[derive(Default)]
pub(crate) struct Reach {
    refused: Mutex<HashSet<String>>,
    /// Hosts that the next command reaches.
    once: Mutex<Vec<NetworkGrant>>,
}

impl Reach {
    /// A command has ended: what was allowed for it alone is closed.
    pub(crate) fn end_once(&self) {
        self.once.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Asks about the hosts that were out of reach for a call and adds what was said to `output`.
    /// `asking` lets one question stand at a time.
    ///
    /// # Errors
    /// Only if the log cannot be written.
    pub(crate) async fn offer(
        &self,
        output: &mut ToolOutput,
        call_id: &str,
        sandbox: &Sandbox,
        recorder: &Recorder,
        asking: &tokio::sync::Mutex<()>,
    ) -> Result<(), LogError> {
        for host in std::mem::take(&mut output.blocked).into_iter().take(HOSTS_ASKED_MAX) {
            let name = host.to_string();
            if self.refused.lock().unwrap_or_else(PoisonError::into_inner).contains(&name) {
                continue;
            }
            let _one_at_a_time = asking.lock().await;
            let question = Question {
                call_id: call_id.to_owned(),
                tool: HOST.to_owned(),
                subject: name.clone(),
                arguments: serde_json::Value::Null,
                decision: Decision::on_host(&host),
            };
            let flag = question.decision.flag.clone();
            let said = match recorder.front().ask(question).await {
                Answer::Allow => {
                    let grant = sandbox.allow_host_once(host);
                    self.once.lock().unwrap_or_else(PoisonError::into_inner).extend(grant);
                    format!("the user allows {name} for the next command; run it again")
                }
                answer @ (Answer::AllowForSession | Answer::AllowAlways) => {
                    sandbox.allow_host(host);
                    let text = match answer {
                        Answer::AllowAlways => format!("allowed always: --net {name}"),
                        _ => format!("allowed for this session: --net {name}"),
                    };
                    recorder.record(TurnEvent::Notice { text })?;
                    format!("the user allows {name} from now on; run the command again")
                }
                Answer::Deny(words) => {
                    let words = words.map(|words| format!(" and said: {words}"));
                    let said = format!("the user refuses {name}{}", words.unwrap_or_default());
                    self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
                    said
                }
                Answer::Nobody => {
                    let call_id = call_id.to_owned();
                    recorder.record(CallEvent::HostRefused { call_id, host: name, flag })?;
                    continue;
                }
            };
            output.content.push_str(&format!("\n[walls] {said}"));
        }
        Ok(())
    }
}

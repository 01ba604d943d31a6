//! Hosts that a command could not reach: a person is asked once the command is over, and the model
//! told whether it may try again. Nobody there means no.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use tenon_sandbox::{HostRule, NetworkEvent, NetworkGrant, NetworkOutcome, Refusal};

use crate::{
    event::{CallEvent, TurnEvent},
    host_presets::{HostPreset, HostPresets},
    input::{Answer, HOST, Question},
    policy::Decision,
    session::{LogError, Recorder},
    tools::{Sandbox, ToolOutput},
};

/// A command that tries more hosts is not looking for one that somebody could allow. Where nobody
/// can be asked, all are recorded.
const HOSTS_ASKED_MAX: usize = 3;

/// Asks about hosts, and remembers what was refused so that it is not asked again.
#[derive(Default)]
pub(crate) struct Reach {
    refused: Mutex<HashSet<String>>,
    /// Hosts that the next command reaches.
    once: Mutex<Vec<NetworkGrant>>,
    presets: Option<Arc<dyn HostPresets>>,
}

impl Reach {
    /// Returns a reach that has asked about nothing; `presets` say which hosts belong together.
    pub(crate) fn new(presets: Option<Arc<dyn HostPresets>>) -> Self {
        Self { presets, ..Self::default() }
    }

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
        let (mut settled, mut closed) = (Vec::<HostRule>::new(), HashSet::new());
        let (mut asked, mut is_alone) = (0, false);
        for event in std::mem::take(&mut output.blocked) {
            let Some(host) = event.rule_needed() else {
                note_closed(&event, &mut closed, call_id, recorder)?;
                continue;
            };
            if settled.contains(&host) || self.is_answered(&host.to_string(), sandbox) {
                continue;
            }
            if asked == HOSTS_ASKED_MAX && !is_alone {
                break;
            }
            asked += 1;
            let preset = self.preset_of(&host, &output.programs).await;
            let mut hosts =
                preset.as_ref().map_or_else(|| vec![host.clone()], |one| one.hosts.clone());
            let name = preset.as_ref().map_or_else(|| host.to_string(), |one| one.name.clone());
            let toolchain = preset.as_ref().map(|one| one.name.as_str());
            let decision = Decision::on_host((&event, &host), toolchain);
            let _one_at_a_time = asking.lock().await;
            let flag = decision.flag.clone();
            let question = Question {
                call_id: call_id.to_owned(),
                tool: HOST.to_owned(),
                subject: preset.as_ref().map_or_else(|| name.clone(), HostPreset::to_string),
                arguments: serde_json::Value::Null,
                decision,
                programs_set: Vec::new(),
                is_masked: false,
            };
            let answer = recorder.front().ask(question).await;
            let mut allowed = name.clone();
            if matches!(answer, Answer::Allow | Answer::AllowForSession | Answer::AllowAlways)
                && let Some(opened) = self.opened(preset.clone(), &hosts).await
            {
                allowed = opened.to_string();
                hosts = opened.hosts;
            }
            settled.extend_from_slice(&hosts);
            let said = match answer {
                Answer::Allow | Answer::AllowForSession | Answer::AllowAlways => {
                    self.allow(&answer, (&allowed, hosts), sandbox, recorder)?
                }
                Answer::Deny(words) => {
                    let said = words.map(|words| format!(" and said: {words}")).unwrap_or_default();
                    let hosts = hosts.iter().map(ToString::to_string);
                    self.refused.lock().unwrap_or_else(PoisonError::into_inner).extend(hosts);
                    format!("the user refuses {name}{said}")
                }
                Answer::Nobody => {
                    is_alone = true;
                    let (call_id, host) = (call_id.to_owned(), host.to_string());
                    recorder.record(CallEvent::HostRefused { call_id, host, rule: None, flag })?;
                    let Some(preset) = preset else { continue };
                    format!("--net {} would open {preset}", preset.name)
                }
            };
            output.add_own(&format!("[walls] {said}"));
        }
        Ok(())
    }

    /// Allows hosts as long as a person said, and returns what is said of that.
    fn allow(
        &self,
        answer: &Answer,
        (name, hosts): (&str, Vec<HostRule>),
        sandbox: &Sandbox,
        recorder: &Recorder,
    ) -> Result<String, LogError> {
        let text = match answer {
            Answer::AllowAlways => format!("allowed always: --net {name}"),
            Answer::AllowForSession => format!("allowed for this session: --net {name}"),
            _ => {
                let grant = sandbox.allow_hosts_once(hosts);
                self.once.lock().unwrap_or_else(PoisonError::into_inner).extend(grant);
                return Ok(format!("the user allows {name} for the next command; run it again"));
            }
        };
        recorder.record(TurnEvent::Notice { text })?;
        sandbox.allow_hosts(hosts);
        Ok(format!("the user allows {name} from now on; run the command again"))
    }

    async fn preset_of(&self, host: &HostRule, programs: &[String]) -> Option<HostPreset> {
        self.presets.as_ref()?.preset_of(host, programs).await
    }

    /// Returns what an allowed preset opens, if that is more than the hosts that were asked about.
    async fn opened(&self, preset: Option<HostPreset>, asked: &[HostRule]) -> Option<HostPreset> {
        let opened = self.presets.as_ref()?.opened(preset?).await;
        (opened.hosts != asked).then_some(opened)
    }

    /// Whether a person refused a host, or somebody allowed it since it was tried, as a job may have.
    fn is_answered(&self, host: &str, sandbox: &Sandbox) -> bool {
        let is_refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).contains(host);
        is_refused || sandbox.judge_host(host).is_some_and(|event| !event.is_blocked())
    }
}

/// Records a host that nobody is asked about, since no answer would open it, unless it is in `known`.
fn note_closed(
    event: &NetworkEvent,
    known: &mut HashSet<String>,
    call_id: &str,
    recorder: &Recorder,
) -> Result<(), LogError> {
    let Some(host) = event.place().filter(|host| known.insert(host.clone())) else {
        return Ok(());
    };
    let rule = match &event.outcome {
        NetworkOutcome::Refused(Refusal::Denied { by }) => Some(format!("net({by})")),
        _ => None,
    };
    let call_id = call_id.to_owned();
    recorder.record(CallEvent::HostRefused { call_id, host, rule, flag: None })
}

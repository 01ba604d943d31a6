//! The cache ledger: what each request of a session cost, how much of it the provider's cache
//! held, and what broke the part that it could have held.
//!
//! A cache holds what stands at the beginning of a request as it stood in the one before. So a
//! break is found by comparing the two: other model, system prompt, tools, or earlier messages.
//! If nothing of that changed and the cache was not read all the same, the miss is the provider's.

use std::sync::Arc;

use tenon_model::{Conversation, Usage};

use super::{fold::Fold, prefix::PrefixHasher, read::Session, spending::Spending};
use crate::{
    event::{ContextEvent, ModelEvent, Record, SessionEvent},
    session_note::SessionNote,
};

/// What a request cost.
///
/// ```
/// use tenon_agent::{Prefix, read_session, request_costs};
///
/// let folder = tempfile::tempdir()?;
/// let log = r#"{"time_ms":1,"type":"session_started","version":1,"session":"one","workspace":["/w"],"model":"anthropic/m","tenon":"0.1.0","price":{"input":3.0,"output":15.0,"cache_read":0.3,"cache_write":3.75}}
/// {"time_ms":2,"type":"request_sent","system":"a","tools":"b","messages":0,"hash":""}
/// {"time_ms":3,"type":"assistant_message","message":{"role":"assistant","content":[]},"usage":{"input":1000000},"duration_ms":1}
/// "#;
/// std::fs::write(folder.path().join("one.jsonl"), log)?;
/// let costs = request_costs(&read_session(folder.path(), "one")?);
/// assert_eq!((costs[0].cost, &costs[0].prefix), (Some(3.0), &Prefix::First));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RequestCost {
    /// When it was made, in milliseconds since 1970 in UTC.
    pub time_ms: u64,
    /// `PROVIDER/NAME` of the model.
    pub model: String,
    /// Tokens, as the provider counted them; `None` if no reply came.
    pub usage: Option<Usage>,
    /// US dollars, where the price was known then.
    pub cost: Option<f64>,
    /// What became of the part that the request before had sent already.
    pub prefix: Prefix,
}

impl Spending {
    /// Returns what these requests used and cost together.
    ///
    /// ```
    /// assert_eq!(tenon_agent::Spending::of(&[]).cost(), None);
    /// ```
    pub fn of(requests: &[RequestCost]) -> Self {
        let mut spending = Self::default();
        for request in requests {
            spending.begin();
            if let Some(usage) = request.usage {
                spending.add(usage, request.cost);
            }
        }
        spending
    }
}

/// What became of the part of a request that the one before had sent already.
///
/// ```
/// use tenon_agent::Prefix;
///
/// fn is_ours(prefix: &Prefix) -> bool {
///     matches!(prefix, Prefix::Broken { .. })
/// }
///
/// assert!(is_ours(&Prefix::Broken { by: "the tools changed".into(), tokens: 4_096 }));
/// assert!(!is_ours(&Prefix::Missed { tokens: 4_096, after_ms: 400_000 }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prefix {
    /// There was none before.
    First,
    /// It was sent again as it was.
    Kept,
    /// It was not the same any more.
    Broken {
        /// What changed it.
        by: String,
        /// Tokens that were in the cache after the request before and were billed again: never more
        /// than this request was billed for outside the cache. 0 where no reply said what it used.
        tokens: u64,
    },
    /// It was the same, and the provider's cache was not read.
    Missed {
        /// Tokens that were in the cache after the request before, and were not read.
        tokens: u64,
        /// Milliseconds since the request before: caches forget.
        after_ms: u64,
    },
}

/// Returns what each request of `session` cost, those of abandoned branches too. Requests of a log
/// that an older version wrote are not told.
///
/// ```
/// use tenon_agent::{Session, request_costs};
///
/// assert!(request_costs(&Session::default()).is_empty());
/// ```
pub fn ledger(session: &Session) -> Vec<RequestCost> {
    let mut ledger = Ledger::default();
    for (line, record) in session.lines.iter().zip(&session.records) {
        ledger.take(session, *line, record);
    }
    ledger.requests
}

/// A request as it was sent.
#[derive(Debug, Clone, PartialEq)]
struct Sent {
    time_ms: u64,
    model: String,
    tenon: String,
    system: String,
    tools: String,
    messages: usize,
    /// Milliseconds since the request before.
    after_ms: u64,
    /// Tokens that the provider said were in its cache: before the reply those that the request
    /// before left there.
    cached: u64,
}

#[derive(Debug, Default)]
struct Ledger {
    requests: Vec<RequestCost>,
    fold: Fold,
    hasher: PrefixHasher,
    model: String,
    tenon: String,
    spending: Spending,
    last: Option<Sent>,
    /// The messages of the last request, as the log tells of them.
    sent: Conversation,
    rewound: bool,
    compaction_undone: bool,
    compacted: bool,
    /// What broke the prefix, until a reply says what that cost.
    unpaid: Option<String>,
    /// Whether the last request's messages were those that the log tells of. They are not where
    /// something of another model's could not go along.
    was_as_logged: bool,
}

impl Ledger {
    fn take(&mut self, session: &Session, line: u64, record: &Record) {
        self.fold.take(record);
        let used = self.spending.take(&record.event);
        match &record.event {
            SessionEvent::Session(
                SessionNote::SessionStarted { model, tenon, .. }
                | SessionNote::SessionResumed { model, tenon, .. },
            ) => {
                (self.model, self.tenon) = (model.clone(), tenon.clone());
            }
            SessionEvent::Session(SessionNote::ModelChanged { model, .. }) => {
                self.model = model.clone();
            }
            SessionEvent::Session(SessionNote::Rewound { .. }) => {
                self.rewind(session, line);
                self.rewound = true;
            }
            SessionEvent::Session(SessionNote::CompactionUndone { .. }) => {
                self.rewind(session, line);
                (self.compaction_undone, self.compacted) = (true, false);
            }
            SessionEvent::Context(ContextEvent::Compacted(_)) => self.compact(record.time_ms, used),
            SessionEvent::Model(ModelEvent::RequestSent {
                system, tools, messages, hash, ..
            }) => {
                let sent = Sent {
                    time_ms: record.time_ms,
                    model: self.model.clone(),
                    tenon: self.tenon.clone(),
                    system: system.clone(),
                    tools: tools.clone(),
                    messages: *messages,
                    after_ms: 0,
                    cached: 0,
                };
                self.request(sent, hash);
            }
            SessionEvent::Model(ModelEvent::AssistantMessage { usage, .. }) => {
                used.into_iter().for_each(|used| self.reply(usage, used));
            }
            _ => {}
        }
    }

    /// Goes back to another branch.
    fn rewind(&mut self, session: &Session, line: u64) {
        self.fold = Fold::default();
        session.branch_until(line).into_iter().for_each(|(_, record)| self.fold.take(record));
    }

    /// Takes in that old messages were replaced, by a request of its own if it used something.
    fn compact(&mut self, time_ms: u64, used: Option<(Usage, Option<f64>)>) {
        self.compacted = true;
        if let Some((usage, cost)) = used {
            self.requests.push(RequestCost {
                time_ms,
                model: self.model.clone(),
                usage: Some(usage),
                cost,
                prefix: Prefix::Kept,
            });
        }
    }

    fn request(&mut self, sent: Sent, hash: &str) {
        let conversation = self.fold.conversation();
        let is_as_logged = self.hasher.conversation(&conversation) == *hash;
        let changed_meanwhile = self.was_as_logged && !is_as_logged;
        let same = self.sent.iter().zip(&conversation);
        let same = same.take_while(|(sent, now)| Arc::ptr_eq(sent, now) || sent == now).count();
        let is_rewritten = same < self.sent.len();
        let prefix = match &self.last {
            None => Prefix::First,
            Some(last) => match self.broken_by(last, &sent, is_rewritten, changed_meanwhile) {
                Some(by) => Prefix::Broken { by, tokens: 0 },
                None => match self.unpaid.take() {
                    Some(by) => Prefix::Broken { by, tokens: 0 },
                    None => Prefix::Kept,
                },
            },
        };
        if let Prefix::Broken { by, .. } = &prefix {
            self.unpaid = Some(by.clone());
        }
        self.sent = conversation;
        (self.rewound, self.compaction_undone) = (false, false);
        (self.compacted, self.was_as_logged) = (false, is_as_logged);
        self.requests.push(RequestCost {
            time_ms: sent.time_ms,
            model: sent.model.clone(),
            usage: None,
            cost: None,
            prefix,
        });
        let (cached, before_ms) =
            self.last.as_ref().map_or((0, sent.time_ms), |last| (last.cached, last.time_ms));
        let after_ms = sent.time_ms.saturating_sub(before_ms);
        self.last = Some(Sent { cached, after_ms, ..sent });
    }

    fn broken_by(
        &self,
        last: &Sent,
        now: &Sent,
        is_rewritten: bool,
        changed_meanwhile: bool,
    ) -> Option<String> {
        if last.model != now.model {
            return Some(format!("the model changed from {} to {}", last.model, now.model));
        }
        if self.compacted && is_rewritten {
            return Some("the conversation was made shorter".to_owned());
        }
        let version = match last.tenon == now.tenon {
            true => String::new(),
            false => format!(" (tenon {} went on after {})", now.tenon, last.tenon),
        };
        if last.system != now.system {
            return Some(format!("the system prompt changed{version}"));
        }
        if last.tools != now.tools {
            return Some(format!("the tools changed{version}"));
        }
        if is_rewritten {
            let by = match (self.rewound, self.compaction_undone) {
                (true, _) => "the conversation was rewound",
                (false, true) => "a compaction was undone",
                (false, false) => "earlier messages changed",
            };
            return Some(by.to_owned());
        }
        changed_meanwhile.then(|| format!("the conversation was sent otherwise{version}"))
    }

    /// Takes in a reply with its `usage`, and what it `used` and cost with the attempts before it.
    fn reply(&mut self, usage: &Usage, used: (Usage, Option<f64>)) {
        let (Some(last), Some(request)) = (&mut self.last, self.requests.last_mut()) else {
            return;
        };
        if request.usage.is_some() {
            return;
        }
        (request.usage, request.cost) = (Some(used.0), used.1);
        // A reply that broke off may have come without what it used: nothing is known of the cache then.
        if usage.input_all() == 0 {
            return;
        }
        let missed = last.cached.saturating_sub(usage.cache_read);
        match &mut request.prefix {
            // What was cut from the conversation is not billed again.
            Prefix::Broken { tokens, .. } => {
                *tokens = missed.min(usage.input.saturating_add(usage.cache_write))
            }
            prefix @ Prefix::Kept if missed > 0 => {
                *prefix = Prefix::Missed { tokens: missed, after_ms: last.after_ms };
            }
            Prefix::First | Prefix::Kept | Prefix::Missed { .. } => {}
        }
        self.unpaid = None;
        last.cached = usage.cache_read.saturating_add(usage.cache_write);
    }
}

#[cfg(test)]
mod tests;

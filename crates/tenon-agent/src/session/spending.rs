//! What a session used and cost so far, event by event: the one place that says which requests count.
//!
//! Those of abandoned branches and of compactions count like all others: they were paid for.

use tenon_model::{Price, Usage};

use crate::{
    event::{ContextEvent, ModelEvent, SessionEvent},
    session_note::SessionNote,
};

/// What requests used and cost so far.
///
/// ```
/// use tenon_agent::{Record, Spending};
///
/// let mut spending = Spending::default();
/// let log = r#"{"time_ms":1,"type":"session_started","version":1,"session":"one","workspace":["/w"],"model":"anthropic/m","tenon":"0.1.0","price":{"input":3.0,"output":15.0,"cache_read":0.3,"cache_write":3.75}}
/// {"time_ms":2,"type":"request_sent","system":"a","tools":"b","messages":0,"hash":""}
/// {"time_ms":3,"type":"assistant_message","message":{"role":"assistant","content":[]},"usage":{"input":1000000},"duration_ms":1}
/// {"time_ms":4,"type":"rewound","after_line":1,"turns":1}"#;
/// for line in log.lines() {
///     spending.take(&serde_json::from_str::<Record>(line)?.event);
/// }
/// assert_eq!((spending.usage().input, spending.cost()), (1_000_000, Some(3.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spending {
    price: Option<Price>,
    /// Whether a request was sent that has no reply yet.
    is_asked: bool,
    /// Whether anything was asked yet.
    has_begun: bool,
    usage: Usage,
    cost: f64,
    /// Whether the price of something was not known.
    is_unpriced: bool,
}

impl Spending {
    /// Takes in an event of the log, in its order, and returns what a request used and cost that is
    /// over by it: a reply, or a summary of a compaction.
    ///
    /// ```
    /// use tenon_agent::{ModelEvent, SessionEvent, Spending};
    ///
    /// let sent = ModelEvent::RequestSent {
    ///     system: String::new(),
    ///     tools: String::new(),
    ///     messages: 1,
    ///     hash: String::new(),
    ///     form: None,
    /// };
    /// assert_eq!(Spending::default().take(&SessionEvent::Model(sent)), None);
    /// ```
    pub fn take(&mut self, event: &SessionEvent) -> Option<(Usage, Option<f64>)> {
        let used = match event {
            SessionEvent::Session(
                SessionNote::SessionStarted { price, .. }
                | SessionNote::SessionResumed { price, .. }
                | SessionNote::ModelChanged { price, .. },
            ) => {
                self.price = *price;
                None
            }
            SessionEvent::Context(ContextEvent::Compacted(compaction)) => {
                Some(compaction.usage).filter(|usage| *usage != Usage::default())
            }
            SessionEvent::Model(ModelEvent::RequestSent { .. }) => {
                self.begin();
                self.is_asked = true;
                None
            }
            SessionEvent::Model(ModelEvent::AssistantMessage { usage, retried, .. }) => {
                let mut used = *usage;
                used += *retried;
                std::mem::take(&mut self.is_asked).then_some(used)
            }
            _ => None,
        };
        let usage = used?;
        let cost = self.price.map(|price| usage.cost(&price));
        self.add(usage, cost);
        Some((usage, cost))
    }

    /// Adds what a request used and cost; `None` where its price is not known.
    ///
    /// ```
    /// use tenon_agent::Spending;
    /// use tenon_model::Usage;
    ///
    /// let mut spending = Spending::default();
    /// spending.add(Usage { input: 7, ..Usage::default() }, Some(0.5));
    /// assert_eq!((spending.usage().input, spending.cost()), (7, Some(0.5)));
    /// spending.add(Usage::default(), None);
    /// assert_eq!(spending.cost(), None);
    /// ```
    pub fn add(&mut self, usage: Usage, cost: Option<f64>) {
        self.begin();
        self.usage += usage;
        self.cost += cost.unwrap_or(0.0);
        self.is_unpriced |= cost.is_none();
    }

    /// Takes in that something is asked.
    pub(super) fn begin(&mut self) {
        self.has_begun = true;
    }

    /// Returns the tokens of all requests.
    ///
    /// ```
    /// assert_eq!(tenon_agent::Spending::default().usage().input_all(), 0);
    /// ```
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns US dollars; `None` where the price of something is not known, and before the first request.
    ///
    /// ```
    /// assert_eq!(tenon_agent::Spending::default().cost(), None);
    /// ```
    pub fn cost(&self) -> Option<f64> {
        (self.has_begun && !self.is_unpriced).then_some(self.cost)
    }
}

//! A model that fails: every other reply breaks off, stalls, is refused or is cut.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use super::{Dialect, history::read, next::Next};
use crate::fake_server::{RecordedRequest, Reply, Turn};

/// How many faults may follow each other before a reply is let through.
const FAULTS_IN_A_ROW_MAX: u32 = 4;

/// What goes wrong with a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    BeforeStatusLine,
    InStatusLine,
    InHeaders,
    BehindHeaders,
    BetweenEvents,
    WithinEvent,
    WithinCharacter,
    WithinArguments,
    BehindStopWord,
    BehindLastEvent,
    /// The body ends as it should, in the middle of an event.
    HalfEvent,
    /// An event within the reply has lost its second half; all others come.
    BrokenEvent,
    StallBeforeStatusLine,
    StallBehindHeaders,
    StallBetweenEvents,
    StallWithinEvent,
    ErrorEvent,
    Storm429,
    Storm529,
    Refused5xx,
    WebPage502,
    /// The output limit cuts the text.
    CutText,
    /// The key is taken from this request on, until the person has another one.
    KeyStops401,
    KeyStops403,
    /// The first such request of a session tells how long one may be.
    TooLong,
}

impl Fault {
    pub(super) const ALL: [Self; 25] = [
        Self::BeforeStatusLine,
        Self::InStatusLine,
        Self::InHeaders,
        Self::BehindHeaders,
        Self::BetweenEvents,
        Self::WithinEvent,
        Self::WithinCharacter,
        Self::WithinArguments,
        Self::BehindStopWord,
        Self::BehindLastEvent,
        Self::HalfEvent,
        Self::BrokenEvent,
        Self::StallBeforeStatusLine,
        Self::StallBehindHeaders,
        Self::StallBetweenEvents,
        Self::StallWithinEvent,
        Self::ErrorEvent,
        Self::Storm429,
        Self::Storm529,
        Self::Refused5xx,
        Self::WebPage502,
        Self::CutText,
        Self::KeyStops401,
        Self::KeyStops403,
        Self::TooLong,
    ];
}

/// What came, for the test to look at.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) faults: BTreeMap<Fault, u32>,
    /// What a strict server would have refused, and whatever else must not be.
    pub(super) wrong: Vec<String>,
    /// The status with which the key is refused, if it is.
    pub(super) key_refused: Option<u16>,
}

impl Seen {
    /// Gives the person a key that works, if the one that they had was refused.
    pub(super) fn has_new_key(&mut self) -> bool {
        self.key_refused.take().is_some()
    }
}

pub(super) struct Faulty {
    dialect: Dialect,
    random: u64,
    in_a_row: u32,
    call_ids: u64,
    /// The length of the first request that was too long. All shorter ones fit.
    too_long: Option<usize>,
    /// Whether the next request must be a shorter one.
    must_be_shorter: bool,
    seen: Arc<Mutex<Seen>>,
}

impl Faulty {
    pub(super) fn new(dialect: Dialect, seed: u64) -> (Self, Arc<Mutex<Seen>>) {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let faulty = Self {
            dialect,
            random,
            in_a_row: 0,
            call_ids: 0,
            too_long: None,
            must_be_shorter: false,
            seen: Arc::clone(&seen),
        };
        (faulty, seen)
    }

    pub(super) fn into_answer(mut self) -> impl FnMut(&RecordedRequest) -> Reply + Send + 'static {
        move |request| {
            self.answer(&request.json()).unwrap_or_else(|wrong| {
                self.seen.lock().unwrap().wrong.push(wrong.clone());
                Reply::status(400).json(json!({"error": {"message": wrong}}))
            })
        }
    }

    fn answer(&mut self, request: &Value) -> Result<Reply, String> {
        let events = read(self.dialect, request)?;
        if self.seen.lock().unwrap().key_refused.is_some() {
            return Ok(self.refuse_key());
        }
        let length = request["messages"].to_string().len();
        let mut turn = Next::after(&events)?;
        let fits = self.too_long.is_none_or(|too_long| length < too_long);
        match (fits, turn.is_summary) {
            (true, true) => return Ok(self.whole(&Turn::text(&turn.summary()))),
            (false, true) => return Ok(self.refuse_length()),
            (false, false) if self.must_be_shorter => {
                return Err("what was too long comes again and is no shorter".into());
            }
            (_, false) => self.must_be_shorter = false,
        }
        turn.may_be_too_long &= self.too_long.is_none() || !fits;
        self.call_ids += 1;
        turn.call_id = format!("toolu_{}", self.call_ids);
        if self.in_a_row < FAULTS_IN_A_ROW_MAX && self.below(2) == 0 {
            for _ in 0..50 {
                let fault = Fault::ALL[self.below(Fault::ALL.len())];
                // Stalls cost time.
                let rare = format!("{fault:?}").starts_with("Stall") && self.below(8) != 0;
                if !rare && let Some(reply) = self.faulty(fault, &turn) {
                    self.in_a_row += 1;
                    if fault == Fault::TooLong {
                        self.must_be_shorter = true;
                        self.too_long.get_or_insert(length);
                    }
                    *self.seen.lock().unwrap().faults.entry(fault).or_insert(0) += 1;
                    return Ok(reply);
                }
            }
        }
        self.in_a_row = 0;
        Ok(self.whole(&turn.turn()))
    }

    fn whole(&self, turn: &Turn) -> Reply {
        match self.dialect {
            Dialect::Anthropic => Reply::anthropic(turn.clone()),
            Dialect::OpenAi => Reply::openai(turn.clone()),
        }
    }

    /// Returns the reply with `fault`, if the reply has such a place.
    fn faulty(&mut self, fault: Fault, next: &Next) -> Option<Reply> {
        let turn = next.turn();
        let sse = match self.dialect {
            Dialect::Anthropic => turn.anthropic_sse(),
            Dialect::OpenAi => turn.openai_sse(),
        };
        let head = Reply::sse().wire().len() - 5;
        // In one piece, so that places in the text are places on the wire.
        let wire = |end: usize| {
            let mut body = Reply::sse().wire();
            body.truncate(head);
            body.extend(format!("{:x}\r\n", sse.len()).bytes());
            body.extend(&sse.as_bytes()[..end]);
            body
        };
        let events: Vec<usize> = sse.match_indices("\n\n").map(|(place, _)| place + 2).collect();
        let stop = sse.rfind("\"stop_reason\":\"").or(sse.find("\"finish_reason\":\""))?;
        let before_stop: Vec<usize> = events.iter().copied().filter(|end| *end <= stop).collect();
        let behind_stop: Vec<usize> = events.iter().copied().filter(|end| *end > stop).collect();
        let an_event = before_stop.get(self.below(before_stop.len().max(1))).copied();
        let within = 6 + self.below(stop - 6);
        Some(match fault {
            Fault::BeforeStatusLine => Reply::broken_off(b""),
            Fault::InStatusLine => Reply::broken_off(&wire(0)[..1 + self.below(20)]),
            Fault::InHeaders => Reply::broken_off(&wire(0)[..26 + self.below(head - 26)]),
            Fault::BehindHeaders => Reply::broken_off(&wire(0)[..head]),
            Fault::BetweenEvents => Reply::broken_off(&wire(an_event?)),
            Fault::WithinEvent => Reply::broken_off(&wire(within)),
            Fault::WithinCharacter => {
                let wide: Vec<usize> = (1..stop).filter(|at| !sse.is_char_boundary(*at)).collect();
                Reply::broken_off(&wire(*wide.get(self.below(wide.len().max(1)))?))
            }
            Fault::WithinArguments => {
                let signs = ["\"partial_json\":\"", "\"arguments\":\""];
                let places: Vec<usize> = signs
                    .iter()
                    .flat_map(|s| sse.match_indices(s))
                    .map(|(at, s)| at + s.len())
                    .collect();
                Reply::broken_off(&wire(*places.get(self.below(places.len().max(1)))?))
            }
            Fault::BehindStopWord => Reply::broken_off(&wire(*behind_stop.first()?)),
            Fault::BehindLastEvent => Reply::broken_off(&wire(sse.len())),
            Fault::HalfEvent => Reply::sse().piece(&sse.as_bytes()[..within]),
            Fault::BrokenEvent => {
                let begin = an_event.filter(|begin| *begin < stop)?;
                let end = *events.iter().find(|end| **end > begin)?;
                let data = begin + sse[begin..end].find("data: {")?;
                let half = data + (end - data) / 2;
                let half = (half..end).find(|at| sse.is_char_boundary(*at))?;
                Reply::sse().piece(format!("{}\n\n{}", &sse[..half], &sse[end..]))
            }
            Fault::StallBeforeStatusLine => Reply::stalled(b""),
            Fault::StallBehindHeaders => Reply::stalled(&wire(0)[..head]),
            Fault::StallBetweenEvents => Reply::stalled(&wire(an_event?)),
            Fault::StallWithinEvent => Reply::stalled(&wire(within)),
            Fault::ErrorEvent => {
                let error = json!({"type": "error",
                    "error": {"type": "overloaded_error", "message": "Overloaded"}});
                Reply::sse().piece(&sse[..an_event?]).data(error)
            }
            Fault::Storm429 => {
                let error = json!({"error": {"type": "rate_limit_error", "message": "slow down"}});
                Reply::status(429).header("retry-after-ms", "1").json(error)
            }
            Fault::Storm529 => {
                let error = json!({"error": {"type": "overloaded_error", "message": "busy"}});
                Reply::status(529).header("retry-after", "0").json(error)
            }
            Fault::Refused5xx => {
                let status = [408, 500, 503, 504][self.below(4)];
                Reply::status(status).json(json!({"error": {"message": "internal"}}))
            }
            Fault::WebPage502 => Reply::status(502).body("<html>Bad Gateway</html>"),
            Fault::CutText => {
                // A reply of nothing but blanks is not sent back: no server takes it.
                let is_place = |(at, c): (usize, char)| (at > 0 && c != ' ').then_some(at);
                let places: Vec<usize> = next.text.char_indices().filter_map(is_place).collect();
                let end = *places.get(self.below(places.len().max(1)))?;
                let word = match self.dialect {
                    Dialect::Anthropic => "max_tokens",
                    Dialect::OpenAi => "length",
                };
                self.whole(&Turn::text(&next.text[..end]).stop(word))
            }
            Fault::KeyStops401 | Fault::KeyStops403 => {
                let status = if fault == Fault::KeyStops401 { 401 } else { 403 };
                self.seen.lock().unwrap().key_refused = Some(status);
                self.refuse_key()
            }
            Fault::TooLong if !next.may_be_too_long => return None,
            Fault::TooLong => self.refuse_length(),
        })
    }

    fn refuse_length(&self) -> Reply {
        let error = match self.dialect {
            Dialect::Anthropic => json!({"type": "error", "error": {
                "type": "invalid_request_error", "message": "prompt is too long"}}),
            Dialect::OpenAi => json!({"error": {"code": "context_length_exceeded",
                "type": "invalid_request_error", "message": "too many tokens"}}),
        };
        Reply::status(400).json(error)
    }

    fn refuse_key(&self) -> Reply {
        let seen = self.seen.lock().unwrap();
        let (status, kind) = match seen.key_refused {
            Some(403) => (403, "permission_error"),
            _ => (401, "authentication_error"),
        };
        Reply::status(status).json(json!({"error": {"type": kind, "message": "no such key"}}))
    }

    /// Returns a number below `limit`, by xorshift64.
    fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 16) as usize % limit
    }
}

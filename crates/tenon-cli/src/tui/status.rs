//! The line at the bottom: what is waited for, the model, how full its window is, what it cost,
//! the branch, and whether commands are confined. Pure. What matters least is left out first.

use std::time::{Duration, Instant};

use tenon_agent::{Mode, ModelEvent, SessionEvent, Spending, TurnEvent};
use tenon_model::{Pulse, Usage, visible};

use super::line::Line;
use crate::{
    render::{Meaning, grouped, measure, money},
    texts::{Language, Text},
};

/// Columns that what is waited for has beside facts that can be left out.
const WAITING_COLUMNS_MIN: usize = 16;
/// A reply of which nothing comes for so long is told: servers that keep a connection alive send something
/// more often, and a pause between two words is shorter.
const SILENT_MIN: Duration = Duration::from_secs(5);
/// In fewer it would say nothing, where `no walls` leaves no more.
const WAITING_COLUMNS_LEAST: usize = 4;
/// What stands between two facts.
const BETWEEN: &str = " · ";

/// What is known of the session as a whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub model: String,
    pub window_tokens: u32,
    pub branch: Option<String>,
    pub is_confined: bool,
    /// How much the model may do without a question.
    pub mode: Mode,
    /// The walls that they had, once a first one ran.
    pub tier: Option<String>,
    /// Tokens of the last request and its reply: what the window holds.
    pub context_tokens: u64,
    /// Of the whole session.
    pub spending: Spending,
    /// When something of the reply came last.
    pub pulse: Pulse,
}

/// What is waited for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Waiting {
    /// Nothing: the person is to say something.
    #[default]
    Nothing,
    /// The first byte of a reply.
    FirstByte,
    Thinking,
    Writing,
    /// Calls that run.
    Calls(Vec<String>),
    /// A sentence of the provider's own.
    Progress(String),
    /// The next attempt at a request.
    Retry {
        at: Instant,
    },
    /// The person's answer to a question.
    Answer,
    /// The end of a turn that was cancelled.
    Stopping,
}

impl Facts {
    /// Takes in what an event says of the session as a whole.
    pub(crate) fn take_in(&mut self, event: &SessionEvent) {
        self.spending.take(event);
        if let SessionEvent::Turn(TurnEvent::TurnEnded { sandbox: Some(tier), .. }) = event {
            self.tier = Some(tier.clone());
        }
        self.take_in_context(event);
    }

    /// Takes in how full the window is.
    pub(crate) fn take_in_context(&mut self, event: &SessionEvent) {
        if let SessionEvent::Model(ModelEvent::AssistantMessage { usage, .. }) = event {
            self.context_tokens = usage.input_all().saturating_add(usage.output);
        }
    }

    /// Returns how full the window is, in per cent.
    pub(crate) fn context_percent(&self) -> u64 {
        self.context_tokens.saturating_mul(100) / u64::from(self.window_tokens).max(1)
    }

    /// Draws the line. `since` is when the wait began.
    pub(crate) fn draw(
        &self,
        waiting: &Waiting,
        since: Option<Instant>,
        now: Instant,
        columns: usize,
        language: Language,
    ) -> Line {
        let mut facts: Vec<(u8, Meaning, String)> = Vec::new();
        let unconfined = Text::StatusUnconfined.template(language);
        let taken =
            if self.is_confined { 0 } else { measure::width(BETWEEN) + measure::width(unconfined) };
        let room = columns.saturating_sub(taken);
        if let Some(said) = waiting.say(now, language) {
            let meaning =
                if *waiting == Waiting::Answer { Meaning::Warning } else { Meaning::Hint };
            // A long command leaves room for how long it takes.
            let most = (columns * 2 / 3).max(WAITING_COLUMNS_MIN).min(room);
            if most >= WAITING_COLUMNS_LEAST {
                facts.push((0, meaning, measure::cut(&visible(&said), most).text));
            }
        }
        if let Some(since) = since.filter(|_| *waiting != Waiting::Nothing) {
            facts.push((1, Meaning::Aside, elapsed(now.duration_since(since), language)));
        }
        if let Some(silent) = self.silent(waiting, now, language) {
            facts.push((1, Meaning::Warning, silent));
        }
        if !self.is_confined {
            facts.push((0, Meaning::Error, unconfined.into()));
        }
        facts.push((2, Meaning::Aside, self.model.clone()));
        match self.mode {
            Mode::ReadOnly => facts.push((1, Meaning::Aside, "read-only".into())),
            Mode::Ask => facts.push((2, Meaning::Aside, "ask".into())),
            // What is usual takes no room.
            Mode::Auto => {}
        }
        if self.context_tokens > 0 {
            let percent = self.context_percent();
            let meaning = if percent >= 80 { Meaning::Warning } else { Meaning::Aside };
            let used = rounded(self.context_tokens);
            let said = Text::StatusContext.say(language, &[("used", &used), ("n", &percent)]);
            facts.push((2, meaning, said));
        }
        let usage = self.spending.usage();
        if let Some(cost) = self.spending.cost().filter(|_| usage.input_all() > 0) {
            facts.push((3, Meaning::Aside, money(cost)));
        }
        if usage.input_all() > 0 {
            facts.push((5, Meaning::Aside, tokens(&usage, language)));
        }
        if let Some(branch) = &self.branch {
            facts.push((4, Meaning::Aside, format!("⎇ {branch}")));
        }
        if self.is_confined {
            let said = match &self.tier {
                Some(tier) => Text::StatusTier.say(language, &[("tier", &tier.to_uppercase())]),
                None => Text::StatusConfined.template(language).into(),
            };
            facts.push((6, Meaning::Aside, said));
        }
        fit(facts, columns)
    }

    /// Says how long nothing of a reply came, once that is long.
    fn silent(&self, waiting: &Waiting, now: Instant, language: Language) -> Option<String> {
        let is_reply = matches!(waiting, Waiting::FirstByte | Waiting::Thinking | Waiting::Writing);
        let silent =
            self.pulse.silent_for(now).filter(|silent| is_reply && *silent >= SILENT_MIN)?;
        Some(Text::StatusSilent.say(language, &[("time", &elapsed(silent, language))]))
    }
}

impl Waiting {
    fn say(&self, now: Instant, language: Language) -> Option<String> {
        let text = match self {
            Self::Nothing => return None,
            Self::FirstByte => Text::Waiting,
            Self::Thinking => Text::ThinkingNow,
            Self::Writing => Text::WritingNow,
            Self::Answer => Text::WaitsForYou,
            Self::Stopping => Text::StoppingNow,
            Self::Progress(said) => return Some(said.clone()),
            Self::Retry { at } => {
                let seconds = at.saturating_duration_since(now).as_secs_f64().ceil();
                return Some(Text::RetryIn.say(language, &[("s", &seconds)]));
            }
            Self::Calls(calls) => {
                return Some(match calls.as_slice() {
                    [call] => Text::Running.say(language, &[("call", call)]),
                    many => Text::RunningMany.say(language, &[("n", &many.len())]),
                });
            }
        };
        Some(text.template(language).to_owned())
    }
}

/// Returns the tokens of the session, those apart that the provider had in its cache.
fn tokens(usage: &Usage, language: Language) -> String {
    let (input, cached) = (grouped(usage.input_all()), grouped(usage.cache_read));
    let output = grouped(usage.output);
    let values: [(&str, &dyn std::fmt::Display); 3] =
        [("input", &input), ("cached", &cached), ("output", &output)];
    let text = if usage.cache_read > 0 { Text::StatusTokensCached } else { Text::StatusTokens };
    text.say(language, &values)
}

/// Returns a number in few columns: a status line has not many.
fn rounded(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..10_000 => format!("{}.{}k", n / 1_000, n % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", n / 1_000),
        _ => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

/// Returns a time in whole seconds: tenths would have to be redrawn.
fn elapsed(time: Duration, language: Language) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => Text::Seconds.say(language, &[("s", &seconds)]),
        _ => Text::Minutes.say(language, &[("m", &(seconds / 60)), ("s", &(seconds % 60))]),
    }
}

/// Joins the facts, leaving out those with the highest number until they fit.
fn fit(mut facts: Vec<(u8, Meaning, String)>, columns: usize) -> Line {
    let width = |facts: &[(u8, Meaning, String)]| {
        let all: usize = facts.iter().map(|(_, _, said)| measure::width(said)).sum();
        all + measure::width(BETWEEN) * facts.len().saturating_sub(1)
    };
    while facts.len() > 1 && width(&facts) > columns {
        let least = facts.iter().map(|(order, ..)| *order).max().unwrap_or(0);
        match facts.iter().rposition(|(order, ..)| *order == least && least > 0) {
            Some(place) => drop(facts.remove(place)),
            None => break,
        }
    }
    let mut line = Line::default();
    for (_, meaning, said) in &facts {
        if !line.is_empty() {
            line.push(Meaning::Aside, BETWEEN);
        }
        line.push(*meaning, said);
    }
    line.cut(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            model: "anthropic/claude".into(),
            window_tokens: 200_000,
            branch: Some("main".into()),
            is_confined: true,
            mode: Mode::Auto,
            context_tokens: 50_000,
            spending: spent(Usage { input: 1_000, output: 20, ..Usage::default() }),
            tier: None,
            pulse: Pulse::default(),
        }
    }

    fn spent(usage: Usage) -> Spending {
        let mut spending = Spending::default();
        spending.add(usage, Some(0.5));
        spending
    }

    fn drawn(facts: &Facts, waiting: &Waiting, columns: usize) -> String {
        let now = Instant::now();
        let since = Some(now.checked_sub(Duration::from_secs(75)).unwrap());
        facts.draw(waiting, since, now, columns, Language::English).text()
    }

    #[test]
    fn a_narrow_screen_keeps_what_matters_most() {
        let calls = Waiting::Calls(vec!["bash cargo test".into()]);
        assert_eq!(
            drawn(&facts(), &calls, 130),
            "Running bash cargo test … · 1 min 15 s · anthropic/claude · context 50k (25 %) · $0.5000 · \
             ↑1,000 ↓20 · ⎇ main · confined"
        );
        assert_eq!(drawn(&facts(), &calls, 40), "Running bash cargo test … · 1 min 15 s");
        assert_eq!(drawn(&facts(), &Waiting::Nothing, 40), "anthropic/claude · context 50k (25 %)");
        let known = Facts { tier: Some("a".into()), ..facts() };
        assert!(drawn(&known, &calls, 130).ends_with(" · ⎇ main · tier A"));
        for (mode, said) in [(Mode::ReadOnly, "read-only"), (Mode::Ask, "ask")] {
            let line = drawn(&Facts { mode, ..facts() }, &Waiting::Nothing, 40);
            assert!(line.starts_with(&format!("anthropic/claude · {said}")), "{line}");
        }
        let off = Facts { is_confined: false, ..facts() };
        assert!(drawn(&off, &Waiting::Nothing, 40).starts_with("no walls"));
        let now = Instant::now();
        let line = off.draw(&Waiting::Nothing, None, now, 40, Language::English);
        let style = crate::render::Style {
            width: 40,
            colour: true,
            redraws: true,
            language: Language::English,
            theme: crate::render::Theme::Terminal,
        };
        assert!(line.paint(&style).starts_with("\u{1b}[31mno walls\u{1b}"), "red");
        assert_eq!(drawn(&facts(), &Waiting::Answer, 10), "waiting f…");
        assert_eq!(drawn(&off, &Waiting::Answer, 24), "waiting for … · no walls");
        for waiting in [Waiting::Answer, calls, Waiting::Stopping, Waiting::Nothing] {
            for columns in 8..60 {
                assert!(drawn(&off, &waiting, columns).contains("no walls"), "{columns}");
            }
        }
    }

    #[test]
    fn what_came_from_the_cache_is_told_apart_and_tokens_take_few_columns() {
        let usage = Usage { input: 1_000, cache_read: 80_000, output: 20, ..Usage::default() };
        let cached = Facts { spending: spent(usage), context_tokens: 81_020, ..facts() };
        let line = drawn(&cached, &Waiting::Nothing, 120);
        assert!(line.contains("context 81k (40 %)"), "{line}");
        assert!(line.contains("↑81,000 (80,000 cached) ↓20"), "{line}");
        let numbers =
            [(7, "7"), (999, "999"), (1_949, "1.9k"), (10_000, "10k"), (1_250_000, "1.2M")];
        for (number, expected) in numbers {
            assert_eq!(rounded(number), expected);
        }
    }

    #[test]
    fn a_reply_of_which_nothing_comes_is_told_until_something_does() {
        let (known, start) = (facts(), Instant::now());
        let said = |waiting: &Waiting, seconds, language| {
            let now = start + Duration::from_secs(seconds);
            let line = known.draw(waiting, Some(start), now, 120, language).text();
            line.split(BETWEEN).nth(2).unwrap_or_default().to_owned()
        };
        let english = |waiting: &Waiting, seconds| said(waiting, seconds, Language::English);
        let model = "anthropic/claude";
        assert_eq!(english(&Waiting::Thinking, 60), model, "no reply is being read");
        known.pulse.beat(start);
        assert_eq!(english(&Waiting::Thinking, 4), model);
        assert_eq!(english(&Waiting::Thinking, 12), "no data for 12 s");
        assert_eq!(english(&Waiting::Writing, 73), "no data for 1 min 13 s");
        assert_eq!(said(&Waiting::FirstByte, 12, Language::Chinese), "已有 12 秒没有数据");
        // What a call does has nothing to do with the reply.
        assert_eq!(english(&Waiting::Calls(vec!["bash".into()]), 12), model);
        known.pulse.beat(start + Duration::from_secs(13));
        assert_eq!(english(&Waiting::Thinking, 14), model);
        known.pulse.end();
        assert_eq!(english(&Waiting::Thinking, 60), model);
    }

    #[test]
    fn a_retry_counts_down_in_whole_seconds() {
        let now = Instant::now();
        let waiting = Waiting::Retry { at: now + Duration::from_millis(7_400) };
        assert_eq!(waiting.say(now, Language::English).unwrap(), "Trying again in 8 s …");
    }
}

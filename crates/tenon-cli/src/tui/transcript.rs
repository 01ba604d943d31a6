//! The session folded from its events: what is finished goes to the scrollback once, what is being
//! written or run is drawn anew each time. Pure: the time is given.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use tenon_agent::{CallEvent, Live, ModelEvent, SessionEvent, TurnEvent, Update, View};

use super::{
    line::{Line, Wrap},
    status::{Facts, Waiting},
};
use crate::{
    render::{DURATION_SHOWN_MS, Meaning, Renderer, Style, Theme, duration, markdown::Markdown},
    texts::{Language, Text, translated},
};

/// Last lines of a running command that are shown.
const TAIL_LINES: usize = 6;
/// The most bytes that are kept of a line that is still printed.
const LINE_BYTES_MAX: usize = 4_096;
/// Rows of a prompt that are repeated above its answer.
const ECHO_ROWS_MAX: usize = 20;
/// Diffs that are kept for /diff; each is a few thousand characters at most.
const DIFFS_MAX: usize = 1_000;

/// The session so far.
pub(crate) struct Transcript {
    pub facts: Facts,
    style: Style,
    renderer: Renderer,
    markdown: Markdown,
    finished: String,
    calls: Vec<RunningCall>,
    waiting: Waiting,
    since: Option<Instant>,
    /// When the model began to think, while it does.
    thinks_since: Option<Instant>,
    /// The answer that /copy takes.
    answer: String,
    diffs: Vec<(String, String)>,
}

/// A call that has begun.
struct RunningCall {
    id: String,
    label: String,
    tail: Tail,
    /// It waits for its turn to ask.
    waits: bool,
}

/// The last lines of what is being printed.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    lines: VecDeque<String>,
    open: String,
}

impl Transcript {
    pub(crate) fn new(style: Style, facts: Facts) -> Self {
        let mut renderer = Renderer::new(style);
        renderer.without_prose = true;
        renderer.without_waiting = true;
        renderer.open_boxes = true;
        Self {
            facts,
            style,
            renderer,
            markdown: Markdown::default(),
            finished: String::new(),
            calls: Vec::new(),
            waiting: Waiting::Nothing,
            since: None,
            thinks_since: None,
            answer: String::new(),
            diffs: Vec::new(),
        }
    }

    pub(crate) fn style(&self) -> &Style {
        &self.style
    }

    /// Chooses the colours of what is drawn from now on.
    pub(crate) fn set_theme(&mut self, theme: Theme) {
        self.style.theme = theme;
        self.renderer.style.theme = theme;
    }

    pub(crate) fn set_columns(&mut self, columns: usize) {
        self.style.width = columns;
        self.renderer.style.width = columns;
    }

    /// Returns painted text in whole lines that is finished since the last call.
    pub(crate) fn take_finished(&mut self) -> String {
        std::mem::take(&mut self.finished)
    }

    /// Returns the last answer.
    pub(crate) fn answer(&self) -> &str {
        &self.answer
    }

    /// Returns what was changed, by path.
    pub(crate) fn diffs(&self) -> &[(String, String)] {
        &self.diffs
    }

    /// Returns what is waited for and since when.
    pub(crate) fn waiting(&self) -> (&Waiting, Option<Instant>) {
        (&self.waiting, self.since)
    }

    /// Adds lines that are no part of the session, with an empty one before them.
    pub(crate) fn say(&mut self, lines: &[Line]) {
        self.flush();
        self.finished.push('\n');
        self.add(lines);
        self.renderer.others_printed();
    }

    /// Adds text that was drawn elsewhere, in whole lines.
    pub(crate) fn add_drawn(&mut self, painted: &str) {
        self.flush();
        self.finished.push('\n');
        self.finished.push_str(painted);
        self.renderer.others_printed();
    }

    /// Takes in that something was begun that the model is asked for.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.wait(Waiting::FirstByte, now);
    }

    /// Takes in that something else is waited for, which `said` tells.
    pub(crate) fn busy(&mut self, said: &str, now: Instant) {
        self.wait(Waiting::Progress(said.to_owned()), now);
    }

    /// Takes in that it is over.
    pub(crate) fn end(&mut self, now: Instant) {
        self.flush();
        self.wait(Waiting::Nothing, now);
    }

    /// Takes in that the turn is being cancelled.
    pub(crate) fn stopping(&mut self, now: Instant) {
        self.wait(Waiting::Stopping, now);
    }

    /// Takes in one update.
    pub(crate) fn update(&mut self, update: &Update, now: Instant) {
        match update {
            Update::Live(live) => self.live_update(live, now),
            Update::Stored(record) => {
                self.before(&record.event, now);
                self.draw(update);
                self.after(&record.event, now);
            }
        }
    }

    /// Draws what is being written and run, on a screen of `columns`.
    /// `waits` says what a call waits for, by its id, if it does not run.
    pub(crate) fn live(&self, columns: usize, waits: impl Fn(&str) -> Option<Text>) -> Vec<Line> {
        let mut rows = self.markdown.live(columns);
        for call in &self.calls {
            rows.push(Line::default());
            let waits = waits(&call.id).or(call.waits.then_some(Text::CallQueued));
            rows.push(call.head(columns, waits, self.style.language));
            rows.extend(call.tail.draw("│ ", columns));
        }
        rows
    }

    fn live_update(&mut self, live: &Live, now: Instant) {
        match live {
            Live::TextDelta(text) => {
                self.thought(now);
                self.prose(text);
                self.wait(Waiting::Writing, now);
            }
            Live::ThinkingDelta(_) => {
                self.thinks_since.get_or_insert(now);
                self.wait(Waiting::Thinking, now);
            }
            Live::Progress(text) => {
                let text = translated(text, self.style.language).into_owned();
                self.wait(Waiting::Progress(text), now);
            }
            Live::Retrying { wait_ms, .. } => {
                self.thought(now);
                self.flush();
                self.draw(&Update::Live(live.clone()));
                let at = now + Duration::from_millis(*wait_ms);
                self.wait(Waiting::Retry { at }, now);
            }
            Live::CallOutput { call_id, text } => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.id == *call_id) {
                    call.tail.push(text);
                }
            }
            Live::CallWaits { call_id, waits } => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.id == *call_id) {
                    call.waits = *waits;
                }
            }
        }
    }

    /// What must stand on the screen before the event is drawn.
    fn before(&mut self, event: &SessionEvent, now: Instant) {
        self.thought(now);
        if let SessionEvent::Model(ModelEvent::AssistantMessage { message, .. }) = event
            && self.answer.is_empty()
        {
            self.prose(&message.text());
        }
        if !matches!(event, SessionEvent::Call(CallEvent::CallDecided { .. })) {
            self.flush();
        }
        if let SessionEvent::Turn(TurnEvent::UserMessage { prompt, .. }) = event {
            self.repeat(prompt);
            self.answer.clear();
        }
    }

    fn after(&mut self, event: &SessionEvent, now: Instant) {
        self.facts.take_in(event);
        match event {
            SessionEvent::Turn(TurnEvent::UserMessage { .. }) => {
                self.wait(Waiting::FirstByte, now);
            }
            SessionEvent::Turn(TurnEvent::TurnEnded { .. }) => {
                self.calls.clear();
                self.wait(Waiting::Nothing, now);
            }
            SessionEvent::Call(event) => self.after_call(event, now),
            _ => {}
        }
    }

    fn after_call(&mut self, event: &CallEvent, now: Instant) {
        match event {
            CallEvent::CallStarted { call, subject } => {
                // Prose after a call is another answer.
                self.answer.clear();
                let label = format!("{} {}", call.name, subject.lines().next().unwrap_or_default());
                self.calls.push(RunningCall {
                    label: label.trim_end().to_owned(),
                    id: call.id.clone(),
                    tail: Tail::default(),
                    waits: false,
                });
            }
            CallEvent::CallDecided { .. }
            | CallEvent::HostRefused { .. }
            | CallEvent::HostTried { .. }
            | CallEvent::WriteRefused { .. }
            | CallEvent::WallsRefused { .. }
            | CallEvent::CallChanged(_) => {}
            CallEvent::ToolResult { call_id, view, is_error, .. } => {
                self.calls.retain(|call| call.id != *call_id);
                if let View::Diff { path, diff } = view
                    && !is_error
                    && self.diffs.len() < DIFFS_MAX
                {
                    self.diffs.push((path.clone(), diff.clone()));
                }
            }
        }
        let labels: Vec<String> = self.calls.iter().map(|call| call.label.clone()).collect();
        let waiting = if labels.is_empty() { Waiting::FirstByte } else { Waiting::Calls(labels) };
        self.wait(waiting, now);
    }

    fn wait(&mut self, waiting: Waiting, now: Instant) {
        use std::mem::discriminant;
        let of_reply = |waiting: &Waiting| {
            matches!(waiting, Waiting::FirstByte | Waiting::Thinking | Waiting::Writing)
        };
        let goes_on = discriminant(&waiting) == discriminant(&self.waiting)
            || (of_reply(&waiting) && of_reply(&self.waiting));
        // Once it is being stopped, what still comes in changes nothing.
        if self.waiting == Waiting::Stopping && waiting != Waiting::Nothing {
            return;
        }
        if !goes_on {
            self.since = (waiting != Waiting::Nothing).then_some(now);
        }
        self.waiting = waiting;
    }

    /// Ends the model's thinking, of which one line is left; the pager shows it whole.
    fn thought(&mut self, now: Instant) {
        let Some(since) = self.thinks_since.take() else { return };
        let milliseconds = u64::try_from(now.duration_since(since).as_millis()).unwrap_or(u64::MAX);
        let language = self.style.language;
        let said = if milliseconds < DURATION_SHOWN_MS {
            Text::Thought.template(language).to_owned()
        } else {
            let time = duration(milliseconds, &self.style);
            Text::ThoughtFor.say(language, &[("time", &time)])
        };
        self.say(&[Line::of(Meaning::Aside, &said)]);
        if !self.answer.is_empty() {
            self.finished.push('\n');
        }
    }

    fn draw(&mut self, update: &Update) {
        let drawn = self.renderer.update(update);
        self.finished.push_str(&drawn.shown);
        self.finished.push_str(&drawn.errors);
    }

    fn prose(&mut self, text: &str) {
        let text = if self.answer.is_empty() { text.trim_start_matches('\n') } else { text };
        if text.is_empty() {
            return;
        }
        if self.answer.is_empty() {
            self.finished.push('\n');
        }
        self.answer.push_str(text);
        self.markdown.push(text, self.style.width);
        let rows = self.markdown.take();
        self.add(&rows);
    }

    /// Ends the prose that is being written.
    fn flush(&mut self) {
        if !self.markdown.is_empty() {
            let rows = self.markdown.finish(self.style.width);
            self.add(&rows);
            self.renderer.others_printed();
        } else if !self.answer.is_empty() {
            self.markdown = Markdown::default();
            self.renderer.others_printed();
        }
    }

    fn repeat(&mut self, prompt: &str) {
        let (first, rest) = (Line::of(Meaning::Name, "> "), Line::plain("  "));
        let mut rows = Vec::new();
        for line in prompt.lines() {
            let first = if rows.is_empty() { &first } else { &rest };
            let line = Line::of(Meaning::Name, line);
            rows.extend(line.wrapped(self.style.width, Wrap::Words, first, &rest));
        }
        let more = rows.len().saturating_sub(ECHO_ROWS_MAX);
        rows.truncate(ECHO_ROWS_MAX);
        if more > 0 {
            let said = Text::MoreLines.say(self.style.language, &[("n", &more)]);
            rows.push(Line::of(Meaning::Aside, &said));
        }
        self.finished.push('\n');
        self.add(&rows);
        self.renderer.others_printed();
    }

    fn add(&mut self, lines: &[Line]) {
        for line in lines {
            self.finished.push_str(&line.paint(&self.style));
            self.finished.push('\n');
        }
    }
}

impl RunningCall {
    fn head(&self, columns: usize, waits: Option<Text>, language: Language) -> Line {
        let mut head = Line::of(Meaning::Aside, "┌─ ");
        head.push(if waits.is_none() { Meaning::Name } else { Meaning::Aside }, &self.label);
        let state = format!(" · {}", waits.unwrap_or(Text::CallRuns).template(language));
        let state = Line::of(Meaning::Aside, &state);
        head = head.cut(columns.saturating_sub(state.width()));
        head.append(&state);
        head
    }
}

impl Tail {
    /// Adds what was printed. A carriage return begins its line anew, as on a terminal.
    pub(crate) fn push(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            let (line, is_over) = match piece.strip_suffix('\n') {
                Some(line) => (line.trim_end_matches('\r'), true),
                None => (piece, false),
            };
            match line.rsplit_once('\r') {
                Some((_, last)) => last.clone_into(&mut self.open),
                None => self.open.push_str(line),
            }
            if self.open.len() > LINE_BYTES_MAX {
                let end = (0..=LINE_BYTES_MAX).rev().find(|end| self.open.is_char_boundary(*end));
                self.open.truncate(end.unwrap_or(0));
            }
            if is_over {
                self.lines.push_back(std::mem::take(&mut self.open));
            }
            if self.lines.len() > TAIL_LINES {
                self.lines.pop_front();
            }
        }
    }

    /// Draws the last lines, each behind `edge`.
    pub(crate) fn draw(&self, edge: &str, columns: usize) -> Vec<Line> {
        let open = (!self.open.is_empty()).then_some(&self.open);
        let all: Vec<&String> = self.lines.iter().chain(open).collect();
        let skipped = all.len().saturating_sub(TAIL_LINES);
        all.into_iter()
            .skip(skipped)
            .map(|text| {
                let mut line = Line::of(Meaning::Aside, edge);
                line.push(Meaning::Plain, text);
                line.cut(columns)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tenon_agent::Record;

    use super::*;

    fn transcript() -> Transcript {
        let style = Style {
            width: 60,
            colour: false,
            redraws: false,
            language: Language::English,
            theme: Default::default(),
        };
        Transcript::new(style, Facts::default())
    }

    fn stored(event: serde_json::Value) -> Update {
        let mut event = event;
        event["time_ms"] = json!(5);
        Update::Stored(Arc::new(serde_json::from_value::<Record>(event).unwrap()))
    }

    fn delta(text: &str) -> Update {
        Update::Live(Live::TextDelta(text.into()))
    }

    fn live(transcript: &Transcript) -> Vec<String> {
        transcript.live(60, |_| None).iter().map(Line::text).collect()
    }

    #[test]
    fn thinking_leaves_one_line_above_what_was_said() {
        let now = Instant::now();
        let mut transcript = transcript();
        transcript.update(&Update::Live(Live::ThinkingDelta("well".into())), now);
        assert_eq!(transcript.waiting().0, &Waiting::Thinking);
        let later = now + Duration::from_millis(12_340);
        transcript.update(&Update::Live(Live::ThinkingDelta(", yes".into())), later);
        transcript.update(&delta("Yes."), later);
        transcript.end(later);
        assert_eq!(transcript.take_finished(), "\nthought for 12.3 s (Ctrl-O shows it)\n\nYes.\n");
    }

    #[test]
    fn a_turn_goes_from_the_live_part_to_the_scrollback_once() {
        let now = Instant::now();
        let mut transcript = transcript();
        transcript.update(
            &stored(json!({"type": "user_message", "prompt": "run it",
                "message": {"role": "user", "content": [{"type": "text", "text": "run it"}]}})),
            now,
        );
        assert_eq!(transcript.take_finished(), "\n> run it\n");
        assert_eq!(transcript.waiting().0, &Waiting::FirstByte);
        transcript.update(&delta("I **ru"), now);
        assert_eq!(live(&transcript), ["I **ru"]);
        transcript.update(&delta("n** it."), now);
        let call = json!({"id": "1", "name": "bash", "arguments": {"command": "make"}});
        transcript
            .update(&stored(json!({"type": "call_started", "call": call, "subject": "make"})), now);
        assert_eq!(transcript.take_finished(), "\nI run it.\n");
        transcript.update(
            &Update::Live(Live::CallOutput { call_id: "1".into(), text: "10%\r20%\nx".into() }),
            now,
        );
        assert_eq!(live(&transcript), ["", "┌─ bash make · runs", "│ 20%", "│ x"]);
        let asked = transcript.live(60, |id| (id == "1").then_some(Text::CallAsks));
        assert_eq!(asked[1].text(), "┌─ bash make · waits for you");
        let waits = |waits| Update::Live(Live::CallWaits { call_id: "1".into(), waits });
        transcript.update(&waits(true), now);
        assert_eq!(live(&transcript)[1], "┌─ bash make · waits for its turn to ask");
        transcript.update(&waits(false), now);
        transcript.update(
            &stored(
                json!({"type": "call_decided", "call_id": "1", "verdict": "allow", "rule": ""}),
            ),
            now,
        );
        assert_eq!(live(&transcript), ["", "┌─ bash make · runs", "│ 20%", "│ x"]);
        transcript.update(
            &stored(
                json!({"type": "tool_result", "call_id": "1", "content": "ok", "duration_ms": 5,
                "view": {"shape": "text", "text": "ok", "lines": 1}}),
            ),
            now,
        );
        assert!(live(&transcript).is_empty());
        let finished = transcript.take_finished();
        assert!(finished == "\n┌─ bash make\n│ ok\n└─\n", "{finished}");
        transcript.update(&delta("Done.\n\nAll"), now);
        assert_eq!(transcript.take_finished(), "\nDone.\n");
        assert_eq!(live(&transcript), ["", "All"]);
        assert_eq!(transcript.answer(), "Done.\n\nAll");
    }

    #[test]
    fn only_the_last_lines_of_a_running_command_are_kept() {
        let mut tail = Tail::default();
        (0..1_000).for_each(|n| tail.push(&format!("line {n}\n")));
        tail.push(&"x".repeat(100_000));
        let rows = tail.draw("", 10);
        assert_eq!(rows.len(), TAIL_LINES);
        assert_eq!(rows[4].text(), "line 999");
        assert_eq!(rows[5].text(), "xxxxxxxxx…");
    }
}

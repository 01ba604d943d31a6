//! Draws a session: events in, styled text out. Pure, shared by every front end that prints.
//!
//! Prose is printed as it comes; a call is drawn whole when its result is there, so that calls
//! which run side by side never mix. Whatever a model, a file or a command wrote is made visible
//! before it is printed. What is waited for stands on one line that is erased again, and only on
//! a terminal that can do so.

pub(crate) mod diff;
mod frame;
pub(crate) mod line;
pub(crate) mod markdown;
pub(crate) mod measure;
mod style;
mod summary;

use std::collections::HashSet;

use tenon_agent::{
    CallChanges, CallEvent, CompactionCause, ContextEvent, ContinuationCause, Live, ModelEvent,
    Record, SessionEvent, SessionNote, TurnEvent, Update, Verdict, View,
};
use tenon_model::{ContentBlock, Message, ToolCall, visible};

use self::{frame::Frame, line::Line, markdown::Markdown, summary::Used};
pub(crate) use self::{
    style::{Meaning, Piece, Style, Theme},
    summary::{duration, failure, grouped, money, unconfined},
};
use crate::texts::{self, Text, translated};

/// Carriage return and Erase in Line: takes away the line that says what is waited for.
const ERASE_LINE: &str = "\r\u{1b}[K";

/// Shorter calls do not say how long they took: nobody waited.
pub(crate) const DURATION_SHOWN_MS: u64 = 100;

/// What one update adds to the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// The session itself.
    pub shown: String,
    /// Why something went wrong; printed after [`Drawn::shown`].
    pub errors: String,
}

/// Draws updates one after another.
#[derive(Debug)]
pub(crate) struct Renderer {
    /// How it is drawn; the width may change between updates.
    pub style: Style,
    /// Whether the model's prose is left out, because it is printed elsewhere.
    pub without_prose: bool,
    /// Whether what is waited for is left out, because it is said elsewhere.
    pub without_waiting: bool,
    /// Whether commands run without walls, which stands behind what is waited for and at the end.
    pub without_walls: bool,
    replay: bool,
    /// Whether results are shown whole.
    whole: bool,
    /// Whether prose is drawn as Markdown; otherwise it is printed as it was written.
    formatted: bool,
    /// Whether boxes have no right edge.
    pub open_boxes: bool,
    open: Vec<OpenCall>,
    /// The ids of all calls that were begun.
    begun: HashSet<String>,
    drawn: Drawn,
    above: Above,
    /// Line ends of the prose that are printed once more prose follows.
    held: usize,
    /// Whether prose of the reply that is being written was printed already.
    streamed: bool,
    waiting: Option<Line>,
}

/// A call that has begun.
#[derive(Debug)]
struct OpenCall {
    call: ToolCall,
    subject: String,
    /// What was decided, and whether a person was asked.
    decided: Option<(Verdict, bool)>,
    /// What it changed, in a line; empty if nothing is known of that.
    changed: String,
    /// All that it changed was saved for undo.
    is_saved: bool,
}

/// What stands above the place where printing goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Above {
    Nothing,
    /// Prose whose line is not ended yet.
    Prose,
    Line,
    Frame,
}

/// Draws a session from its log, as it looked.
pub(crate) fn transcript<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    style: &Style,
) -> String {
    replayed(records, Renderer::new(*style))
}

/// Draws a session from its log as a session on a terminal drew it, but with every result whole.
pub(crate) fn whole_transcript<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    style: &Style,
) -> String {
    replayed(records, Renderer { whole: true, ..as_live(style) })
}

/// Draws a session from its log as a session on a terminal drew it.
pub(crate) fn transcript_as_live<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    style: &Style,
) -> String {
    replayed(records, as_live(style))
}

/// Without right edges a result takes no more room than its text, which of a long session is a third.
fn as_live(style: &Style) -> Renderer {
    Renderer { formatted: true, open_boxes: true, ..Renderer::new(*style) }
}

fn replayed<'a>(records: impl IntoIterator<Item = &'a Record>, renderer: Renderer) -> String {
    // Nothing is waited for any more.
    let mut renderer = Renderer { replay: true, without_waiting: true, ..renderer };
    let mut shown = String::new();
    for record in records {
        let drawn = renderer.event(&record.event);
        shown.push_str(&drawn.shown);
        shown.push_str(&drawn.errors);
    }
    renderer.abandon_calls();
    renderer.end_prose();
    shown.push_str(&renderer.take().shown);
    shown
}

/// Draws the changed lines of a file, all of them and without a box.
pub(crate) fn diff(path: &str, hunks: &str, style: &Style) -> String {
    let mut drawn = format!("{}\n", style.paint(Meaning::Name, &visible(path)));
    for line in diff::lines(hunks) {
        let text = diff::paint(style, line.meaning, &line.text, 0, &line.marks);
        drawn.push_str(&format!("{}{text}\n", style.paint(line.meaning, line.sign)));
    }
    drawn
}

impl Renderer {
    /// Returns a renderer that has drawn nothing.
    pub(crate) fn new(style: Style) -> Self {
        Self {
            style,
            without_prose: false,
            without_waiting: false,
            without_walls: false,
            replay: false,
            whole: false,
            formatted: false,
            open_boxes: false,
            open: Vec::new(),
            begun: HashSet::new(),
            drawn: Drawn::default(),
            above: Above::Nothing,
            held: 0,
            streamed: false,
            waiting: None,
        }
    }

    /// Draws one update.
    pub(crate) fn update(&mut self, update: &Update) -> Drawn {
        match update {
            Update::Stored(record) => self.event(&record.event),
            Update::Live(live) => self.live(live),
        }
    }

    /// Takes away the line that says what is waited for, and ends unfinished prose, so that
    /// something else can be printed on a line of its own.
    pub(crate) fn clear(&mut self) -> Drawn {
        self.end_prose();
        self.erase();
        self.take()
    }

    /// Takes in that something else was printed, in whole lines.
    pub(crate) fn others_printed(&mut self) {
        self.above = Above::Line;
    }

    fn event(&mut self, event: &SessionEvent) -> Drawn {
        match event {
            SessionEvent::Session(event) => self.session(event),
            SessionEvent::Turn(event) => self.turn(event),
            SessionEvent::Model(event) => self.model(event),
            SessionEvent::Call(event) => self.call(event),
            SessionEvent::Context(event) => self.context(event),
        }
        self.take()
    }

    fn session(&mut self, event: &SessionNote) {
        match event {
            SessionNote::SessionStarted { session, workspace, model, .. } if self.replay => {
                let session = Text::Session.say(self.style.language, &[("id", session)]);
                let folder = workspace.first().map(|folder| folder.to_string_lossy());
                let folder = folder.unwrap_or_default();
                let line = format!("{session} · {model} · {folder}");
                self.line(&self.style.paint(Meaning::Aside, &visible(&line)));
            }
            SessionNote::SessionResumed { model, .. } if self.replay => {
                self.abandon_calls();
                self.apart();
                let said = Text::WentOn.say(self.style.language, &[("model", &visible(model))]);
                self.line(&self.style.paint(Meaning::Aside, &said));
            }
            SessionNote::ModelChanged { model, .. } => {
                self.apart();
                let shown = visible(model);
                let said = Text::ModelChanged.say(self.style.language, &[("model", &shown)]);
                self.line(&self.style.paint(Meaning::Aside, &said));
            }
            SessionNote::Rewound { turns, .. } => {
                self.abandon_calls();
                let said = if *turns == 1 { Text::WentBackOne } else { Text::WentBack };
                let said = said.say(self.style.language, &[("n", turns)]);
                self.line(&self.style.paint(Meaning::Aside, &said));
            }
            SessionNote::CompactionUndone { .. } => {
                let said = self.style.say(Text::CompactionUndone).to_owned();
                self.line(&self.style.paint(Meaning::Aside, &said));
            }
            _ => {}
        }
    }

    fn turn(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::UserMessage { prompt, attached, .. } => {
                self.abandon_calls();
                if self.replay {
                    self.apart();
                    for line in visible(prompt).lines() {
                        self.line(&self.style.paint(Meaning::Name, &format!("> {line}")));
                    }
                }
                for line in attached {
                    let line = translated(line, self.style.language);
                    let line = format!("{} {line}", self.style.say(Text::Read));
                    self.line(&self.style.paint(Meaning::Aside, &visible(&line)));
                }
                self.streamed = false;
                self.wait(self.style.say(Text::Waiting));
            }
            TurnEvent::Notice { text } | TurnEvent::NoteToModel { text } => {
                self.labelled(Text::Note, &translated(text, self.style.language));
            }
            TurnEvent::TurnEnded { reason, usage, cost, steps, duration_ms, receipt, .. } => {
                self.abandon_calls();
                self.apart();
                let used = Used {
                    reason: *reason,
                    usage: *usage,
                    cost: *cost,
                    steps: *steps,
                    duration_ms: *duration_ms,
                    without_walls: self.without_walls,
                };
                self.drawn.shown.push_str(&summary::used(&used, &self.style));
                let stamp = receipt.as_ref().map(|made| summary::stamp(made, &self.style));
                self.drawn.shown.push_str(&stamp.unwrap_or_default());
                self.above = Above::Line;
                self.drawn.errors.push_str(&summary::ending(*reason, &self.style));
            }
        }
    }

    fn model(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::RequestSent { .. } => {}
            ModelEvent::AssistantMessage { message, .. } => {
                if self.whole {
                    self.thinking(message);
                }
                match std::mem::take(&mut self.streamed) {
                    true => {}
                    false if self.formatted => self.markdown(&message.text()),
                    false => self.prose(&message.text()),
                }
                self.end_prose();
            }
            ModelEvent::RequestFailed { message, hint, .. } => {
                self.end_prose();
                self.erase();
                let said = failure(message, hint.as_deref(), &self.style);
                self.drawn.errors.push_str(&said);
            }
        }
    }

    fn thinking(&mut self, message: &Message) {
        for block in &message.content {
            let ContentBlock::Thinking(thinking) = block else { continue };
            if thinking.text.trim().is_empty() {
                continue;
            }
            self.apart();
            self.line(&self.style.paint(Meaning::Aside, self.style.say(Text::ThinkingLabel)));
            for line in visible(thinking.text.trim()).lines() {
                self.line(&self.style.paint(Meaning::Aside, &format!("│ {line}")));
            }
        }
    }

    fn call(&mut self, event: &CallEvent) {
        match event {
            CallEvent::CallStarted { call, subject } => {
                self.end_prose();
                self.streamed = false;
                let (call, subject) = (call.clone(), subject.clone());
                self.begun.insert(call.id.clone());
                self.open.push(OpenCall {
                    call,
                    subject,
                    decided: None,
                    changed: String::new(),
                    is_saved: true,
                });
                self.wait_for_calls();
            }
            CallEvent::CallDecided { call_id, verdict, asked, .. } => {
                if let Some(open) = self.open.iter_mut().find(|open| open.call.id == *call_id) {
                    open.decided = Some((*verdict, *asked));
                }
            }
            // The result of the call says so, too.
            CallEvent::HostRefused { .. }
            | CallEvent::HostTried { .. }
            | CallEvent::WriteRefused { .. }
            | CallEvent::WallsRefused { .. } => {}
            CallEvent::CallChanged(changes) => self.changed(changes),
            CallEvent::ToolResult { call_id, content, is_error, view, duration_ms, .. } => {
                let place = self.open.iter().position(|open| open.call.id == *call_id);
                let Some(place) = place else { return };
                let open = self.open.remove(place);
                let mut footer = self.footer(open.decided, *is_error);
                if *duration_ms >= DURATION_SHOWN_MS {
                    let duration = duration(*duration_ms, &self.style);
                    footer.push(Piece::new(Meaning::Aside, duration));
                }
                self.frame(&open, Some((view, content)), &footer);
                self.wait_for_calls();
            }
        }
    }

    fn changed(&mut self, changes: &CallChanges) {
        if let Some(open) = self.open.iter_mut().find(|open| open.call.id == changes.call_id) {
            open.changed = texts::summary(&changes.summary, self.style.language).into_owned();
            open.is_saved = changes.left_out.is_empty();
        } else if !changes.summary.is_empty() {
            // A command in the background, whose box is drawn, or one of a tenon that was killed.
            let is_of_this = self.begun.contains(&changes.call_id);
            if is_of_this && self.open.is_empty() && !self.replay {
                // The line says it that tells how the job ended.
                return;
            }
            let text =
                if is_of_this || changes.by_job { Text::JobChanged } else { Text::CutShortChanged };
            let language = self.style.language;
            let changes = texts::summary(&changes.summary, language);
            let said = text.say(language, &[("changes", &changes)]);
            self.labelled(Text::Note, &said);
        }
    }

    fn context(&mut self, event: &ContextEvent) {
        let language = self.style.language;
        let said = match event {
            ContextEvent::Continued(cut) => {
                self.streamed = false;
                let reason = translated(cut.reason.as_deref().unwrap_or_default(), language);
                let values: [(&str, &dyn std::fmt::Display); 3] =
                    [("n", &cut.number), ("max", &cut.number_max), ("reason", &reason)];
                match cut.cause {
                    ContinuationCause::OutputLimit => Text::CutByLimit.say(language, &values),
                    ContinuationCause::NotChecked => Text::NotChecked.say(language, &values),
                    ContinuationCause::Failure => Text::CutByFailure.say(language, &values),
                }
            }
            ContextEvent::Compacted(compaction) => summary::compacted(compaction, language),
        };
        self.labelled(Text::Note, &said);
        if !matches!(event, ContextEvent::Compacted(made) if made.cause == CompactionCause::Asked) {
            self.wait(self.style.say(Text::Waiting));
        }
    }

    fn live(&mut self, live: &Live) -> Drawn {
        match live {
            Live::TextDelta(text) => {
                self.streamed = true;
                self.prose(text);
            }
            Live::ThinkingDelta(_) => {
                self.end_prose();
                self.wait(self.style.say(Text::ThinkingNow));
            }
            Live::Progress(text) => self.wait(&visible(&translated(text, self.style.language))),
            Live::Retrying { attempt, wait_ms, reason } => {
                let wait = duration(*wait_ms, &self.style);
                let reason = translated(reason, self.style.language);
                let values: [(&str, &dyn std::fmt::Display); 3] =
                    [("n", attempt), ("wait", &wait), ("reason", &reason)];
                let said = Text::Retrying.say(self.style.language, &values);
                self.labelled(Text::Warning, &said);
            }
            Live::CallOutput { call_id, text } => self.output(call_id, text),
            // The question that is open stands there.
            Live::CallWaits { .. } => {}
        }
        self.take()
    }

    /// Shows the last line of what a running call printed.
    fn output(&mut self, call_id: &str, text: &str) {
        let open = self.open.iter().find(|open| open.call.id == call_id);
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        if let (Some(open), Some(last)) = (open, last) {
            self.wait(&visible(&format!("{}: {}", open.call.name, last.trim())));
        }
    }

    fn footer(&self, decided: Option<(Verdict, bool)>, is_error: bool) -> Vec<Piece> {
        let mut footer = Vec::new();
        match decided {
            Some((Verdict::Deny, _)) => {
                footer.push(Piece::new(Meaning::Warning, self.style.say(Text::Refused)));
                return footer;
            }
            Some((_, true)) => {
                footer.push(Piece::new(Meaning::Plain, self.style.say(Text::Allowed)));
            }
            _ => {}
        }
        if is_error {
            footer.push(Piece::new(Meaning::Error, self.style.say(Text::Failed)));
        }
        footer
    }

    /// Draws calls that will never be answered, because whoever ran them is gone.
    fn abandon_calls(&mut self) {
        let footer = [Piece::new(Meaning::Warning, self.style.say(Text::Unanswered))];
        for open in std::mem::take(&mut self.open) {
            self.frame(&open, None, &footer);
        }
    }

    fn frame(&mut self, open: &OpenCall, answer: Option<(&View, &str)>, footer: &[Piece]) {
        self.end_prose();
        self.erase();
        if self.above != Above::Frame {
            self.apart();
        }
        // A diff says better what it can undo.
        let is_diff = matches!(answer, Some((View::Diff { .. }, _)));
        let is_said = answer.is_some() && !(is_diff && open.is_saved);
        let changes =
            if is_said { visible(&open.changed).replace('\n', " ") } else { String::new() };
        let frame = Frame {
            name: &open.call.name,
            subject: &open.subject,
            answer,
            refused: matches!(open.decided, Some((Verdict::Deny, _))),
            footer,
            changes: &changes,
            whole: self.whole,
            open: self.open_boxes,
        };
        self.drawn.shown.push_str(&frame::draw(&frame, &self.style));
        self.above = Above::Frame;
    }

    fn prose(&mut self, text: &str) {
        if self.without_prose {
            return;
        }
        let fresh = self.above != Above::Prose;
        let text = if fresh { text.trim_start_matches('\n') } else { text };
        let body = text.trim_end_matches('\n');
        if body.is_empty() {
            self.held += if fresh { 0 } else { text.len() };
            return;
        }
        if fresh {
            self.erase();
            self.apart();
            self.above = Above::Prose;
        }
        let held = std::mem::replace(&mut self.held, text.len() - body.len());
        self.drawn.shown.extend(std::iter::repeat_n('\n', held));
        self.drawn.shown.push_str(&visible(body));
    }

    fn markdown(&mut self, prose: &str) {
        let mut markdown = Markdown::default();
        markdown.push(prose.trim_start_matches('\n'), self.style.width);
        let mut rows = markdown.take();
        rows.extend(markdown.finish(self.style.width));
        if !rows.is_empty() {
            self.apart();
        }
        for row in rows {
            self.line(&row.paint(&self.style));
        }
    }

    fn end_prose(&mut self) {
        if self.above == Above::Prose {
            self.drawn.shown.push('\n');
            self.above = Above::Line;
        }
        self.held = 0;
    }

    fn labelled(&mut self, label: Text, text: &str) {
        let label = self.style.paint(Meaning::Warning, self.style.say(label));
        self.line(&format!("{label} {}", visible(text.trim_end())));
    }

    fn line(&mut self, painted: &str) {
        self.end_prose();
        self.erase();
        self.drawn.shown.push_str(painted);
        self.drawn.shown.push('\n');
        self.above = Above::Line;
    }

    /// Leaves a blank line to what stands above, if anything does.
    fn apart(&mut self) {
        self.end_prose();
        self.erase();
        if self.above != Above::Nothing {
            self.drawn.shown.push('\n');
            self.above = Above::Nothing;
        }
    }

    fn wait_for_calls(&mut self) {
        let said = match self.open.as_slice() {
            [] => self.style.say(Text::Waiting).to_owned(),
            [open] => {
                let call = format!("{} {}", open.call.name, open.subject);
                Text::Running.say(self.style.language, &[("call", &visible(call.trim_end()))])
            }
            many => Text::RunningMany.say(self.style.language, &[("n", &many.len())]),
        };
        self.wait(&said);
    }

    /// Says on a line of its own what is waited for; `text` is safe to print.
    fn wait(&mut self, text: &str) {
        if !self.style.redraws || self.without_waiting || self.above == Above::Prose {
            return;
        }
        let line = summary::waited_for(text, self.without_walls, &self.style);
        if self.waiting.as_ref() != Some(&line) {
            self.erase();
            self.drawn.shown.push_str(&line.paint(&self.style));
            self.waiting = Some(line);
        }
    }

    fn erase(&mut self) {
        if self.waiting.take().is_some() {
            self.drawn.shown.push_str(ERASE_LINE);
        }
    }

    fn take(&mut self) -> Drawn {
        std::mem::take(&mut self.drawn)
    }
}

#[cfg(test)]
mod tests;

//! The state of an interactive session and what keys and updates make of it. Pure: the time is
//! given, and what is to be done is returned.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::ValueEnum;
use tenon_agent::{Answer, Question, Update};
use tenon_model::ToolSpec;
use tokio::sync::oneshot;

use super::{
    approval::{Approval, Outcome},
    commands::{Act, COMMANDS, INIT_PROMPT, Typed, typed},
    composer::{Asked, Composer, complete, files::Files},
    keyboard::{Event, KeyCode, KeyEvent, KeyModifiers},
    line::Line,
    own_command::Ended,
    status::Waiting,
    transcript::{Tail, Transcript},
};
use crate::{
    config::RuleBook,
    question,
    render::{Meaning, grouped, money},
    texts::{Language, Text},
    values::ThemeName,
};

/// How long Ctrl-C is remembered: a second one within it leaves.
const LEAVE_WITHIN: Duration = Duration::from_secs(3);
/// Columns of the bar of /context.
const BAR_COLUMNS: usize = 40;

/// An interactive session.
pub(crate) struct App {
    pub transcript: Transcript,
    pub composer: Composer,
    pub language: Language,
    /// Prompts that wait for the end of the turn, the next first.
    pub queued: VecDeque<String>,
    /// The question that is shown.
    pub approval: Option<(Approval, oneshot::Sender<Answer>)>,
    /// The person's own command that runs, with its last lines.
    pub own: Option<(String, Tail)>,
    /// Whether a turn is going on.
    pub is_running: bool,
    questions: VecDeque<(Question, oneshot::Sender<Answer>)>,
    /// What the model is told in front of the next prompt.
    notes: String,
    files: Files,
    tools: Vec<ToolSpec>,
    book: Arc<RuleBook>,
    /// How its file is named in a question.
    pub book_name: String,
    stopping: bool,
    /// When Ctrl-C was pressed with nothing to end.
    leaves: Option<Instant>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Carry out a prompt.
    Prompt(String),
    /// Make the conversation shorter, keeping to the words.
    Compact(Option<String>),
    /// Go back behind the last turn.
    Rewind,
    /// List the commands in the background.
    Jobs,
    /// Cancel the turn.
    Cancel,
    /// Run a command of the person's own.
    RunOwn(String),
    /// End it.
    StopOwn,
    /// Leave the session.
    Leave(Leave),
    /// Stop the program until it is continued.
    Suspend,
    /// Open the draft in an editor.
    Edit,
    /// Show the whole transcript.
    Transcript,
    /// Show what was changed.
    Changes,
    /// Choose other colours.
    Theme(ThemeName),
    /// Put text into the clipboard.
    Copy(String),
    /// Draw everything anew.
    Redraw,
}

/// How a session is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    Finished,
    Interrupted,
    /// For a new one.
    Anew,
    /// The terminal is gone.
    Gone,
}

impl App {
    pub(crate) fn new(
        transcript: Transcript,
        composer: Composer,
        files: Files,
        tools: Vec<ToolSpec>,
        book: Arc<RuleBook>,
        language: Language,
    ) -> Self {
        Self {
            transcript,
            composer,
            language,
            queued: VecDeque::new(),
            approval: None,
            own: None,
            is_running: false,
            questions: VecDeque::new(),
            notes: String::new(),
            files,
            tools,
            book_name: book.file().display().to_string(),
            book,
            stopping: false,
            leaves: None,
        }
    }

    /// Takes in an event of the terminal.
    pub(crate) fn event(&mut self, event: Event, now: Instant) -> Option<Effect> {
        let effect = match event {
            Event::Key(key) => self.press(key, now),
            Event::Paste(text) => {
                self.paste(&text, now);
                None
            }
            Event::Gone => Some(Effect::Leave(Leave::Gone)),
            // What the terminal tells of itself is for the session.
            Event::Background(_) | Event::Attributes | Event::Focus(_) => None,
        };
        self.complete(now);
        effect
    }

    /// Takes in an update of the agent.
    pub(crate) fn update(&mut self, update: &Update, now: Instant) {
        self.transcript.update(update, now);
    }

    /// Takes in a question.
    pub(crate) fn ask(
        &mut self,
        question: Question,
        answer: oneshot::Sender<Answer>,
        now: Instant,
    ) {
        self.questions.push_back((question, answer));
        self.next_question(now);
    }

    /// Drops questions that were taken back, and shows the next.
    pub(crate) fn next_question(&mut self, now: Instant) {
        if self.approval.as_ref().is_some_and(|(_, answer)| answer.is_closed()) {
            self.approval = None;
        }
        self.questions.retain(|(_, answer)| !answer.is_closed());
        if self.approval.is_none()
            && let Some((question, answer)) = self.questions.pop_front()
        {
            self.approval = Some((Approval::new(question, self.book_name.clone(), now), answer));
        }
    }

    /// Returns when something happens without input.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.approval.as_ref()?.0.due()
    }

    /// Does what is due.
    pub(crate) fn settle(&mut self, now: Instant) {
        if let Some((approval, _)) = &mut self.approval
            && let Some(answer) = approval.settle(now)
        {
            self.answer(answer, now);
        }
    }

    /// Takes in that a turn began.
    pub(crate) fn begin_turn(&mut self) {
        (self.is_running, self.stopping) = (true, false);
    }

    /// Takes in that the turn is over; returns the next prompt if one waits.
    pub(crate) fn end_turn(&mut self, cancelled: bool, now: Instant) -> Option<String> {
        (self.is_running, self.stopping) = (false, false);
        self.next_question(now);
        // Whoever cancels wants to say something else first: what waits stays where it is seen.
        if cancelled {
            self.take_queue_back();
            return None;
        }
        let prompt = self.queued.pop_front()?;
        Some(self.prepared(prompt))
    }

    /// Takes in that the person's own command is over.
    pub(crate) fn own_ended(&mut self, ended: &Ended) {
        self.own = None;
        let style = *self.transcript.style();
        let meaning = if ended.succeeded { Meaning::Done } else { Meaning::Error };
        let mut head = Line::of(Meaning::Name, &format!("! {} ", ended.command));
        head.push(meaning, &ended.status);
        let mut lines = vec![head.cut(style.width)];
        lines.extend(ended.output.lines().map(|line| {
            let mut row = Line::of(Meaning::Aside, "│ ");
            row.push(Meaning::Plain, line);
            row
        }));
        self.transcript.say(&lines);
        self.notes.push_str(&ended.for_model());
    }

    /// Says a sentence that is no part of the session.
    pub(crate) fn say(&mut self, text: &str) {
        let lines: Vec<Line> = text.lines().map(Line::plain).collect();
        self.transcript.say(&lines);
    }

    /// Puts what waits back into the composer.
    pub(crate) fn take_queue_back(&mut self) {
        let mut prompts: Vec<String> = self.queued.drain(..).collect();
        if prompts.is_empty() {
            return;
        }
        if !self.composer.is_empty() {
            prompts.push(self.composer.whole());
        }
        self.composer.set(&prompts.join("\n"));
    }

    /// Returns what is waited for, and since when.
    pub(crate) fn waiting(&self) -> (Waiting, Option<Instant>) {
        let (waiting, since) = self.transcript.waiting();
        match &self.approval {
            Some(_) => (Waiting::Answer, None),
            None => (waiting.clone(), since),
        }
    }

    fn press(&mut self, key: KeyEvent, now: Instant) -> Option<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return self.interrupt(now),
            KeyCode::Char('z') if control => return Some(Effect::Suspend),
            KeyCode::Char('o') if control => return Some(Effect::Transcript),
            KeyCode::Char('l') if control => return Some(Effect::Redraw),
            _ => self.leaves = None,
        }
        if let Some((approval, _)) = &mut self.approval {
            let outcome = approval.press(key, now);
            self.answered(outcome, now);
            return None;
        }
        match key.code {
            KeyCode::Char('g') if control && self.composer.search().is_none() => {
                return Some(Effect::Edit);
            }
            KeyCode::Char('d') if control && self.composer.is_empty() && !self.is_running => {
                return Some(Effect::Leave(Leave::Finished));
            }
            _ => {}
        }
        match self.composer.press(key) {
            Asked::Send(text) | Asked::SendLater(text) => self.send(text),
            Asked::Above => {
                if let Some(last) = self.queued.pop_back() {
                    self.composer.set(&last);
                } else {
                    self.composer.older(true);
                }
                None
            }
            Asked::Nothing | Asked::Unknown => None,
        }
    }

    fn paste(&mut self, text: &str, now: Instant) {
        self.leaves = None;
        if let Some((approval, _)) = &mut self.approval {
            let outcome = approval.paste(text, now);
            self.answered(outcome, now);
            return;
        }
        self.composer.paste(text);
    }

    fn answered(&mut self, outcome: Outcome, now: Instant) {
        match outcome {
            Outcome::Stands(letters) if letters.is_empty() => {}
            Outcome::Stands(letters) => self.composer.paste(&letters),
            Outcome::Answered(answer) => self.answer(answer, now),
        }
    }

    fn answer(&mut self, answer: Answer, now: Instant) {
        if answer == Answer::AllowAlways && !self.keep_rule() {
            return;
        }
        if let Some((_, sender)) = self.approval.take() {
            // Nobody waits any more: the turn was cancelled at the same moment.
            let _ = sender.send(answer);
        }
        self.next_question(now);
    }

    /// Writes the rule of the question for later sessions; the question stands if it cannot.
    fn keep_rule(&mut self) -> bool {
        let Some((approval, _)) = &self.approval else { return false };
        match question::keep(&approval.question, &self.book) {
            Ok(rule) => {
                let values: [(&str, &dyn std::fmt::Display); 2] =
                    [("rule", &rule), ("file", &self.book_name)];
                self.say(&Text::AskKept.say(self.language, &values));
                true
            }
            Err(error) => {
                self.say(&Text::AskNotKept.say(self.language, &[("error", &error)]));
                false
            }
        }
    }

    /// Ctrl-C: ends what runs, then clears the draft, then leaves.
    fn interrupt(&mut self, now: Instant) -> Option<Effect> {
        if self.is_running {
            if std::mem::replace(&mut self.stopping, true) {
                return Some(Effect::Leave(Leave::Interrupted));
            }
            self.transcript.stopping(now);
            return Some(Effect::Cancel);
        }
        if self.own.is_some() {
            return Some(Effect::StopOwn);
        }
        if self.composer.clear() {
            return None;
        }
        if self.leaves.is_some_and(|since| now.duration_since(since) < LEAVE_WITHIN) {
            return Some(Effect::Leave(Leave::Interrupted));
        }
        self.leaves = Some(now);
        self.say(Text::LeaveHint.template(self.language));
        None
    }

    /// Does what was typed, now or after the turn.
    fn send(&mut self, text: String) -> Option<Effect> {
        self.composer.remember(&text);
        match typed(&text) {
            Typed::Nothing => None,
            Typed::Command(act) => self.command(act),
            Typed::Unknown(name) => {
                self.say(&Text::UnknownCommand.say(self.language, &[("name", &name)]));
                None
            }
            Typed::Own(command) if self.own.is_none() => Some(Effect::RunOwn(command)),
            Typed::Own(_) => {
                self.composer.set(&text);
                None
            }
            Typed::Theme(name) => self.choose_theme(&name),
            Typed::Compact(_) if self.is_running => {
                self.composer.set(&text);
                None
            }
            Typed::Compact(focus) => Some(Effect::Compact(focus)),
            Typed::Prompt(prompt) if self.is_running => {
                self.queued.push_back(prompt);
                None
            }
            Typed::Prompt(prompt) => Some(Effect::Prompt(self.prepared(prompt))),
        }
    }

    /// Puts what the model is to know in front of a prompt.
    fn prepared(&mut self, prompt: String) -> String {
        if self.notes.is_empty() {
            return prompt;
        }
        self.transcript.echo_next(prompt.clone());
        std::mem::take(&mut self.notes) + &prompt
    }

    fn command(&mut self, act: Act) -> Option<Effect> {
        match act {
            Act::Help => self.say_help(),
            Act::Tools => self.say_tools(),
            Act::Context => self.say_context(),
            Act::Cost => self.say_cost(),
            Act::Diff if self.transcript.diffs().is_empty() => {
                self.say(Text::NoChanges.template(self.language));
            }
            Act::Diff => return Some(Effect::Changes),
            Act::Transcript => return Some(Effect::Transcript),
            Act::Copy if self.transcript.answer().trim().is_empty() => {
                self.say(Text::NothingToCopy.template(self.language));
            }
            Act::Copy => {
                self.say(Text::Copied.template(self.language));
                return Some(Effect::Copy(self.transcript.answer().trim().to_owned()));
            }
            Act::Init if self.is_running => self.queued.push_back(INIT_PROMPT.to_owned()),
            Act::Init => return Some(Effect::Prompt(self.prepared(INIT_PROMPT.to_owned()))),
            Act::Jobs => return Some(Effect::Jobs),
            Act::Rewind if self.is_running => self.composer.set("/rewind"),
            Act::Rewind => return Some(Effect::Rewind),
            Act::Theme => return self.choose_theme(""),
            // Its words are read with it.
            Act::Compact => return Some(Effect::Compact(None)),
            Act::New => return Some(Effect::Leave(Leave::Anew)),
            Act::Quit => return Some(Effect::Leave(Leave::Finished)),
        }
        None
    }

    fn choose_theme(&mut self, name: &str) -> Option<Effect> {
        let Ok(theme) = ThemeName::from_str(name, true) else {
            self.say(Text::ThemeUnknown.template(self.language));
            return None;
        };
        let values: [(&str, &dyn std::fmt::Display); 2] =
            [("theme", &name), ("file", &self.book_name)];
        self.say(&Text::ThemeIs.say(self.language, &values));
        Some(Effect::Theme(theme))
    }

    fn say_help(&mut self) {
        let mut lines = Vec::new();
        for command in &COMMANDS {
            let mut line = Line::of(Meaning::Hint, &format!("{:<13}", command.name));
            line.push(Meaning::Plain, command.about.template(self.language));
            lines.push(line);
        }
        lines.push(Line::default());
        lines.extend(Text::HelpComposer.template(self.language).lines().map(Line::plain));
        self.transcript.say(&lines);
    }

    fn say_tools(&mut self) {
        let lines: Vec<Line> = self
            .tools
            .iter()
            .map(|tool| {
                let first = tool.description.lines().next().unwrap_or_default();
                let sentence = first.split_inclusive(". ").next().unwrap_or_default();
                let mut line = Line::of(Meaning::Name, &format!("{:<12}", tool.name));
                line.push(Meaning::Plain, sentence.trim_end());
                line.cut(self.transcript.style().width)
            })
            .collect();
        self.transcript.say(&lines);
    }

    fn say_context(&mut self) {
        let facts = &self.transcript.facts;
        let percent = facts.context_percent().min(100);
        let filled = usize::try_from(percent).unwrap_or(0) * BAR_COLUMNS / 100;
        let mut bar = Line::of(Meaning::Hint, &"█".repeat(filled));
        bar.push(Meaning::Aside, &"░".repeat(BAR_COLUMNS.saturating_sub(filled)));
        let (used, window) = (grouped(facts.context_tokens), grouped(facts.window_tokens.into()));
        let values: [(&str, &dyn std::fmt::Display); 3] =
            [("used", &used), ("window", &window), ("n", &percent)];
        let said = Text::ContextSays.say(self.language, &values);
        self.transcript.say(&[bar, Line::plain(&said)]);
    }

    fn say_cost(&mut self) {
        let facts = &self.transcript.facts;
        let (input, output) = (grouped(facts.usage.input_all()), grouped(facts.usage.output));
        let cached = grouped(facts.usage.cache_read);
        let values: [(&str, &dyn std::fmt::Display); 3] =
            [("input", &input), ("cached", &cached), ("output", &output)];
        let mut said = Text::TokensCached.say(self.language, &values);
        match facts.cost {
            Some(cost) => said.push_str(&format!(" · {}", money(cost))),
            None => said.push_str(&format!(" · {}", Text::NoPrice.template(self.language))),
        }
        self.say(&said);
    }

    /// Takes in that the files of the workspace were listed.
    pub(crate) fn files_listed(&mut self) {
        // Not listed anew: that would go on for ever in a folder that takes long.
        let files = self.files.known();
        self.offer(|_| files);
    }

    /// Brings up to date what is offered for the word at the caret.
    fn complete(&mut self, now: Instant) {
        self.offer(|files| files.list(now));
    }

    fn offer(&mut self, list: impl FnOnce(&mut Files) -> Arc<Vec<String>>) {
        let wanted = match self.composer.search() {
            Some(_) => None,
            None => complete::wanted(self.composer.text(), self.composer.caret()),
        };
        let Some((start, wanted)) = wanted else {
            self.composer.set_offer(None);
            return;
        };
        let files = match wanted {
            complete::Wanted::File(_) => list(&mut self.files),
            complete::Wanted::Command(_) => Arc::default(),
        };
        let offer = complete::offer(start, &wanted, &files, self.language);
        self.composer.set_offer(Some(offer));
    }
}

//! The state of an interactive session and what keys and updates make of it. Pure: the time is
//! given, and what is to be done is returned.

mod say;
mod sight;

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::ValueEnum;
use tenon_agent::{Answer, Delivery, Prompt, PromptQueue, Question, QueuedPrompt, Update};
use tenon_model::{ToolSpec, printable};
use tenon_sandbox::Conflicts;
use tokio::sync::oneshot;

use super::{
    approval::{Approval, Outcome},
    commands::{Act, INIT_PROMPT, THEMES, Typed, keep_theme, typed},
    composer::{Asked, Composer, complete, files::Files},
    conflict::ConflictQuestion,
    keyboard::{Event, KeyCode, KeyEvent, KeyModifiers},
    line::{Line, Wrap},
    own_command::Ended,
    picker::{self, Pick, Picker},
    status::Waiting,
    transcript::{Tail, Transcript},
};
use crate::{
    config::RuleBook,
    images::Pictures,
    masked::{asked, masked},
    question,
    render::Meaning,
    texts::{Language, Text},
    values::ThemeName,
};

/// How long Ctrl-C is remembered: a second one within it leaves.
const LEAVE_WITHIN: Duration = Duration::from_secs(3);

/// An interactive session.
pub(crate) struct App {
    pub transcript: Transcript,
    pub composer: Composer,
    pub language: Language,
    /// Prompts that wait for the next step or the end of the turn; the agent has the same queue.
    pub queue: PromptQueue,
    /// The question that is shown.
    pub approval: Option<(Approval, oneshot::Sender<Answer>)>,
    /// The question about files that were changed since what is undone.
    pub conflict: Option<ConflictQuestion>,
    /// The list to choose from that stands in the place of the composer.
    pub picker: Option<Picker>,
    /// What a person allowed since the session began, in a line each.
    pub allowed: Vec<String>,
    /// The names of models that are offered.
    pub models: Vec<String>,
    /// The person's own command that runs, with its last lines.
    pub own: Option<(String, Tail)>,
    /// Whether a turn is going on.
    pub is_running: bool,
    questions: VecDeque<(Question, oneshot::Sender<Answer>)>,
    /// What the model is told in front of the next prompt.
    notes: Vec<String>,
    files: Files,
    /// What finds the images of prompts.
    pub pictures: Option<Pictures>,
    tools: Vec<ToolSpec>,
    book: Arc<RuleBook>,
    /// How its file is named in a question.
    pub book_name: String,
    stopping: bool,
    /// An undo waits for another process, which Esc ends, too.
    pub waits_for_other: bool,
    /// When Ctrl-C was pressed with nothing to end.
    leaves: Option<Instant>,
    /// When a key was last for the draft, or for something else that is written.
    wrote: Option<Instant>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Carry out a prompt.
    Prompt(Prompt),
    /// Do what a command says, with the words behind its name.
    Command(Act, String),
    /// Do what was chosen from a list.
    Picked(Pick),
    /// Go on taking back as was answered; nothing is taken back if `None`.
    TakeBack(Option<Conflicts>),
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
            queue: PromptQueue::default(),
            approval: None,
            conflict: None,
            picker: None,
            allowed: Vec::new(),
            models: Vec::new(),
            own: None,
            is_running: false,
            questions: VecDeque::new(),
            notes: Vec::new(),
            files,
            pictures: None,
            tools,
            book_name: book.file().display().to_string(),
            book,
            stopping: false,
            waits_for_other: false,
            leaves: None,
            wrote: None,
        }
    }

    /// Takes in an event of the terminal that came at `now`.
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
    pub(crate) fn ask(&mut self, question: Question, answer: oneshot::Sender<Answer>) {
        self.questions.push_back((self.book.offered(question), answer));
        self.next_question();
    }

    /// Returns what a call waits for, if there is a question of it.
    pub(crate) fn waits(&self, call_id: &str) -> Option<Text> {
        let asks =
            self.approval.as_ref().is_some_and(|(shown, _)| shown.question.call_id == call_id);
        let mut queued = self.questions.iter().map(|(question, _)| &question.call_id);
        match asks {
            true => Some(Text::CallAsks),
            false => queued.any(|id| id == call_id).then_some(Text::CallQueued),
        }
    }

    /// Drops questions that were taken back, and shows the next.
    pub(crate) fn next_question(&mut self) {
        if self.approval.as_ref().is_some_and(|(_, answer)| answer.is_closed()) {
            self.approval = None;
        }
        self.questions.retain(|(_, answer)| !answer.is_closed());
        if self.approval.is_none()
            && let Some((question, answer)) = self.questions.pop_front()
        {
            let approval = Approval::new(question, self.book_name.clone(), self.has_draft());
            self.approval = Some((approval, answer));
        }
    }

    /// Returns when something happens without input.
    pub(crate) fn due(&self) -> Option<Instant> {
        let conflict = self.conflict.as_ref().and_then(ConflictQuestion::due);
        self.approval.as_ref().and_then(|(approval, _)| approval.due()).or(conflict)
    }

    /// Does what is due.
    pub(crate) fn settle(&mut self, now: Instant) -> Option<Effect> {
        if let Some((approval, _)) = &mut self.approval
            && let Some(answer) = approval.settle(now)
        {
            self.answer(answer);
        }
        let answer = self.conflict.as_mut()?.settle(now)?;
        self.conflict = None;
        Some(Effect::TakeBack(answer))
    }

    /// Takes in that a turn began.
    pub(crate) fn begin_turn(&mut self) {
        (self.is_running, self.stopping) = (true, false);
    }

    /// Takes in that the turn is over; returns the next prompt if one waits.
    pub(crate) fn end_turn(&mut self, cancelled: bool) -> Option<Prompt> {
        (self.is_running, self.stopping, self.waits_for_other) = (false, false, false);
        self.next_question();
        // Whoever cancels wants to say something else first: what waits stays where it is seen.
        if cancelled {
            self.take_queue_back();
            return None;
        }
        self.queue.take_first().map(|waits| waits.prompt)
    }

    /// Takes in that the person's own command is over.
    pub(crate) fn own_ended(&mut self, ended: &Ended) {
        self.own = None;
        let style = *self.transcript.style();
        let meaning = if ended.succeeded { Meaning::Done } else { Meaning::Error };
        let mut head = Line::of(Meaning::Name, &format!("! {} ", masked(&ended.command)));
        head.push(meaning, &ended.status);
        let mut lines = vec![head.cut(style.width)];
        lines.extend(masked(&ended.output).lines().map(|line| {
            let mut row = Line::of(Meaning::Aside, "│ ");
            row.push(Meaning::Plain, line);
            row
        }));
        self.transcript.say(&lines);
        self.notes.push(ended.for_model());
    }

    /// Says a sentence that is no part of the session; what is too long for a row goes on beneath its
    /// beginning.
    pub(crate) fn say(&mut self, text: &str) {
        self.say_as_it_is(&masked(text));
    }

    /// Says what was asked or allowed.
    pub(crate) fn say_asked(&mut self, text: &str) {
        self.say_as_it_is(&asked(text));
    }

    fn say_as_it_is(&mut self, text: &str) {
        let columns = self.transcript.style().width;
        let mut rows = Vec::new();
        for line in text.lines() {
            let words = line.trim_start();
            let first = Line::plain(&" ".repeat(line.len() - words.len()));
            let rest = if words.len() == line.len() {
                first.clone()
            } else {
                Line::plain(&" ".repeat(line.len() - words.len() + 2))
            };
            rows.extend(Line::plain(words).wrapped(columns, Wrap::Words, &first, &rest));
        }
        self.transcript.say(&rows);
    }

    /// Takes in what the model can call from now on.
    pub(crate) fn set_tools(&mut self, tools: Vec<ToolSpec>) {
        self.tools = tools;
    }

    /// Puts what waits back into the composer.
    pub(crate) fn take_queue_back(&mut self) {
        let waited: Vec<QueuedPrompt> = std::iter::from_fn(|| self.queue.take_first()).collect();
        let mut prompts: Vec<String> =
            waited.into_iter().rev().map(|waits| self.taken_back(waits)).collect();
        if prompts.is_empty() {
            return;
        }
        prompts.reverse();
        if !self.composer.is_empty() {
            prompts.push(self.composer.whole());
        }
        self.composer.set(&prompts.join("\n"));
    }

    /// Returns the words of a prompt that is not sent; what goes in front waits for the next one.
    fn taken_back(&mut self, waits: QueuedPrompt) -> String {
        self.notes.splice(0..0, waits.prompt.context);
        waits.prompt.text
    }

    /// Returns what is waited for, and since when.
    pub(crate) fn waiting(&self) -> (Waiting, Option<Instant>) {
        let (waiting, since) = self.transcript.waiting();
        match &self.approval {
            None if self.conflict.is_none() => (waiting.clone(), since),
            _ => (Waiting::Answer, None),
        }
    }

    fn press(&mut self, key: KeyEvent, now: Instant) -> Option<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control && self.picker.is_none() => return self.interrupt(now),
            KeyCode::Char('z') if control => return Some(Effect::Suspend),
            KeyCode::Char('o') if control => return Some(Effect::Transcript),
            KeyCode::Char('l') if control => return Some(Effect::Redraw),
            _ => self.leaves = None,
        }
        if let Some(conflict) = &mut self.conflict {
            let letters = conflict.press(key, now);
            self.composer.type_in(&letters);
            return None;
        }
        if let Some((approval, _)) = &mut self.approval {
            if approval.words().is_some() {
                self.wrote = Some(now);
            }
            let outcome = approval.press(key, now);
            self.answered(outcome);
            return None;
        }
        self.wrote = Some(now);
        if let Some(picker) = &mut self.picker {
            match picker.press(key, now) {
                picker::Outcome::Stays => return None,
                picker::Outcome::Left => self.picker = None,
                picker::Outcome::Picked(pick) => {
                    self.picker = None;
                    return Some(Effect::Picked(pick));
                }
            }
            return None;
        }
        match key.code {
            KeyCode::Char('g') if control && self.composer.search().is_none() => {
                return Some(Effect::Edit);
            }
            KeyCode::Char('d') if control && self.composer.is_empty() && !self.is_running => {
                return Some(Effect::Leave(Leave::Finished));
            }
            KeyCode::Esc if self.waits_for_other && !self.stopping => return self.interrupt(now),
            _ => {}
        }
        match self.composer.press(key) {
            Asked::Send(text) => self.send(text, Delivery::NextStep),
            Asked::SendLater(text) => self.send(text, Delivery::AfterTurn),
            Asked::Above => {
                match self.queue.take_last() {
                    Some(last) => {
                        let text = self.taken_back(last);
                        self.composer.set(&text);
                    }
                    None => self.composer.older(true),
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
            self.answered(outcome);
            return;
        }
        if let Some(conflict) = &mut self.conflict {
            let letters = conflict.paste(text, now);
            self.composer.type_in(&letters);
        } else if let Some(picker) = &mut self.picker {
            picker.paste(text);
        } else {
            self.compose_pasted(text);
        }
    }

    /// Takes in a paste; what names an image stands as the image's name.
    fn compose_pasted(&mut self, text: &str) {
        match self.pictures.as_ref().and_then(|pictures| pictures.pasted(text)) {
            Some(name) => {
                let before = self.composer.text().get(..self.composer.caret()).unwrap_or_default();
                let is_apart = before.is_empty() || before.ends_with(char::is_whitespace);
                self.composer.paste(&format!("{}{name} ", if is_apart { "" } else { " " }));
            }
            None => self.composer.paste(text),
        }
    }

    fn answered(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Stands(letters) => self.composer.type_in(&letters),
            Outcome::Answered(answer) => self.answer(answer),
        }
    }

    fn answer(&mut self, answer: Answer) {
        if answer == Answer::AllowAlways && !self.keep_rule() {
            return;
        }
        if let Some((approval, sender)) = self.approval.take() {
            let allowed = question::allowed(&approval.question, &answer, &self.book, self.language);
            self.allowed.extend(allowed);
            // Nobody waits any more: the turn was cancelled at the same moment.
            let _ = sender.send(answer);
        }
        self.next_question();
    }

    /// Writes the rule of the question for later sessions; the question stands if it cannot.
    fn keep_rule(&mut self) -> bool {
        let Some((approval, _)) = &self.approval else { return false };
        match question::keep(&approval.question, &self.book) {
            Ok(rule) => {
                let values: [(&str, &dyn std::fmt::Display); 2] =
                    [("rule", &rule), ("file", &self.book_name)];
                self.say_asked(&Text::AskKept.say(self.language, &values));
                true
            }
            Err(error) => {
                let error = error.say(self.language);
                self.say(&Text::AskNotKept.say(self.language, &[("error", &error)]));
                false
            }
        }
    }

    /// Ctrl-C: ends what runs, then clears the draft, then leaves.
    fn interrupt(&mut self, now: Instant) -> Option<Effect> {
        if self.conflict.take().is_some() {
            return Some(Effect::TakeBack(None));
        }
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

    /// Does what was typed; a prompt waits for its `delivery` while a turn goes on.
    fn send(&mut self, text: String, delivery: Delivery) -> Option<Effect> {
        self.composer.remember(&text);
        match typed(&text) {
            Typed::Nothing => None,
            Typed::Command(act, words) => self.command(act, words, &text),
            Typed::Unknown(name) => {
                self.say(&Text::UnknownCommand.say(self.language, &[("name", &name)]));
                None
            }
            Typed::NoneOf(all) => {
                self.say_names(all);
                None
            }
            Typed::Own(command) if self.own.is_none() => Some(Effect::RunOwn(command)),
            Typed::Own(_) => {
                self.composer.set(&text);
                None
            }
            Typed::Prompt(prompt) => self.say_to_model(prompt, delivery),
        }
    }

    /// Sends a prompt with what the model is to know in front of it, or has it wait while a turn goes
    /// on.
    fn say_to_model(&mut self, text: String, delivery: Delivery) -> Option<Effect> {
        let found = self.pictures.as_ref().map(|pictures| pictures.named_in(&text)).transpose();
        let images = match found {
            Ok(images) => images.unwrap_or_default(),
            Err(said) => {
                self.say(&said);
                self.composer.set(&text);
                return None;
            }
        };
        let prompt = Prompt { text, images, context: std::mem::take(&mut self.notes) };
        if !self.is_running {
            return Some(Effect::Prompt(prompt));
        }
        if let Err(prompt) = self.queue.push(prompt, delivery) {
            let text = self.taken_back(QueuedPrompt { prompt, delivery });
            self.composer.set(&text);
        }
        None
    }

    /// Does what a command says as far as the screen knows it; `typed` is how it was written.
    fn command(&mut self, act: Act, words: String, typed: &str) -> Option<Effect> {
        if self.is_running && act.needs_end_of_turn() {
            self.composer.set(typed);
            self.say(Text::AfterTheTurn.template(self.language));
            return None;
        }
        match act {
            Act::Help => self.say_help(),
            Act::Tools => self.say_tools(),
            Act::Transcript => return Some(Effect::Transcript),
            Act::Copy if self.transcript.answer().trim().is_empty() => {
                self.say(Text::NothingToCopy.template(self.language));
            }
            Act::Copy => {
                self.say(Text::Copied.template(self.language));
                return Some(Effect::Copy(printable(self.transcript.answer().trim())));
            }
            Act::Init => return self.say_to_model(INIT_PROMPT.to_owned(), Delivery::AfterTurn),
            Act::Theme => return self.choose_theme(&words),
            Act::Quit => return Some(Effect::Leave(Leave::Finished)),
            act => return Some(Effect::Command(act, words)),
        }
        None
    }

    fn say_names(&mut self, names: &[&str]) {
        self.say(&Text::ThereAre.say(self.language, &[("names", &names.join(", "))]));
    }

    fn choose_theme(&mut self, name: &str) -> Option<Effect> {
        let Ok(theme) = ThemeName::from_str(name, true) else {
            self.say_names(THEMES);
            return None;
        };
        self.say(&keep_theme(&self.book, theme, self.language));
        Some(Effect::Theme(theme))
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
            complete::Wanted::Command(_) | complete::Wanted::Argument(..) => Arc::default(),
        };
        let offer = complete::offer(start, &wanted, (&files, &self.models), self.language);
        self.composer.set_offer(Some(offer));
    }
}

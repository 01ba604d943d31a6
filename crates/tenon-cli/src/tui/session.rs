//! The loop of the interactive session, and everything of it that acts: reads keys, writes to the
//! terminal, runs the agent.

mod aside;
mod commands;
mod errand;
mod hold;
mod past;
mod pick;
mod told;

use std::{
    collections::VecDeque,
    ffi::OsString,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use tenon_agent::{Agent, AgentOptions, EndReason, LogError, Prompt, Sandbox, TurnOutcome};
use tenon_model::{Pulse, base64, visible};
use tenon_sandbox::Workspace;
use tokio::{
    signal::unix::{Signal as WindowChange, SignalKind, signal},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::sleep_until,
};

pub(crate) use self::pick::model_about;
use self::{
    errand::{Errand, back},
    past::TakingBack,
};
use super::{
    app::{App, Effect, Leave},
    composer::{Composer, files::Files, history::History},
    editor::Editor,
    frame::frame,
    front::{Front, Said},
    keyboard::{Came, Event, Keyboard},
    outside::Outside,
    own_command::OwnCommand,
    pager::{Pager, Stays},
    status::Facts,
    surface::Surface,
    surroundings::{branch, size, welcome},
    takeover::{self, Takeover},
    transcript::Transcript,
    waits::{Turn, edited, finished, next_event, next_size, next_step},
};
use crate::{
    args::SessionArgs,
    config::{Config, RuleBook},
    error::ExitStatus,
    images::Pictures,
    interactive::UNDO_COMPACTION,
    jobs,
    past::Past,
    resume,
    screen::{Look, Sink},
    setup::{self, KnownModel},
    signals::{Interrupts, TurnGuard},
    texts::Text,
    values::ThemeName,
};

/// The least time between two drawings while text streams in; keys are drawn at once.
const FRAME_EVERY: Duration = Duration::from_millis(33);
/// How often the time of a running step is drawn.
const CLOCK_EVERY: Duration = Duration::from_secs(1);
/// Updates taken in before the next drawing: keys must not wait behind a flood of them.
const UPDATES_AT_ONCE: usize = 256;
/// Events of the keyboard taken in before the next drawing, so that a burst is drawn once.
const KEYS_AT_ONCE: usize = 1_024;

/// What is around a session.
pub(crate) struct Place<'a> {
    /// The file of earlier prompts.
    pub history: Option<PathBuf>,
    /// Where sessions are logged.
    pub sessions: PathBuf,
    /// Where a draft lies while it is edited.
    pub drafts: PathBuf,
    /// The person's editor.
    pub editor: String,
    /// The environment of the person's own commands.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether the terminal breaks lines anew when it gets narrower.
    pub reflows: bool,
    /// Where an answer "always" is written.
    pub book: Arc<RuleBook>,
    /// The terminal, and what is wanted of it.
    pub outside: Outside,
    /// What can be undone, if anything is recorded.
    pub past: Option<Past>,
    /// What was typed to the session before this one.
    pub typed: VecDeque<Event>,
    /// What was said from outside, for commands that change what the session is made of.
    pub config: &'a Config,
    pub args: &'a SessionArgs,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The program ends with this.
    With(ExitStatus),
    /// Another session is wanted, with what was chosen in this one.
    For(Another, Choices),
}

/// What was chosen in a session and holds for the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Choices {
    /// The model that was changed to, as it was named.
    pub model: Option<String>,
    pub theme: Option<ThemeName>,
    /// What was typed behind the command that ended it.
    pub typed: VecDeque<Event>,
}

/// Which session comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Another {
    New,
    /// The one with this id.
    Resumed(String),
    /// One that leaves the one with this id as it is.
    ForkOf(String),
}

/// The session while it runs.
struct Session<'a> {
    app: App,
    surface: Surface,
    place: Place<'a>,
    workspace: Workspace,
    past: Option<Arc<Past>>,
    sandbox: Sandbox,
    session_id: String,
    said: UnboundedReceiver<Said>,
    sender: UnboundedSender<Said>,
    interrupts: &'a Interrupts,
    guard: TurnGuard,
    takeover: Option<Takeover>,
    /// The keyboard; nobody listens while an editor has it.
    keyboard: Option<Keyboard>,
    /// What was typed and nobody took, while nobody listens.
    typed: VecDeque<Event>,
    resized: Option<WindowChange>,
    continued: Option<WindowChange>,
    /// Whether the program stopped itself, and takes the terminal again by itself.
    was_suspended: bool,
    agent: Option<Agent>,
    turn: Option<Turn>,
    errand: Option<Errand<'a>>,
    /// Whether the errand is not to be given up: half of what it does would be done.
    changes_files: bool,
    /// What waits for an answer about files that were changed since.
    taking_back: Option<TakingBack>,
    /// The model that is asked.
    asked: KnownModel,
    began_with: KnownModel,
    choices: Choices,
    /// The session whose prompts were asked for last.
    previewing: Option<String>,
    own: Option<OwnCommand>,
    editor: Option<Editor>,
    pager: Option<Pager>,
    ending: Option<Ended>,
    /// The log could not be written: the session is over.
    failed: Option<LogError>,
    /// When it is drawn next, if something changed.
    draws_at: Option<Instant>,
    drawn_at: Instant,
}

/// Runs a session until the person ends it.
///
/// # Errors
/// If the log cannot be written.
pub(crate) async fn run<'a>(
    mut options: AgentOptions,
    look: Look,
    mut place: Place<'a>,
    interrupts: &'a Interrupts,
) -> Result<Ended, LogError> {
    let (sender, said) = unbounded_channel();
    options.front = Arc::new(Front(sender.clone()));
    let language = look.language;
    let session_id = options.log.as_ref().map(|log| log.id().to_owned()).unwrap_or_default();
    let (workspace, sandbox) = (options.workspace.clone(), options.sandbox.clone());
    let mut app = screen(&options, look, &place, &sender);
    options.queue = app.queue.clone();
    app.pictures = Some(Pictures::of(&options, language));
    let asked = KnownModel::of(&*options.provider, options.context_window_tokens);
    let agent = Agent::new(options)?;
    takeover::keep_panics(Text::AfterPanic.say(language, &[("id", &session_id)]));
    let mut session = Session {
        app,
        surface: Surface::new(place.reflows),
        past: place.past.take().map(Arc::new),
        typed: std::mem::take(&mut place.typed),
        place,
        workspace,
        sandbox,
        session_id,
        said,
        sender,
        interrupts,
        guard: interrupts.turn(),
        takeover: None,
        keyboard: None,
        resized: signal(SignalKind::window_change()).ok(),
        continued: signal(SignalKind::from_raw(Signal::CONT.as_raw())).ok(),
        was_suspended: false,
        agent: Some(agent),
        turn: None,
        errand: None,
        changes_files: false,
        taking_back: None,
        began_with: asked.clone(),
        asked,
        choices: Choices::default(),
        previewing: None,
        own: None,
        editor: None,
        pager: None,
        ending: None,
        failed: None,
        draws_at: None,
        drawn_at: Instant::now(),
    };
    session.take_terminal();
    session.draw();
    session.ask_terminal();
    let mut ended = session.go().await;
    session.give_terminal_back();
    if let Ok(Ended::For(_, choices)) = &mut ended {
        choices.typed = std::mem::take(&mut session.typed);
    }
    let logged = match &mut session.agent {
        Some(agent) => agent.end_jobs().await,
        None => Ok(()),
    };
    if let Some(said) = jobs::ended(&session.sandbox.jobs().stop_all().await, language) {
        session.write(&said);
    }
    ended.and_then(|ended| logged.map(|()| ended))
}

/// Returns the screen with what is said first.
fn screen(
    options: &AgentOptions,
    look: Look,
    place: &Place<'_>,
    sender: &UnboundedSender<Said>,
) -> App {
    let language = look.language;
    let (history, warning) = History::open(place.history.clone());
    let listed = sender.clone();
    let listed = Arc::new(move || drop(listed.send(Said::FilesListed)));
    let mut app = App::new(
        Transcript::new(look.style(Sink::Output), facts(options, place.config.network.pulse())),
        Composer::new(history, language),
        Files::new(options.workspace.clone(), listed),
        options.tools.specs(),
        Arc::clone(&place.book),
        language,
    );
    let columns = app.transcript.style().width;
    let lines = welcome(&app.transcript.facts.model, &options.workspace, columns, language);
    app.transcript.say(&lines);
    if let Some(session) = &options.resumed {
        app.transcript.add_drawn(&resume::told(session, &look));
    }
    if let Some(error) = warning {
        app.say(&Text::HistoryFailed.say(language, &[("error", &error)]));
    }
    let models = setup::known_models(place.config);
    app.models = models.into_iter().map(|model| model.name).collect();
    app
}

fn facts(options: &AgentOptions, pulse: Pulse) -> Facts {
    let window_tokens = options.provider.abilities().context_window_tokens;
    let mut facts = Facts {
        model: visible(options.provider.model()).into_owned(),
        window_tokens: options.context_window_tokens.unwrap_or(window_tokens),
        branch: branch(&options.workspace),
        is_confined: options.sandbox.is_confined(),
        mode: options.mode,
        pulse,
        ..Facts::default()
    };
    // What a session that goes on used before is a part of what it costs, whatever became of it.
    if let Some(session) = &options.resumed {
        for record in &session.records {
            facts.spending.take(&record.event);
        }
        session.branch().for_each(|record| facts.take_in_context(&record.event));
    }
    // The walls are this process's own.
    facts.tier = None;
    facts
}

impl<'a> Session<'a> {
    async fn go(&mut self) -> Result<Ended, LogError> {
        loop {
            let timer = self.timer();
            let now_is = tokio::select! {
                biased;
                came = next_event(self.keyboard.as_mut()) => {
                    self.keys_pressed(came);
                    Happened::Keys
                }
                () = next_size(self.resized.as_mut()) => {
                    if self.pager.is_some() {
                        self.show_transcript();
                    }
                    Happened::Keys
                }
                () = next_size(self.continued.as_mut()) => {
                    self.continued();
                    Happened::Keys
                }
                outcome = finished(self.turn.as_mut()) => {
                    let (agent, outcome) = outcome;
                    self.turn = None;
                    self.agent = Some(agent);
                    self.turn_ended(outcome?);
                    Happened::Keys
                }
                done = back(self.errand.as_mut()) => {
                    self.came_back(done);
                    Happened::Keys
                }
                Some(said) = self.said.recv() => {
                    self.take_in(said);
                    Happened::Update
                }
                step = next_step(self.own.as_mut()) => {
                    self.own_went_on(step);
                    Happened::Update
                }
                text = edited(self.editor.as_mut()) => {
                    self.edited(text);
                    Happened::Keys
                }
                () = self.guard.cancel.cancelled() => {
                    self.signalled();
                    Happened::Keys
                }
                () = sleep_until(timer.unwrap_or_else(Instant::now).into()), if timer.is_some() => {
                    if let Some(effect) = self.app.settle(Instant::now()) {
                        self.perform(effect);
                    }
                    Happened::Keys
                }
            };
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if let Some(ended) = self.ending.take() {
                self.end_turn_quietly().await;
                return Ok(ended);
            }
            self.draw_when_due(now_is);
        }
    }

    /// Returns when something is to be done without anything happening.
    fn timer(&self) -> Option<Instant> {
        let waits = self.app.is_running || self.own.is_some();
        let clock = waits.then(|| self.drawn_at + CLOCK_EVERY);
        [self.draws_at, self.app.due(), clock].into_iter().flatten().min()
    }

    fn draw_when_due(&mut self, happened: Happened) {
        let due = self.drawn_at + FRAME_EVERY;
        if happened == Happened::Keys || Instant::now() >= due {
            self.draw();
        } else {
            self.draws_at = Some(due);
        }
    }

    fn draw(&mut self) {
        let now = Instant::now();
        (self.draws_at, self.drawn_at) = (None, now);
        if self.takeover.is_none() {
            return;
        }
        if !takeover::is_ours() {
            self.surface.forget();
            self.take_terminal();
        }
        for panic in takeover::take_panics() {
            self.app.say(&Text::PanicCaught.say(self.app.language, &[("panic", &panic)]));
        }
        let size = size();
        let style = *self.app.transcript.style();
        let text = match &mut self.pager {
            Some(pager) => pager.draw(size, &style, self.app.transcript.facts.is_confined),
            None => {
                self.app.transcript.set_columns(size.columns);
                self.app.composer.set_columns(size.columns.saturating_sub(2));
                let finished = self.app.transcript.take_finished();
                let frame = frame(&self.app, size, now);
                self.surface.draw(size, &finished, &frame, &style)
            }
        };
        self.write(&text);
        if self.pager.is_none() {
            self.app.shown(Instant::now());
        }
    }

    fn write(&mut self, text: &str) {
        // Nobody is there any more to be shown anything.
        if takeover::write(text).is_err() {
            self.ending = Some(Ended::With(ExitStatus::Failed));
        }
    }

    /// Takes in an event, and those that came with it, so that a burst of keys is drawn once.
    fn keys_pressed(&mut self, came: Came) {
        self.key_pressed(came);
        for _ in 0..KEYS_AT_ONCE {
            // What follows is for the next session.
            let keyboard = self.keyboard.as_mut().filter(|_| self.ending.is_none());
            let Some(came) = keyboard.and_then(Keyboard::ready) else { return };
            self.key_pressed(came);
        }
    }

    fn key_pressed(&mut self, Came { event, at }: Came) {
        let Some(event) = self.told(event) else { return };
        if let Some(pager) = &mut self.pager {
            match event {
                Event::Key(key) if pager.press(key, size()) == Stays::Closed => self.close_pager(),
                Event::Gone => self.perform(Effect::Leave(Leave::Gone)),
                _ => {}
            }
            return;
        }
        if let Some(effect) = self.app.event(event, at) {
            self.perform(effect);
        }
        self.ask_for_preview();
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Prompt(prompt) => self.begin_turn(prompt),
            Effect::Command(act, words) => self.command(act, words),
            Effect::Picked(pick) => self.picked(pick),
            Effect::TakeBack(answer) => self.answered(answer),
            Effect::Cancel if self.errand.is_some() => self.give_up_errand(),
            Effect::Cancel => self.guard.cancel.cancel(),
            Effect::RunOwn(command) => self.run_own(&command),
            Effect::StopOwn => {
                if let Some(own) = &self.own {
                    own.stop();
                }
            }
            Effect::Leave(leave) => {
                self.ending = Some(match leave {
                    Leave::Finished => Ended::With(ExitStatus::Finished),
                    Leave::Interrupted => Ended::With(ExitStatus::Interrupted),
                    Leave::Gone => Ended::With(ExitStatus::Failed),
                });
            }
            Effect::Suspend => self.suspend(),
            Effect::Edit => self.edit(),
            Effect::Transcript => self.show_transcript(),
            Effect::Copy(text) => {
                self.write(&format!("\u{1b}]52;c;{}\u{7}", base64::encode(text.as_bytes())));
            }
            Effect::Theme(theme) => self.choose_theme(theme),
            Effect::Redraw => {
                let cleared = self.surface.clear();
                self.write(&cleared);
            }
        }
    }

    fn begin_turn(&mut self, prompt: Prompt) {
        let Some(mut agent) = self.agent.take() else { return };
        self.guard.renew(self.interrupts);
        let cancel = self.guard.cancel.clone();
        self.app.begin_turn();
        self.turn = Some(Box::pin(async move {
            let outcome = agent.prompt(prompt, &cancel).await;
            (agent, outcome.map(Some))
        }));
    }

    fn compact(&mut self, focus: Option<String>) {
        let Some(mut agent) = self.agent.take() else { return };
        if focus.as_deref() == Some(UNDO_COMPACTION) {
            match agent.undo_compaction() {
                Ok(true) => {}
                Ok(false) => self.app.say(Text::NoCompaction.template(self.app.language)),
                Err(error) => self.failed = Some(error),
            }
            self.agent = Some(agent);
            return;
        }
        self.guard.renew(self.interrupts);
        let cancel = self.guard.cancel.clone();
        self.app.begin_turn();
        self.app.transcript.begin(Instant::now());
        self.turn = Some(Box::pin(async move {
            let outcome = agent.compact(focus.as_deref(), &cancel).await;
            (agent, outcome.map(|()| None))
        }));
    }

    fn turn_ended(&mut self, outcome: Option<TurnOutcome>) {
        while let Ok(said) = self.said.try_recv() {
            self.take_in_one(said);
        }
        self.app.transcript.facts.branch = branch(&self.workspace);
        self.app.transcript.end(Instant::now());
        if let Some(said) = jobs::running(&self.sandbox.jobs().running(), self.app.language) {
            self.app.say(&said);
        }
        let cancelled = outcome.is_some_and(|outcome| outcome.reason == EndReason::Cancelled);
        if self.interrupts.leaving() {
            self.ending = Some(Ended::With(ExitStatus::Interrupted));
            return;
        }
        self.guard.renew(self.interrupts);
        if let Some(prompt) = self.app.end_turn(cancelled) {
            self.begin_turn(prompt);
        } else {
            self.notify(Text::NotifyEnded);
        }
    }

    fn take_in(&mut self, said: Said) {
        self.take_in_one(said);
        for _ in 0..UPDATES_AT_ONCE {
            let Ok(said) = self.said.try_recv() else { return };
            self.take_in_one(said);
        }
    }

    fn take_in_one(&mut self, said: Said) {
        let now = Instant::now();
        match said {
            Said::Update(update) => self.app.update(&update, now),
            Said::Asked(question, answer) => {
                self.app.ask(*question, answer);
                self.notify(Text::NotifyAsks);
            }
            Said::Withdrawn => self.app.next_question(),
            Said::FilesListed => self.app.files_listed(),
            Said::Previewed(id, lines) => {
                if let Some(picker) = &mut self.app.picker {
                    picker.set_preview(&id, lines);
                }
            }
            Said::Waits(process) => self.waits(process),
            Said::Drawn(rows) => self.app.transcript.say(&rows),
        }
    }

    /// A signal came. One that ends the program gives the terminal back at once: whatever is still
    /// to be ended, a second signal may then end the program as it is.
    fn signalled(&mut self) {
        if self.interrupts.leaving() {
            self.give_terminal_back();
            self.ending = Some(Ended::With(ExitStatus::Interrupted));
        } else {
            // A turn that runs has the token that was cancelled; the next signal is another one.
            self.guard.renew(self.interrupts);
        }
    }

    async fn end_turn_quietly(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        self.give_terminal_back();
        self.guard.cancel.cancel();
        let _ = turn.await;
    }
}

/// What made the loop go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Happened {
    /// Something that a person waits to see.
    Keys,
    /// Something of which more follows.
    Update,
}

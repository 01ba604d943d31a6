//! One prompt after another in one session, in plain lines: for every terminal, also a dumb one,
//! and for screen readers.
//!
//! It knows the commands of the session that is redrawn (`tui`), and asks by number what that one
//! has chosen from a list. A turn's Ctrl-C comes back to the prompt.

mod choose;
mod commands;
mod lines;
mod undo;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tenon_agent::{
    Agent, AgentOptions, Answer, FrontEnd, LogError, Prompt, Question, Sandbox, Update,
};
use tenon_model::{ToolSpec, visible};
use tenon_sandbox::Workspace;

pub(crate) use self::lines::{HISTORY_LINES_MAX, create_private};
use self::lines::{Line, Lines};
use crate::{
    config::RuleBook,
    error::ExitStatus,
    headless::carry_out,
    images::Pictures,
    jobs, question,
    render::failure,
    resume,
    screen::{Look, Screen, Sink, print_error},
    setup::KnownModel,
    signals::Interrupts,
    texts::{Language, Text},
    tui::{
        Choices, Ended, OwnCommand, Place, Step,
        commands::{Typed, typed},
    },
};

/// Behind `/compact`: the last compaction is undone.
pub(crate) const UNDO_COMPACTION: &str = "undo";

/// Shows the session and asks its questions.
struct Terminal {
    screen: Screen,
    asks: bool,
    book: Arc<RuleBook>,
    /// What a person allowed since the session began, in a line each.
    allowed: Mutex<Vec<String>>,
}

/// The session while it runs.
struct Session<'a> {
    agent: Agent,
    front: Arc<Terminal>,
    lines: Lines,
    place: Place<'a>,
    look: Look,
    workspace: Workspace,
    session_id: String,
    tools: Vec<ToolSpec>,
    sandbox: Sandbox,
    pictures: Pictures,
    is_confined: bool,
    /// The model that is asked.
    asked: KnownModel,
    began_with: KnownModel,
    choices: Choices,
    /// What the model is told in front of the next prompt.
    notes: Vec<String>,
    /// The last answer.
    answer: String,
    interrupts: &'a Interrupts,
}

/// Runs a session until the person ends it or wants another one.
///
/// # Errors
/// If the log cannot be written.
pub(crate) async fn run(
    mut options: AgentOptions,
    look: Look,
    place: Place<'_>,
    interrupts: &Interrupts,
) -> Result<Ended, LogError> {
    let screen = Screen::new(Sink::Output, look);
    let front = Arc::new(Terminal {
        asks: question::can_ask(&screen),
        screen,
        book: Arc::clone(&place.book),
        allowed: Mutex::default(),
    });
    options.front = Arc::clone(&front) as Arc<dyn FrontEnd>;
    let language = look.language;
    front.screen.say(&welcome(&options, language));
    if let Some(session) = &options.resumed {
        front.screen.say(&resume::told(session, &look));
    }
    let lines = match Lines::new(place.history.clone()) {
        Ok((lines, None)) => lines,
        Ok((lines, Some(error))) => {
            let said = Text::HistoryFailed.say(language, &[("error", &error)]);
            front.screen.say(&format!("{said}\n"));
            lines
        }
        Err(error) => {
            print_error(&failure(&error.to_string(), None, &look.style(Sink::Error)));
            return Ok(Ended::With(ExitStatus::Failed));
        }
    };
    let asked = KnownModel::of(&*options.provider, options.context_window_tokens);
    let mut session = Session {
        front,
        lines,
        place,
        look,
        workspace: options.workspace.clone(),
        session_id: options.log.as_ref().map(|log| log.id().to_owned()).unwrap_or_default(),
        tools: options.tools.specs(),
        sandbox: options.sandbox.clone(),
        pictures: Pictures::of(&options, language),
        is_confined: options.sandbox.is_confined(),
        asked: asked.clone(),
        began_with: asked,
        choices: Choices::default(),
        notes: Vec::new(),
        answer: String::new(),
        interrupts,
        agent: Agent::new(options)?,
    };
    let ended = session.converse().await;
    let logged = session.agent.end_jobs().await;
    if let Some(said) = jobs::ended(&session.sandbox.jobs().stop_all().await, language) {
        session.front.screen.say(&said);
    }
    if session.front.screen.output_failed() {
        return ended.map(|_| Ended::With(ExitStatus::Failed));
    }
    ended.and_then(|ended| logged.map(|()| ended))
}

impl Session<'_> {
    /// Carries out what is typed, line by line, until the person ends it.
    async fn converse(&mut self) -> Result<Ended, LogError> {
        let mut interrupted = false;
        while !self.interrupts.leaving() {
            if !self.is_confined {
                self.front.screen.say_unconfined();
            }
            let line = match self.lines.next().await {
                Line::End => return Ok(Ended::With(ExitStatus::Finished)),
                Line::Interrupted if interrupted => {
                    return Ok(Ended::With(ExitStatus::Interrupted));
                }
                Line::Interrupted => {
                    interrupted = true;
                    self.say(Text::LeaveHint);
                    continue;
                }
                Line::Text(line) => line,
            };
            interrupted = false;
            if let Some(ended) = self.take_in(&line).await? {
                return Ok(ended);
            }
            if self.front.screen.reader_gone() {
                return Ok(Ended::With(ExitStatus::Failed));
            }
        }
        Ok(Ended::With(ExitStatus::Interrupted))
    }

    async fn take_in(&mut self, line: &str) -> Result<Option<Ended>, LogError> {
        let line = line.replace("\\\n", "\n");
        match typed(&line) {
            Typed::Nothing => {}
            Typed::Command(act, words) => return self.command(act, words).await,
            Typed::Unknown(name) => {
                let name = visible(&name);
                self.say_line(&Text::UnknownCommand.say(self.look.language, &[("name", &name)]));
            }
            Typed::NoneOf(all) => self.say_names(all),
            Typed::Own(command) => self.run_own(&command).await,
            Typed::Prompt(prompt) => self.send(prompt).await?,
        }
        Ok(None)
    }

    /// Carries out a prompt with the images that it names, or says why they cannot be sent.
    async fn send(&mut self, text: String) -> Result<(), LogError> {
        let images = match self.pictures.named_in(&text) {
            Ok(images) => images,
            Err(said) => {
                self.say_line(&said);
                return Ok(());
            }
        };
        self.front.screen.say("");
        let prompt = Prompt { text, images, context: std::mem::take(&mut self.notes) };
        let screen = &self.front.screen;
        let outcome = carry_out(&mut self.agent, prompt, screen, self.interrupts).await?;
        if !outcome.answer.trim().is_empty() {
            outcome.answer.trim().clone_into(&mut self.answer);
        }
        if let Some(said) = jobs::running(&self.sandbox.jobs().running(), self.look.language) {
            screen.say(&said);
        }
        Ok(())
    }

    /// Runs a command of the person's own, whose output the model sees with the next prompt.
    async fn run_own(&mut self, command: &str) {
        if let Some(said) = jobs::beside(&self.sandbox, self.look.language) {
            self.front.screen.say(&said);
        }
        // Before it runs: Ctrl-C is the command's from its first moment.
        let guard = self.interrupts.turn();
        let started = OwnCommand::start(command, self.workspace.root(), &self.place.environment);
        let mut own = match started {
            Ok(own) => own,
            Err(error) => return self.say_line(&format!("bash: {error}")),
        };
        let mut is_stopped = false;
        loop {
            let step = tokio::select! {
                step = own.next() => step,
                () = guard.cancel.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    own.stop();
                    continue;
                }
            };
            match step {
                Step::Printed(text) => self.front.screen.say(&visible(&text)),
                Step::Ended(ended) => {
                    let line_end = if ended.output.ends_with('\n') { "" } else { "\n" };
                    let (command, status) = (visible(&ended.command), &ended.status);
                    self.front.screen.say(&format!("{line_end}! {command} {status}\n"));
                    self.notes.push(ended.for_model());
                    return;
                }
            }
        }
    }

    fn say(&self, text: Text) {
        self.say_line(text.template(self.look.language));
    }

    fn say_line(&self, line: &str) {
        self.front.screen.say(&format!("{}\n", line.trim_end()));
    }

    fn say_names(&self, names: &[&str]) {
        self.say_line(&Text::ThereAre.say(self.look.language, &[("names", &names.join(", "))]));
    }
}

fn welcome(options: &AgentOptions, language: Language) -> String {
    let model = visible(options.provider.model()).into_owned();
    let folder = options.workspace.root().to_string_lossy();
    let folder = visible(&folder);
    let version = env!("CARGO_PKG_VERSION");
    let values: [(&str, &dyn std::fmt::Display); 3] =
        [("version", &version), ("model", &model), ("folder", &folder)];
    let first = Text::Welcome.say(language, &values);
    format!("{first}\n{}\n", Text::WelcomeHelp.template(language))
}

#[async_trait]
impl FrontEnd for Terminal {
    fn update(&self, update: Update) {
        self.screen.show(&update);
    }

    async fn ask(&self, question: Question) -> Answer {
        if !self.asks {
            return Answer::Nobody;
        }
        let answer = question::ask(&question, &self.screen, &self.book).await;
        let lines = question::allowed(&question, &answer, &self.book, self.screen.language());
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
        answer
    }

    fn has_person(&self) -> bool {
        self.asks
    }
}

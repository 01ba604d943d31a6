//! One prompt, one turn, one exit code: text for people, or JSON for programs.
//!
//! Without `-p` the run is shown as it happens. With `-p` standard output gets the answer and
//! nothing else; what happens is shown on standard error if somebody reads it there. A question
//! is asked only in text and only on a terminal.

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use tenon_agent::{
    Agent, AgentOptions, Answer, EndReason, FrontEnd, LogError, ModelEvent, Prompt, Question,
    Session, SessionEvent, TurnOutcome, Update,
};
use tenon_model::visible;

use crate::{
    args::OutputFormat,
    config::RuleBook,
    error::{CliError, ExitStatus},
    jobs,
    json::{self, Failure, FailureKind, Of, RefusedCalls},
    masked::masked,
    print::say_notices,
    question,
    screen::{Look, Screen, Sink, print_error},
    signals::Interrupts,
    texts::Text,
};

/// How a run is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    /// What standard output gets.
    pub format: OutputFormat,
    /// Whether text is the answer alone.
    pub answer_only: bool,
    /// How it looks.
    pub look: Look,
}

struct Headless {
    format: OutputFormat,
    screen: Screen,
    /// Whether what happens is shown on the screen, or only what goes wrong.
    shows: bool,
    asks: bool,
    book: RuleBook,
    failure: Mutex<Option<Failure>>,
    refused: Mutex<RefusedCalls>,
}

/// Carries out `prompt` in a session of its own.
///
/// # Errors
/// If the log cannot be written.
pub(crate) async fn run(
    mut options: AgentOptions,
    prompt: Prompt,
    shown: Shown,
    book: RuleBook,
    interrupts: &Interrupts,
) -> Result<ExitStatus, LogError> {
    let of = Of {
        session_id: options.log.as_ref().map(|log| log.id().to_owned()).unwrap_or_default(),
        forked_from: options.resumed.as_ref().and_then(Session::forked_from).map(str::to_owned),
    };
    let front = Arc::new(Headless::new(shown, book));
    options.front = Arc::clone(&front) as Arc<dyn FrontEnd>;
    options.jobs_end_with_turn = true;
    if !options.sandbox.is_confined() {
        front.screen.say_unconfined();
    }
    let skipped = options.resumed.as_ref().map_or(0, |session| session.skipped);
    // Else the event that says so is shown or printed.
    if skipped > 0 && !front.shows && shown.format != OutputFormat::StreamJson {
        say_notices(&[Text::LinesLeftOut.with(&[("n", &skipped)])], shown.look.language);
    }
    let jobs = options.sandbox.jobs().clone();
    let not_kept = |error: &LogError| front.print_not_kept(error, &of);
    let mut agent = Agent::new(options).inspect_err(not_kept)?;
    let ended = carry_out(&mut agent, prompt, &front.screen, interrupts).await;
    match (&ended, shown.format) {
        (Err(error), _) => not_kept(error),
        (Ok(outcome), OutputFormat::Text) if shown.answer_only => {
            front.print_answer(&outcome.answer);
        }
        (Ok(outcome), OutputFormat::Json) => {
            let failure = front.failure.lock().unwrap_or_else(PoisonError::into_inner);
            let refused = front.refused.lock().unwrap_or_else(PoisonError::into_inner);
            let object = json::result(outcome, &of, refused.list(), failure.as_ref());
            front.print_line(object);
        }
        (Ok(_), OutputFormat::Text | OutputFormat::StreamJson) => {}
    }
    let jobs_ended = jobs::ended(&jobs.stop_all().await, shown.look.language);
    match &jobs_ended {
        Some(said) if front.shows => front.screen.say(said),
        Some(said) => print_error(said),
        None => {}
    }
    ended.map(|outcome| front.exit_status(&outcome))
}

/// Prints what a program that reads JSON waits for, if no session could begin because it cannot be
/// kept.
pub(crate) fn print_not_begun(error: &CliError, format: OutputFormat) {
    let Some(error) = error.log_unwritable() else { return };
    let line = match format {
        OutputFormat::Text => return,
        OutputFormat::Json => json::not_kept(error, &Of::default(), &[]),
        OutputFormat::StreamJson => json::end_not_kept(error),
    };
    // Whoever does not read it gets the exit code.
    let _ = line.map(|line| Sink::Output.print(&line));
}

/// Carries out one turn, which ends early at a signal or when nobody reads `screen` any more.
///
/// # Errors
/// If the log cannot be written.
pub(crate) async fn carry_out(
    agent: &mut Agent,
    prompt: Prompt,
    screen: &Screen,
    interrupts: &Interrupts,
) -> Result<TurnOutcome, LogError> {
    let guard = interrupts.turn();
    screen.begin_turn(guard.cancel.clone());
    let mut turn = pin!(agent.prompt(prompt, &guard.cancel));
    tokio::select! {
        outcome = &mut turn => return outcome,
        () = guard.cancel.cancelled() => screen.say_stopping(),
    }
    turn.await
}

impl Headless {
    fn new(shown: Shown, book: RuleBook) -> Self {
        let whole = shown.format == OutputFormat::Text && !shown.answer_only;
        let sink = if whole { Sink::Output } else { Sink::Error };
        let screen = Screen::new(sink, shown.look);
        let screen = if whole { screen } else { screen.without_prose() };
        Self {
            format: shown.format,
            shows: whole || (sink.is_terminal() && shown.format != OutputFormat::StreamJson),
            asks: shown.format == OutputFormat::Text && question::can_ask(&screen),
            screen,
            book,
            failure: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    fn print_answer(&self, answer: &str) {
        let answer = answer.trim_end();
        if !answer.is_empty() {
            self.print(&format!("{}\n", visible(answer)));
        }
    }

    /// Prints how a turn ended whose session cannot be kept, where a program reads it: the error
    /// itself is for people.
    fn print_not_kept(&self, error: &LogError, of: &Of) {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match self.format {
            OutputFormat::Text => {}
            OutputFormat::Json => {
                self.print_line(json::not_kept(error, of, refused.list()));
            }
            OutputFormat::StreamJson => self.print_line(json::end_not_kept(error)),
        }
    }

    /// Says on a terminal what would have allowed the call, where the refusal has a part of it masked.
    fn say_flag(&self, question: &Question) {
        if let Some(flag) = &question.decision.flag
            && masked(flag) != *flag
            && self.shows
            && self.screen.sink().is_terminal()
        {
            let language = self.screen.language();
            let said = Text::AskFlag.say(language, &[("flag", &visible(flag))]);
            self.screen.say_asked(&format!("{said}\n"));
        }
    }

    fn print_line(&self, line: Result<String, serde_json::Error>) {
        // Session events and results have no map keys but strings, which is what could fail.
        if let Ok(line) = line {
            self.print(&line);
        }
    }

    fn print(&self, text: &str) {
        if let Err(error) = Sink::Output.print(text) {
            self.screen.output_ended(error);
        }
    }

    fn exit_status(&self, outcome: &TurnOutcome) -> ExitStatus {
        match outcome.reason {
            EndReason::Finished if !self.screen.output_failed() => ExitStatus::Finished,
            EndReason::Cancelled if !self.screen.reader_gone() => ExitStatus::Interrupted,
            _ => ExitStatus::Failed,
        }
    }
}

#[async_trait]
impl FrontEnd for Headless {
    fn update(&self, update: Update) {
        if let Update::Stored(record) = &update {
            if self.format == OutputFormat::StreamJson {
                self.print_line(json::record(record));
            }
            if let SessionEvent::Call(event) = &record.event {
                self.refused.lock().unwrap_or_else(PoisonError::into_inner).take_in(event);
            }
            if let SessionEvent::Model(ModelEvent::RequestFailed { kind, message, hint }) =
                &record.event
            {
                let (message, hint) = (message.clone(), hint.clone());
                let kind = FailureKind::Request(*kind);
                let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                *failure = Some(Failure { kind, message, hint });
            }
        }
        if self.screen.reader_gone() {
            // Whoever read this is gone: there is nobody to tell.
        } else if self.shows {
            self.screen.show(&update);
        } else {
            self.screen.show_errors(&update);
        }
    }

    async fn ask(&self, question: Question) -> Answer {
        if !self.asks {
            self.say_flag(&question);
            return Answer::Nobody;
        }
        question::ask(&question, &self.screen, &self.book).await
    }

    fn has_person(&self) -> bool {
        self.asks
    }
}

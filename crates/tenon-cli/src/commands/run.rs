//! `tenon run`, `tenon PROMPT` and `tenon`: a session.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Read, Write};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tenon_agent::{AgentOptions, Prompt};

use crate::{
    args::{OutputArgs, OutputFormat, SessionArgs},
    config::{Config, Environment, RuleBook},
    error::{CliError, ExitStatus},
    headless,
    images::Pictures,
    interactive,
    past::Past,
    print::say_notices,
    resume::{self, ResumeArgs},
    screen::{Look, Sink, print_error},
    setup,
    signals::Interrupts,
    texts::{Language, Text},
    tui,
    values::ThemeName,
};

/// The most bytes that are taken from standard input: about as many tokens as the largest models
/// take in. What is longer belongs into a file that the model can look into.
const INPUT_BYTES_MAX: u64 = 1 << 20;
/// When it is said that standard input is waited for: longer than a quick command in front takes.
const INPUT_PATIENCE: Duration = Duration::from_secs(2);

/// Carry out a prompt (needed when it is the name of a command)
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// What to do; standard input is added to it, or is the prompt if none is given
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,

    #[command(flatten)]
    resume: ResumeArgs,

    #[command(flatten)]
    output: OutputArgs,

    /// Whether a session without a prompt is meant: `run` alone has nothing to carry out.
    #[arg(skip)]
    interactive: bool,
}

impl Run {
    /// Returns what a command line without a subcommand stands for.
    pub(super) fn without_name(prompt: Option<&str>) -> Self {
        Self {
            interactive: prompt.is_none(),
            prompt: None,
            session: SessionArgs::default(),
            resume: ResumeArgs::default(),
            output: OutputArgs::default(),
        }
    }

    /// Runs the session. `prompt` and the groups of flags are what stood before `run`.
    pub(super) async fn execute(
        self,
        environment: Environment,
        prompt: Option<String>,
        session: SessionArgs,
        resume: ResumeArgs,
        output: OutputArgs,
    ) -> Result<ExitStatus, CliError> {
        if self.prompt.is_some() && prompt.is_some() {
            return Err(CliError::usage(Text::TwoPrompts).with_hint(Text::HintTwoPrompts));
        }
        let session = self.session.or(session);
        let resume = self.resume.or(resume);
        let output = self.output.or(output);
        let is_typed = self.interactive && io::stdin().is_terminal();
        if is_typed && (output.print || output.output_format.is_some()) {
            return Err(no_prompt(Text::PrintNeedsPrompt));
        }
        if is_typed && !output.image.is_empty() {
            return Err(no_prompt(Text::ImageNeedsPrompt));
        }
        let argument = self.prompt.or(prompt).unwrap_or_default();
        let language = environment.language();
        let prompt = if is_typed { None } else { Some(whole_prompt(&argument, language)?) };
        let config = Config::load(environment, &session)?;
        say_notices(&config.notices, language);
        let format = output.output_format.unwrap_or(OutputFormat::Text);
        let options = setup::ready(&config, &session, &resume)
            .await
            .inspect_err(|error| headless::print_not_begun(error, format))?;
        let look = config.look();
        let look = Look { still: output.plain, ..look };
        let interrupts = Interrupts::install()
            .map_err(|error| CliError::failed(Text::NoSignals).with_source(error))?;
        let Some(prompt) = prompt else {
            return converse(&config, &session, options, look, &interrupts).await;
        };
        // What comes through a pipe is data and names no files of the person's.
        let pictures = Pictures::of(&options, look.language);
        let images = pictures.in_files(&output.image).and_then(|mut images| {
            images.extend(pictures.named_in(&argument)?);
            Ok(images)
        });
        let images = images.map_err(CliError::usage)?;
        let prompt = Prompt { images, ..Prompt::from(prompt) };
        let shown = headless::Shown { format, answer_only: output.print, look };
        let book = RuleBook::new(config.folders.config_file(), options.workspace.roots());
        Ok(headless::run(options, prompt, shown, book, &interrupts).await?)
    }
}

/// Runs sessions until the person ends one for good: in plain lines where the terminal can only
/// print, and otherwise with a part of the screen that is redrawn.
async fn converse(
    config: &Config,
    args: &SessionArgs,
    options: AgentOptions,
    look: Look,
    interrupts: &Interrupts,
) -> Result<ExitStatus, CliError> {
    let book = Arc::new(RuleBook::new(config.folders.config_file(), options.workspace.roots()));
    let in_lines = look.plain || look.still || !Sink::Output.is_terminal();
    let (mut options, mut args, mut look) = (options, args.clone(), look);
    let (mut id, mut theme) = (session_id(&options), config.settings.theme);
    let mut typed = VecDeque::new();
    loop {
        let past = Past::of(&options, config);
        let mut place = place(config, &args, past, Arc::clone(&book), theme);
        place.typed = std::mem::take(&mut typed);
        let ended = match in_lines {
            true => interactive::run(options, look, place, interrupts).await?,
            false => tui::run(options, look, place, interrupts).await?,
        };
        say_how_to_go_on(config, &id);
        let (another, chosen) = match ended {
            tui::Ended::With(status) => return Ok(status),
            tui::Ended::For(another, chosen) => (another, chosen),
        };
        if chosen.model.is_some() {
            (args.model, args.model_file) = (chosen.model, None);
        }
        theme = chosen.theme.unwrap_or(theme);
        typed = chosen.typed;
        look.theme = config.terminal().theme(theme);
        options = match setup::ready(config, &args, &which(&another)).await {
            Ok(options) => options,
            // Whoever cannot have the other session is not left without any.
            Err(error) => {
                print_error(&error.text(look.language));
                let said = Text::CannotGoOn.template(look.language);
                let _ = writeln!(io::stderr().lock(), "{said}");
                setup::ready(config, &args, &ResumeArgs::of(&id)).await?
            }
        };
        id = session_id(&options);
    }
}

fn which(another: &tui::Another) -> ResumeArgs {
    match another {
        tui::Another::New => ResumeArgs::default(),
        tui::Another::Resumed(id) => ResumeArgs::of(id),
        tui::Another::ForkOf(id) => ResumeArgs::fork_of(id),
    }
}

fn session_id(options: &AgentOptions) -> String {
    options.log.as_ref().map(|log| log.id().to_owned()).unwrap_or_default()
}

fn say_how_to_go_on(config: &Config, id: &str) {
    if let Some(hint) = resume::how_to_go_on(config, id) {
        // Whoever closed the terminal does not read it.
        let _ = writeln!(io::stderr().lock(), "{hint}");
    }
}

fn place<'a>(
    config: &'a Config,
    args: &'a SessionArgs,
    past: Option<Past>,
    book: Arc<RuleBook>,
    theme: ThemeName,
) -> tui::Place<'a> {
    let terminal = config.variable("TERM").unwrap_or_default();
    // xterm sets the variable for what runs in it, and cuts lines instead of breaking them anew.
    let cuts = config.variable("XTERM_VERSION").is_some()
        || ["linux", "rxvt"].iter().any(|name| terminal.starts_with(name));
    let editor = config.variable("VISUAL").or_else(|| config.variable("EDITOR"));
    tui::Place {
        history: Some(config.folders.history()),
        sessions: config.folders.sessions(),
        drafts: config.folders.state.clone(),
        editor: editor.unwrap_or("vi").to_owned(),
        environment: config.child_environment(),
        reflows: !cuts,
        outside: tui::Outside::new(
            config.terminal(),
            theme,
            config.settings.notify,
            &config.root.file_name().unwrap_or_default().to_string_lossy(),
        ),
        book,
        past,
        typed: VecDeque::new(),
        config,
        args,
    }
}

/// Joins the prompt of the command line and standard input, unless that is a terminal.
fn whole_prompt(argument: &str, language: Language) -> Result<String, CliError> {
    let input = if io::stdin().is_terminal() { String::new() } else { read_input(language)? };
    match (argument.trim().is_empty(), input.trim().is_empty()) {
        (true, true) => Err(no_prompt(Text::NoPrompt)),
        (true, false) => Ok(input),
        (false, true) => Ok(argument.to_owned()),
        (false, false) => Ok(format!("{argument}\n\n{input}")),
    }
}

fn read_input(language: Language) -> Result<String, CliError> {
    let (done, wait) = mpsc::channel::<()>();
    // A pipe that nobody closes looks like a program that hangs; so it is said what it waits for.
    // Without room for a thread nothing is said.
    let _ = std::thread::Builder::new().spawn(move || {
        if wait.recv_timeout(INPUT_PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            let text = Text::WaitsForInput.template(language);
            let _ = writeln!(io::stderr(), "{text}");
        }
    });
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes);
    drop(done);
    read.map_err(|error| CliError::failed(Text::InputUnreadable).with_source(error))?;
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        let kibibytes = INPUT_BYTES_MAX / 1024;
        return Err(CliError::usage(Text::InputTooLong.with(&[("n", &kibibytes)]))
            .with_hint(Text::HintInputTooLong));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn no_prompt(message: Text) -> CliError {
    CliError::usage(message).with_hint(Text::HintPrompt)
}

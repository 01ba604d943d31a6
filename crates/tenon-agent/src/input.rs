//! What a front end and the agent say to each other besides events: prompts in, questions out,
//! answers in.

use async_trait::async_trait;
use tenon_model::Image;

use crate::{event::Update, policy::Decision};

/// What a person asks for.
///
/// ```
/// use tenon_agent::Prompt;
/// use tenon_model::Image;
///
/// let words = Prompt::from("What is wrong in src/main.rs?");
/// assert!(words.images.is_empty());
/// let picture = Image::new(b"GIF89a\x01\0\x01\0\0\0\0;")?;
/// let shown =
///     Prompt { text: "What is wrong here?".into(), images: vec![picture], ..Prompt::default() };
/// # Ok::<(), tenon_model::ImageError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The words.
    pub text: String,
    /// Pictures that go with them.
    pub images: Vec<Image>,
    /// What the model is told in front of the words, and the person knows already.
    pub context: Vec<String>,
}

/// What [`Question::tool`] says where a host is asked about that a command could not reach.
pub(crate) const HOST: &str = "host";

/// What [`Question::tool`] says where a command reached its time limit and may go on.
pub(crate) const OVERTIME: &str = "time";

/// What [`Question::tool`] says where a command wrote a protected file, which was put back.
pub(crate) const WRITTEN: &str = "written";

/// A call that needs a person's yes, a host that a command could not reach, a protected file that a
/// command wrote, or a command that reached its time limit and may go on in the background.
///
/// ```
/// use tenon_agent::{Action, Mode, Places, Question, Rules, decide};
///
/// let action = Action::Write { path: "notes.md".into(), written: None, protected: false };
/// let question = Question {
///     call_id: "call_1".into(),
///     tool: "write_file".into(),
///     subject: "notes.md".into(),
///     arguments: serde_json::json!({"path": "notes.md", "content": "Buy milk."}),
///     decision: decide("write_file", &action, &Rules::default(), Mode::Ask, &Places::default()),
///     programs_set: Vec::new(),
///     is_masked: false,
/// };
/// let Question { tool, subject, decision, .. } = &question;
/// assert_eq!(
///     format!("{tool} {subject}: {}. Run it?", decision.reason),
///     "write_file notes.md: every change is asked about in ask mode. Run it?"
/// );
/// ```
#[derive(Debug, Clone)]
pub struct Question {
    /// The call.
    pub call_id: String,
    /// The tool's name; `host` if a host is asked about, `time` for a time limit, `written` for what a
    /// command wrote.
    pub tool: String,
    /// What it would touch: the command, the path, the host. What leaves the walls stands here as it
    /// would be opened: a path with every link resolved.
    pub subject: String,
    /// The arguments with which the call would run; null for a host. Of an edit of a protected file or one
    /// outside, the texts are whole lines of the file, as it is and as it would be.
    pub arguments: serde_json::Value,
    /// Why it is asked, the rule, and what would stop asking.
    pub decision: Decision,
    /// Settings with which git would run a program from then on, each with its value, where that is what the edit
    /// of a file does.
    pub programs_set: Vec<String>,
    /// Whether the name of a secret stands in the place of a part of the texts; a person must be told.
    /// No rule and no flag with such a part is in [`Question::decision`].
    pub is_masked: bool,
}

/// What a person answers to a [`Question`].
///
/// ```
/// use tenon_agent::Answer;
///
/// /// Reads what a person typed: `y`, nothing, or a word to the model.
/// fn answer(line: &str) -> Answer {
///     match line.trim() {
///         "y" | "yes" => Answer::Allow,
///         "" => Answer::Deny(None),
///         words => Answer::Deny(Some(words.to_owned())),
///     }
/// }
///
/// assert_eq!(answer("y\n"), Answer::Allow);
/// assert_eq!(answer("use a branch\n"), Answer::Deny(Some("use a branch".into())));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this once; to a host, for the next command.
    Allow,
    /// Yes, and to all that the rules in [`Decision::lifted_by`] speak of, until the session ends.
    AllowForSession,
    /// The same, and whoever answers has kept [`Decision::always`] for later sessions; without
    /// that it is a yes for this once.
    AllowAlways,
    /// No; the words, if any, are for the model.
    Deny(Option<String>),
    /// There is nobody to ask: the refusal names the flag that would allow the call.
    Nobody,
}

/// Where a session is shown and who answers for it. The terminal, headless output and an
/// embedding program each are one.
///
/// ```
/// use std::sync::Mutex;
///
/// use tenon_agent::{Answer, FrontEnd, Live, Question, Update};
///
/// /// Keeps the prose as it comes and says no to whatever is asked.
/// #[derive(Default)]
/// struct Page(Mutex<String>);
///
/// #[async_trait::async_trait]
/// impl FrontEnd for Page {
///     fn update(&self, update: Update) {
///         if let Update::Live(Live::TextDelta(text)) = update {
///             self.0.lock().unwrap().push_str(&text);
///         }
///     }
///
///     async fn ask(&self, _question: Question) -> Answer {
///         Answer::Deny(Some("only look, please".into()))
///     }
/// }
///
/// let page = Page::default();
/// page.update(Update::Live(Live::TextDelta("Hello.".into())));
/// assert_eq!(*page.0.lock().unwrap(), "Hello.");
/// ```
#[async_trait]
pub trait FrontEnd: Send + Sync {
    /// Shows `update`. Called in order, from one task at a time; must not wait for the agent.
    fn update(&self, update: Update);

    /// Asks a person. Dropped when the turn is cancelled.
    async fn ask(&self, question: Question) -> Answer;

    /// Returns whether somebody is there to be asked; without, [`FrontEnd::ask`] says
    /// [`Answer::Nobody`]. By default somebody is.
    ///
    /// ```
    /// use tenon_agent::{Answer, FrontEnd, Question, Update};
    ///
    /// struct Batch;
    ///
    /// #[async_trait::async_trait]
    /// impl FrontEnd for Batch {
    ///     fn update(&self, _update: Update) {}
    ///
    ///     async fn ask(&self, _question: Question) -> Answer {
    ///         Answer::Nobody
    ///     }
    ///
    ///     fn has_person(&self) -> bool {
    ///         false
    ///     }
    /// }
    ///
    /// assert!(!Batch.has_person());
    /// ```
    fn has_person(&self) -> bool {
        true
    }
}

/// A front end that shows nothing and has nobody to ask.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Silent;

#[async_trait]
impl FrontEnd for Silent {
    fn update(&self, _update: Update) {}

    async fn ask(&self, _question: Question) -> Answer {
        Answer::Nobody
    }

    fn has_person(&self) -> bool {
        false
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

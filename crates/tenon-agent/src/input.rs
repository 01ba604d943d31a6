//! What a front end and the agent say to each other besides events: prompts in, questions out,
//! answers in.

use async_trait::async_trait;
use tenon_model::Image;

use crate::{event::Update, policy::Decision};

/// What a person asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The words.
    pub text: String,
    /// Pictures that go with them.
    pub images: Vec<Image>,
}

/// A call that needs a person's yes.
#[derive(Debug, Clone)]
pub struct Question {
    /// The call.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// What it would touch: the command, the path.
    pub subject: String,
    /// Why it is asked, the rule, and what would stop asking.
    pub decision: Decision,
}

/// What a person answers to a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this once.
    Allow,
    /// No; the words, if any, are for the model.
    Deny(Option<String>),
    /// There is nobody to ask: the refusal names the flag that would allow the call.
    Nobody,
}

/// Where a session is shown and who answers for it. The terminal, headless output and an
/// embedding program each are one.
#[async_trait]
pub trait FrontEnd: Send + Sync {
    /// Shows `update`. Called in order, from one task at a time; must not wait for the agent.
    fn update(&self, update: Update);

    /// Asks a person. Dropped when the turn is cancelled.
    async fn ask(&self, question: Question) -> Answer;
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
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), images: Vec::new() }
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self { text, images: Vec::new() }
    }
}

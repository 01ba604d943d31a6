//! The agent's way to the loop: updates and questions go into one channel, answers come back by one
//! of their own each.

use async_trait::async_trait;
use tenon_agent::{Answer, FrontEnd, Question, Update};
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use super::line::Line;

/// What reaches the loop from elsewhere.
pub(crate) enum Said {
    Update(Update),
    Asked(Box<Question>, oneshot::Sender<Answer>),
    /// A question was taken back.
    Withdrawn,
    /// The files of the workspace were listed.
    FilesListed,
    /// The prompts of the session with this id were read.
    Previewed(String, Vec<String>),
    /// An undo waits for this process.
    Waits(u32),
    /// Rows that were worked out beside everything else.
    Drawn(Vec<Line>),
}

/// The agent's way to the loop.
pub(crate) struct Front(pub UnboundedSender<Said>);

/// Says that a question was taken back, when it is dropped with the call.
struct Asking<'a>(&'a UnboundedSender<Said>);

#[async_trait]
impl FrontEnd for Front {
    fn update(&self, update: Update) {
        // The loop ends after the turn; what it does not hear any more is in the log.
        let _ = self.0.send(Said::Update(update));
    }

    async fn ask(&self, question: Question) -> Answer {
        let (sender, answer) = oneshot::channel();
        let _asking = Asking(&self.0);
        if self.0.send(Said::Asked(Box::new(question), sender)).is_err() {
            return Answer::Nobody;
        }
        answer.await.unwrap_or(Answer::Nobody)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(Said::Withdrawn);
    }
}

//! Protected files that a command wrote, and that were put back: policy judges them as writes of
//! `write_file`, and where that wants a yes a person is asked once the command is over. Nobody there
//! means no.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use serde_json::json;

use crate::{
    input::{Answer, FrontEnd, Question, WRITTEN},
    policy::{Action, Decision, Kept, Mode, Places, Rule, Rules, decide},
    tools::{Judge, WRITE_FILE},
};

/// Paths about which a person said no, so that they are not asked about again in the session.
pub(super) type Refused = Arc<Mutex<HashSet<PathBuf>>>;

/// Judges what one command wrote.
pub(super) struct Written {
    pub front: Arc<dyn FrontEnd>,
    pub call_id: String,
    /// Lets one question stand at a time.
    pub asking: Arc<tokio::sync::Mutex<()>>,
    pub rules: Mutex<Rules>,
    pub mode: Mode,
    pub places: Places,
    pub refused: Refused,
    pub outcomes: Mutex<Vec<Outcome>>,
}

/// What is to be recorded of an answer.
pub(super) enum Outcome {
    /// Nobody was asked about this file.
    Nobody { path: String, flag: Option<String> },
    /// These are allowed from now on.
    Lasting(Vec<Rule>, Option<Kept>),
}

impl Written {
    /// Returns what is to be recorded, once.
    pub(super) fn take_outcomes(&self) -> Vec<Outcome> {
        std::mem::take(&mut *self.outcomes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, outcome: Outcome) {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
    }

    fn allow(&self, lasting: Vec<Rule>, kept: Option<Kept>) {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        lasting.iter().for_each(|rule| rules.add(rule.clone()));
        self.note(Outcome::Lasting(lasting, kept));
    }
}

#[async_trait]
impl Judge for Written {
    fn judge(&self, write: &Action) -> Decision {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        decide(WRITE_FILE, write, &rules, self.mode, &self.places)
    }

    fn named(&self) -> Vec<PathBuf> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.named_files(WRITE_FILE, &self.places)
    }

    fn note_refused(&self, path: &str, flag: Option<&str>) {
        self.note(Outcome::Nobody { path: path.to_owned(), flag: flag.map(str::to_owned) });
    }

    async fn ask(&self, path: &Path, content: &[u8], decision: Decision) -> Answer {
        if self.refused.lock().unwrap_or_else(PoisonError::into_inner).contains(path) {
            return Answer::Deny(None);
        }
        let (lasting, kept) = (decision.lifted_by.clone(), decision.always.clone());
        let (flag, subject) = (decision.flag.clone(), path.to_string_lossy().into_owned());
        let question = Question {
            call_id: self.call_id.clone(),
            tool: WRITTEN.to_owned(),
            arguments: json!({"path": subject, "content": String::from_utf8_lossy(content)}),
            subject: subject.clone(),
            decision,
            programs_set: Vec::new(),
            is_masked: false,
        };
        let _one_at_a_time = self.asking.lock().await;
        let answer = self.front.ask(question).await;
        match &answer {
            Answer::AllowForSession => self.allow(lasting, None),
            Answer::AllowAlways if kept.is_some() => self.allow(lasting, kept),
            Answer::Allow | Answer::AllowAlways => {}
            Answer::Deny(_) => {
                let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                refused.insert(path.to_path_buf());
            }
            Answer::Nobody => self.note(Outcome::Nobody { path: subject, flag }),
        }
        answer
    }
}

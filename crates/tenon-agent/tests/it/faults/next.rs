//! The reply that comes next, read from a request alone: also where the conversation was made shorter, from
//! the summary or the list of calls in the place of what was said.

use serde_json::{Value, json};

use super::history::Event;
use crate::fake_server::Turn;

/// No conversation is too long before so many turns: of a short one nothing can be left out.
const TURNS_MIN: u64 = 8;

/// The words by which a summary is asked for.
const SUMMARY_ASKED: &str = "Write the summary that takes the place of everything above";

/// In front of what a summary says.
const STATE: &str = "State ";

/// In front of a call in the list that takes the place of a summary.
const LISTED: &str = "- mark ";

/// The prose of the reply after `done` of `calls` calls of a turn.
pub(super) fn full_text(turn: u64, calls: u64, done: u64) -> String {
    match done < calls {
        true => format!("Step {done} of turn {turn} 第一步 👍 now."),
        false => format!("The answer to {turn} is 四十二 — “done”, ça y est."),
    }
}

/// The reply that comes next.
pub(super) struct Next {
    /// What of the prose was not said yet.
    pub(super) text: String,
    /// Set by the server.
    pub(super) call_id: String,
    /// The arguments of the call, if the reply makes one.
    call: Option<String>,
    /// Whether a summary is asked for instead.
    pub(super) is_summary: bool,
    /// Whether a conversation that is made shorter now loses nothing that this needs.
    pub(super) may_be_too_long: bool,
    turn: u64,
    done: u64,
    said: String,
}

/// What a request tells.
#[derive(Default)]
struct Told {
    /// Turn and calls of each prompt.
    prompts: Vec<(u64, u64)>,
    /// The names of calls that have a result, or that a list names.
    called: Vec<String>,
    /// What the last summary says.
    summary: Option<Value>,
    /// Whether a call of the newest turn is known from a list only.
    is_listed: bool,
    /// The prose since the last result or prompt.
    said: String,
    is_summary: bool,
}

impl Told {
    fn of(events: &[Event]) -> Result<Self, String> {
        let mut told = Self::default();
        for event in events {
            match event {
                Event::Said(text) => text.lines().try_for_each(|line| told.line(line))?,
                Event::Replied(text) => told.said.push_str(text),
                Event::Called(_, name) => told.called.push(name.clone()),
                Event::Answered(_) => told.said.clear(),
            }
        }
        Ok(told)
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|_| line.to_owned());
        if let Some(prompt) = line.strip_prefix("turn ") {
            let words: Vec<&str> = prompt.trim_end_matches('.').split(' ').collect();
            let number = |index: usize| words.get(index).and_then(|word| word.parse().ok());
            let prompt = number(0).zip(number(2)).ok_or_else(|| line.to_owned())?;
            self.prompts.push(prompt);
            (self.is_listed, self.said) = (false, String::new());
        } else if let Some(state) = line.strip_prefix(STATE) {
            self.summary = Some(json(state)?);
        } else if let Some(arguments) = line.strip_prefix(LISTED) {
            self.called.push(json(arguments)?["name"].as_str().unwrap_or_default().to_owned());
            self.is_listed = true;
        }
        self.is_summary |= line.contains(SUMMARY_ASKED);
        Ok(())
    }
}

impl Next {
    /// Returns what comes next, by what happened so far; fails if that cannot be.
    pub(super) fn after(events: &[Event]) -> Result<Self, String> {
        let told = Told::of(events)?;
        let expected: Vec<u64> = (1..=told.prompts.len() as u64).collect();
        let numbers: Vec<u64> = told.prompts.iter().map(|(turn, _)| *turn).collect();
        if numbers != expected {
            return Err(format!("the prompts are {numbers:?}"));
        }
        let (turn, calls) = *told.prompts.last().ok_or("no prompt")?;
        let summary = told.summary.as_ref().filter(|summary| summary["turn"] == turn);
        let count = |name: &str| summary.and_then(|summary| summary[name].as_u64()).unwrap_or(0);
        let is_done = |done: &u64| told.called.contains(&format!("{turn}.{done}"));
        let done = (count("done")..).find(|done| !is_done(done)).unwrap_or(0);
        let full = full_text(turn, calls, done);
        // A summary may stand for parts of the prose; those behind it may be in it or not.
        let known = summary.filter(|summary| summary["done"] == done);
        let known = known.and_then(|summary| summary["said"].as_str()).unwrap_or_default();
        let ends = full.char_indices().map(|(end, _)| end).chain([full.len()]);
        let mut prefixes = ends.map(|end| &full[..end]).filter(|part| part.starts_with(known));
        let said = match known {
            "" => full.starts_with(&told.said).then_some(told.said.as_str()),
            _ => prefixes.find(|part| part.ends_with(&told.said)),
        };
        let said = said.ok_or_else(|| format!("`{}` is no part of `{full}`", told.said))?;
        let name = json!({"name": format!("{turn}.{done}"), "why": "参数 “quoted”"});
        Ok(Self {
            text: full[said.len()..].to_owned(),
            call_id: String::new(),
            call: (done < calls).then(|| name.to_string()),
            is_summary: told.is_summary,
            // In a list is no prose, and none of what the summary before it said.
            may_be_too_long: turn >= TURNS_MIN
                && said.is_empty()
                && summary.is_none()
                && !told.is_listed,
            turn,
            done,
            said: said.to_owned(),
        })
    }

    /// Returns the summary of what was done so far.
    pub(super) fn summary(&self) -> String {
        let Self { turn, done, said, .. } = self;
        format!("{STATE}{}", json!({"turn": turn, "done": done, "said": said}))
    }

    pub(super) fn turn(&self) -> Turn {
        let turn = Turn::text(&self.text);
        match &self.call {
            Some(arguments) => turn.call_with_id(&self.call_id, "mark", arguments),
            None => turn,
        }
    }
}

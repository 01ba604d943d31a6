//! One loaded model at work: brings the engine to the end of the conversation, has a reply
//! written, holds it against the guards, and reports it as stream events.

use std::path::PathBuf;

use tenon_model::{ProviderError, Request, StopReason, StreamEvent, Usage};
use tokio::sync::mpsc::UnboundedSender;

use crate::{
    Engine, EngineError, LocalOptions, TOKENS_PER_PASS,
    generate::{End, Flow, Reply, generate},
    grammar::{Allowed, Grammar},
    guards::{CLAIM_BYTES, HINTS_MAX, Standing},
    prefix::SavedPrefix,
    prompt::{self, Kind, Line, Speaker},
    qwen2::Qwen2,
    tags::{self, Block},
    threads::physical_cores,
    tokenizer::Tokenizer,
};

/// Where the events of a reply go.
pub(crate) type Events = UnboundedSender<Result<StreamEvent, ProviderError>>;

/// Reading fewer tokens than this takes about a second and is not worth a line.
const PROGRESS_TOKENS_MIN: usize = 100;
/// A line on how far the reply is, each time it has grown by this much.
const PROGRESS_BYTES: usize = 120;
/// What is left for a reply when the conversation fills the context.
const REPLY_TOKENS_MIN: usize = 256;

/// A model, its vocabulary and the static prefix.
#[derive(Debug)]
pub(crate) struct Session {
    engine: Qwen2,
    tokenizer: Tokenizer,
    prefix: Vec<u32>,
    saved: SavedPrefix,
    workspace: Option<PathBuf>,
}

impl Session {
    /// Loads the model.
    pub(crate) fn load(options: &LocalOptions) -> Result<Self, EngineError> {
        let threads = options.threads.unwrap_or_else(physical_cores);
        let tokens_max = usize::try_from(options.context_tokens).unwrap_or(usize::MAX);
        let engine = Qwen2::load(&options.model_file, tokens_max, threads)?;
        let tokenizer = engine.tokenizer()?;
        let prefix = prompt::tokens(&prompt::static_prefix(), &tokenizer)?;
        let saved = SavedPrefix::place(&options.cache_folder, &engine, &prefix);
        Ok(Self { engine, tokenizer, prefix, saved, workspace: options.workspace.clone() })
    }

    /// Brings the engine to the end of the static prefix: from the saved state, or by reading it
    /// and saving the state. `progress` hears how many of how many tokens are read, and returns
    /// whether to go on.
    pub(crate) fn prepare_prefix(
        &mut self,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<(), EngineError> {
        if self.engine.tokens().starts_with(&self.prefix) {
            return Ok(());
        }
        if let Some(state) = self.saved.read() {
            if self.engine.restore_state(&self.prefix, &state) {
                return Ok(());
            }
            self.saved.discard();
        }
        self.engine.rewind(0);
        let mut done = 0;
        for piece in self.prefix.chunks(TOKENS_PER_PASS) {
            if !progress(done, self.prefix.len()) {
                return Ok(());
            }
            self.engine.prefill(piece)?;
            done += piece.len();
        }
        progress(done, done);
        // Without a saved state the next start is slow, and nothing is wrong otherwise.
        drop(self.saved.write(&self.engine.saved_state()));
        Ok(())
    }

    /// Answers `request`. Returns early without an event where nobody listens any more.
    pub(crate) fn answer(&mut self, request: &Request, events: &Events) -> Result<(), EngineError> {
        let (mut lines, known) = prompt::lines(&request.conversation, self.workspace.as_deref());
        let asked = lines.clone();
        let standing = Standing::of(&asked);
        let calls = asked.iter().filter(|line| matches!(line.kind, Kind::Block(_))).count();
        let mut usage = Usage::default();
        for hints in 0..=HINTS_MAX {
            if !self.read(&lines, events, &mut usage)? {
                return Ok(());
            }
            let mut attempt = Attempt { standing, hints, events, shown: 0, told: 0 };
            let room = self.engine.tokens_max().saturating_sub(self.engine.tokens().len());
            let tokens_max = room.min(usize::try_from(request.output_tokens_max).unwrap_or(room));
            let Self { engine, tokenizer, .. } = self;
            let grammar = Grammar::new(standing.allowed());
            let limits = standing.limits(&known);
            let mut watch = |grammar: &Grammar, text: &[u8]| attempt.watch(grammar, text);
            let reply = generate(engine, tokenizer, grammar, limits, tokens_max, &mut watch)?;
            usage.output += reply.tokens as u64;
            if events.is_closed() {
                return Ok(());
            }
            match attempt.judge(&reply) {
                Verdict::SendBack(block, hint) => {
                    lines.push(Line::block(block));
                    lines.push(Line::text(Speaker::User, &hint));
                }
                Verdict::Counts(block) => {
                    let block = block.map(|block| known.widened(block));
                    attempt.report(&reply, block, calls, usage);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Brings the engine to the end of `lines`; returns whether anybody still listens.
    fn read(
        &mut self,
        lines: &[Line],
        events: &Events,
        usage: &mut Usage,
    ) -> Result<bool, EngineError> {
        let mut tokens = prompt::tokens(lines, &self.tokenizer)?;
        tokens.extend(prompt::cue(&self.tokenizer)?);
        let asked = self.prefix.len() + tokens.len() + REPLY_TOKENS_MIN;
        let tokens_max = self.engine.tokens_max();
        if asked > tokens_max {
            return Err(EngineError::ContextFull { asked, tokens_max });
        }
        self.prepare_prefix(&mut |done, all| {
            say(events, format!("Preparing the built-in model, once: {done} of {all} tokens"))
        })?;
        if events.is_closed() {
            return Ok(false);
        }
        let read = self.engine.tokens().iter().skip(self.prefix.len());
        let same = read.zip(&tokens).take_while(|(left, right)| left == right).count();
        // The last token is always read, because what follows it is asked for.
        let same = same.min(tokens.len().saturating_sub(1));
        self.engine.rewind(self.prefix.len() + same);
        let fresh = tokens.get(same..).unwrap_or_default();
        usage.cache_read += (self.prefix.len() + same) as u64;
        let mut done = 0;
        for piece in fresh.chunks(TOKENS_PER_PASS) {
            if fresh.len() >= PROGRESS_TOKENS_MIN {
                say(events, format!("Reading {done} of {} tokens", fresh.len()));
            }
            if events.is_closed() {
                return Ok(false);
            }
            self.engine.prefill(piece)?;
            done += piece.len();
        }
        usage.input += fresh.len() as u64;
        Ok(true)
    }
}

/// One reply on its way.
struct Attempt<'a> {
    standing: Standing<'a>,
    hints: usize,
    events: &'a Events,
    /// Bytes of the answer that were shown.
    shown: usize,
    /// Bytes of the reply when its length was last told.
    told: usize,
}

enum Verdict {
    /// The model is asked once more, with a hint.
    SendBack(Block, String),
    /// The reply stands; nothing where it was cut off.
    Counts(Option<Block>),
}

impl Attempt<'_> {
    fn watch(&mut self, grammar: &Grammar, text: &[u8]) -> Flow {
        if self.events.is_closed() {
            return Flow::Stop;
        }
        if text.starts_with(b"<answer>") {
            if self.sends_answers_back() {
                return Flow::Stop;
            }
            let held =
                if self.may_send_back() && self.standing.doubts_answer() { CLAIM_BYTES } else { 0 };
            let answer = visible_answer(text, grammar);
            if answer.len() > held {
                self.show(answer);
            }
        } else if text.len() >= self.told + PROGRESS_BYTES {
            self.told = text.len();
            say(self.events, format!("Writing, {} bytes", text.len()));
        }
        Flow::Continue
    }

    fn may_send_back(&self) -> bool {
        self.hints < HINTS_MAX
    }

    /// An answer straight after an error is sent back once, and need not be written to the end.
    fn sends_answers_back(&self) -> bool {
        self.hints == 0 && self.standing.forbids_answer()
    }

    fn show(&mut self, answer: &str) {
        let (_, more) = answer.split_at_checked(self.shown).unwrap_or_default();
        if !more.is_empty() {
            self.shown = answer.len();
            send(self.events, StreamEvent::TextDelta { text: more.to_owned() });
        }
    }

    fn judge(&self, reply: &Reply) -> Verdict {
        if reply.end == End::Stopped && self.sends_answers_back() {
            let block = Block::Answer { text: "...".into() };
            if let Some(hint) = self.standing.hint(&block) {
                return Verdict::SendBack(block, hint);
            }
        }
        let Some(block) = tags::parse(&String::from_utf8_lossy(&reply.text)) else {
            return Verdict::Counts(None);
        };
        let is_answer = matches!(block, Block::Answer { .. });
        // What people have seen cannot be taken back, and one hint after an error is enough.
        let stands = !self.may_send_back()
            || self.shown > 0
            || is_answer && self.standing.forbids_answer() && self.hints > 0;
        match self.standing.hint(&block) {
            Some(hint) if !stands => Verdict::SendBack(block, hint),
            _ => Verdict::Counts(Some(block)),
        }
    }

    fn report(&mut self, reply: &Reply, block: Option<Block>, calls: usize, usage: Usage) {
        let events = self.events;
        let mut reason = StopReason::OutputLimit;
        match &block {
            Some(Block::Answer { text }) => {
                self.show(text.trim_end());
                reason = StopReason::EndOfTurn;
            }
            Some(call) => {
                if let Some((name, arguments)) = prompt::call_of(call) {
                    let (id, name) = (format!("local-{}", calls + 1), name.to_owned());
                    send(events, StreamEvent::ToolCallStarted { index: 0, id, name });
                    let arguments = arguments.to_string();
                    send(events, StreamEvent::ToolCallDelta { index: 0, arguments });
                    send(events, StreamEvent::ToolCallEnded { index: 0 });
                    reason = StopReason::ToolCalls;
                }
            }
            None if reply.text.starts_with(b"<answer>") => {
                self.show(visible_answer(&reply.text, &Grammar::new(Allowed::All)));
            }
            None => {
                let text = "(The reply grew too long and was cut off before its call was whole.)";
                send(events, StreamEvent::TextDelta { text: text.into() });
            }
        }
        send(events, StreamEvent::Usage(usage));
        send(events, StreamEvent::Stopped { reason });
    }
}

/// Returns the text of an answer as far as it is certain: without what may become its closing
/// tag, blanks at its end, or a character that is not whole yet.
fn visible_answer<'t>(text: &'t [u8], grammar: &Grammar) -> &'t str {
    let body = text.strip_prefix(b"<answer>").unwrap_or(text);
    let body = match std::str::from_utf8(body) {
        Ok(body) => body,
        Err(error) => body
            .split_at_checked(error.valid_up_to())
            .and_then(|(valid, _)| std::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    };
    let body = if grammar.is_done() {
        body.strip_suffix("</answer>").unwrap_or(body)
    } else {
        match body.rsplit_once('<') {
            Some((before, tag)) if "/answer>".starts_with(tag) => before,
            _ => body,
        }
    };
    body.trim_start_matches('\n').trim_end()
}

fn say(events: &Events, text: String) -> bool {
    send(events, StreamEvent::Progress { text })
}

/// Returns whether anybody listens.
fn send(events: &Events, event: StreamEvent) -> bool {
    events.send(Ok(event)).is_ok()
}

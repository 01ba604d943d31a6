//! `tenon sessions`.

mod remove;

use std::borrow::Cow;

use serde::Serialize;
use tenon_agent::{
    SessionSummary, UnreadSession, list_all_sessions, list_sessions, search_sessions,
};
use tenon_model::visible;
use tenon_sandbox::Workspace;

use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    json, masked,
    print::{print, say_notices},
    resume::{name_session, unreadable},
    texts::Text,
    which_session::{find, line, timestamp},
};

/// List sessions, the newest first; search, name and remove them
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Sessions {
    /// Look for sessions with all these words: in names, prompts, answers, thinking, calls, results
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    search: Option<Vec<String>>,

    /// Print a JSON array
    #[arg(long)]
    json: bool,

    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Give a session a name, for --resume NAME; without NAME it has none any more
    Name {
        /// The session's id or its beginning, its name, or `last`
        #[arg(value_name = "ID")]
        id: String,
        /// The name, at most 40 characters
        #[arg(value_name = "NAME", default_value = "")]
        name: String,
    },
    Delete(remove::Delete),
    Prune(remove::Prune),
}

#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    name: Option<&'a str>,
    started: String,
    used: String,
    /// What is not UTF-8 in it is U+FFFD.
    workspace: Cow<'a, str>,
    model: &'a str,
    prompt: &'a str,
    bytes: u64,
}

#[derive(Serialize)]
struct FoundObject<'a> {
    session: &'a str,
    time: String,
    kind: &'a str,
    text: &'a str,
}

/// A session in a JSON array, or one whose log could not be read.
#[derive(Serialize)]
#[serde(untagged)]
enum Row<T> {
    Read(T),
    Unread { id: String, unread: String },
    UnreadInSearch { session: String, unread: String },
}

impl Sessions {
    pub(super) fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        match self.action {
            Some(Action::Name { id, name }) => {
                let folder = config.folders.sessions();
                let sessions = list_sessions(&folder).map_err(unreadable)?;
                let session = find(&id, &sessions)?;
                if let Ok(workspace) = Workspace::open(&session.workspace) {
                    masked::read_all(&workspace);
                }
                let id = &session.id;
                name_session(&folder, id, &name)?;
            }
            Some(Action::Delete(delete)) => return delete.execute(config),
            Some(Action::Prune(prune)) => return prune.execute(config),
            None => match self.search {
                Some(words) => search(config, &words.join(" "), self.json)?,
                None => all(config, self.json)?,
            },
        }
        Ok(ExitStatus::Finished)
    }
}

fn all(config: &Config, json: bool) -> Result<(), CliError> {
    let (sessions, unread) = list_all_sessions(&config.folders.sessions()).map_err(unreadable)?;
    masked::read_of(&sessions);
    say_unread(&unread, config);
    if json {
        let rows = sessions.iter().map(|session| Row::Read(listed(session)));
        let unread =
            unread.into_iter().map(|UnreadSession { id, why }| Row::Unread { id, unread: why });
        return print_json(&rows.chain(unread).collect::<Vec<_>>());
    }
    sessions.iter().try_for_each(|session| print(&line(session)))
}

fn search(config: &Config, words: &str, json: bool) -> Result<(), CliError> {
    let folder = config.folders.sessions();
    let sessions = list_sessions(&folder).map_err(unreadable)?;
    masked::read_of(&sessions);
    let results = config.folders.all_results();
    let found = search_sessions(&folder, &results, words, &masked::masking());
    let (found, unread) = found.map_err(unreadable)?;
    say_unread(&unread, config);
    if json {
        let rows = found.iter().map(|found| {
            Row::Read(FoundObject {
                session: &found.session,
                time: timestamp(found.time_ms).to_string(),
                kind: found.kind,
                text: &found.text,
            })
        });
        let unread = unread.into_iter();
        let unread = unread.map(|it| Row::UnreadInSearch { session: it.id, unread: it.why });
        return print_json(&rows.chain(unread).collect::<Vec<_>>());
    }
    let language = config.look().language;
    let mut shown = None;
    for found in &found {
        if shown.replace(&found.session) != Some(&found.session) {
            let session = sessions.iter().find(|session| session.id == found.session);
            print(&session.map_or_else(|| format!("{}\n", visible(&found.session)), line))?;
        }
        let kind = match found.kind {
            "name" => Text::FoundName.template(language),
            "prompt" => Text::FoundPrompt.template(language),
            "answer" => Text::FoundAnswer.template(language),
            "thinking" => Text::FoundThinking.template(language),
            "call" => Text::FoundCall.template(language),
            "result" => Text::FoundResult.template(language),
            other => other,
        };
        let said =
            Text::WithMore.say(language, &[("said", &kind), ("more", &visible(&found.text))]);
        print(&format!("    {said}\n"))?;
    }
    Ok(())
}

/// Says of how many sessions the logs could not be read, and why.
fn say_unread(unread: &[UnreadSession], config: &Config) {
    let mut reasons: Vec<&str> = unread.iter().map(|unread| unread.why.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let said = Text::SessionsUnread.with(&[("n", &unread.len()), ("why", &reasons.join("; "))]);
    say_notices(
        if unread.is_empty() { &[] } else { std::slice::from_ref(&said) },
        config.look().language,
    );
}

fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    print(&(json::pretty(value)? + "\n"))
}

fn listed(session: &SessionSummary) -> Listed<'_> {
    Listed {
        id: &session.id,
        name: session.name.as_deref(),
        started: timestamp(session.started_ms).to_string(),
        used: timestamp(session.used_ms).to_string(),
        workspace: session.workspace.to_string_lossy(),
        model: &session.model,
        prompt: &session.prompt,
        bytes: session.bytes,
    }
}

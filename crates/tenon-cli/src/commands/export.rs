//! `tenon export SESSION`.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use tenon_agent::{Session, list_sessions, read_session};

use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    export::{self, Format},
    masked::{self, masked},
    print::{print, say_notices},
    replay,
    resume::{damage, unreadable},
    session_links,
    texts::{Language, Sentence, Text},
    which_session::find,
    whole_file,
};

/// Write a session as a document: Markdown, or one HTML file
#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// The session's id or its beginning, its name, or `last`, the newest
    #[arg(value_name = "SESSION")]
    session: String,

    /// As what [default: what FILE ends with, else markdown]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Write it to this file, which only you can read, instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Write instead the log and the files that the session began with (FILE.tar.gz), for replay
    #[arg(
        long,
        value_name = "FILE",
        value_hint = clap::ValueHint::FilePath,
        conflicts_with_all = ["format", "output"]
    )]
    bundle: Option<PathBuf>,
}

impl Export {
    pub(super) fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let folder = config.folders.sessions();
        let sessions = list_sessions(&folder).map_err(unreadable)?;
        let id = &find(&self.session, &sessions)?.id;
        let session = read_session(&folder, id).map_err(unreadable)?;
        masked::read_all_of(&session);
        for path in self.output.iter().chain(&self.bundle) {
            session_links::refuse_to_write(&config.absolute(path), config)?;
        }
        let language = config.look().language;
        say_notices(damage(&session).map(Sentence::OfLibrary).as_slice(), language);
        if let Some(bundle) = &self.bundle {
            let log = folder.join(format!("{id}.jsonl"));
            return pack_bundle(&session, &log, &config.absolute(bundle), config);
        }
        let text = export::export(&masked::records(session.branch()), self.format(), language);
        match &self.output {
            Some(path) => {
                whole_file::write(&config.absolute(path), document(&text))?;
            }
            None => print(&text)?,
        }
        Ok(ExitStatus::Finished)
    }

    fn format(&self) -> Format {
        let is_page =
            |path: &PathBuf| path.extension().is_some_and(|end| end == "html" || end == "htm");
        match (self.format, &self.output) {
            (Some(format), _) => format,
            (None, Some(path)) if is_page(path) => Format::Html,
            (None, _) => Format::default(),
        }
    }
}

/// Writes a bundle and says what is not in it.
fn pack_bundle(
    session: &Session,
    log: &Path,
    to: &Path,
    config: &Config,
) -> Result<ExitStatus, CliError> {
    let files = replay::Rebuilt::of(session, config)
        .map_err(|error| error.with_hint_instead(Text::HintToolsFrom, Text::HintExportDocument))?;
    let language = config.look().language;
    let notes: Vec<Sentence> = files.notes.iter().map(Sentence::of_library).collect();
    say_notices(&notes, language);
    let left_out = replay::pack(session, log, &files, config, to)?;
    let of_left_out = |path: Sentence| Sentence::from(Text::LeftOut).with_more(path);
    let left_out: Vec<Sentence> =
        left_out.iter().map(|path| of_left_out(Sentence::of_library(path))).collect();
    say_notices(&left_out, language);
    Ok(ExitStatus::Finished)
}

/// Writes the session `id` of the folder `sessions` as a document into the folder that it works in,
/// as `words` say, and returns the file.
pub(crate) fn beside_work(
    sessions: &Path,
    id: &str,
    root: &Path,
    words: &str,
    language: Language,
) -> Result<PathBuf, CliError> {
    let (format, ending) = match words {
        "html" => (Format::Html, "html"),
        _ => (Format::Markdown, "md"),
    };
    let path = root.join(format!("tenon-{id}.{ending}"));
    let session = read_session(sessions, id).map_err(unreadable)?;
    let text = export::export(&masked::records(session.branch()), format, language);
    // A model writes in that folder, and may have put a link there.
    whole_file::replace(&path, document(&text))
        .map_err(|error| whole_file::unwritten(&path, error))?;
    Ok(path)
}

/// Returns what writes a document, known secrets by name.
fn document(text: &str) -> impl FnOnce(&mut File) -> io::Result<()> {
    move |file| file.write_all(masked(text).as_bytes())
}

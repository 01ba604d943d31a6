//! The secrets that a session knows and does not show: to the model, in the log, on the screen.
//! A question shows those that a model may have written ([`Masking::asked`]).
//!
//! The values come from whoever makes the agent (keys, the user's files of credentials) and from
//! the workspace's `.env` files, which are looked at again before a result leaves. A help against
//! accidents: what a command prints in another form than those of [`tenon_model::Masks`] is shown.

mod env_files;
mod front;
mod question;

use std::{
    borrow::Cow,
    collections::HashSet,
    ffi::OsStr,
    ops::Range,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::Value;
use tenon_model::{KnownValue, MaskStream, Masks};
use tenon_sandbox::{FilteredText, OffThread, TextFilter, Workspace, off_thread};

use self::env_files::EnvFiles;
pub(crate) use self::front::MaskedFront;
use crate::{
    event::Record,
    input::{Prompt, Question},
};

/// Known secrets and the search for them. Cheap to clone; clones know the same.
///
/// ```
/// use tenon_agent::{AgentOptions, Masking};
/// use tenon_model::KnownValue;
/// # use std::sync::Arc;
/// # use tenon_model::ScriptedProvider;
/// # use tenon_sandbox::Workspace;
/// # let provider = Arc::new(ScriptedProvider::parse(r#"{"turns": [{"text": "Hello."}]}"#)?);
/// # let workspace = Workspace::open(".".as_ref())?;
/// # let sandbox = tenon_agent::Sandbox::unconfined(Vec::new());
///
/// let mut options = AgentOptions::new(provider, workspace, sandbox);
/// // Asked for once, when there is something to show.
/// options.masking = Masking::new(|| vec![KnownValue::new("s3cret-0123", "DB_PASSWORD", "vault")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Masking {
    /// Nothing is masked without it.
    shared: Option<Arc<Shared>>,
}

struct Shared {
    known: RwLock<Arc<Known>>,
    sources: Mutex<Sources>,
    /// Whether the whole workspace was gone through.
    is_walked: AtomicBool,
}

/// The search for what is known.
#[derive(Default)]
struct Known {
    all: Arc<Masks>,
    /// For what a model cannot have put where it is found: a question masks nothing else.
    unwritten: Masks,
    /// The names of values that the workspace's files hold and that may be commands.
    perhaps_commands: Vec<String>,
}

/// Where values come from. Held while files are read, which what only masks never waits for.
struct Sources {
    load: Option<Box<dyn FnOnce() -> Vec<KnownValue> + Send>>,
    known: Vec<KnownValue>,
    files: EnvFiles,
}

impl Masking {
    /// Returns the masking of the values that `load` returns, which is called once, and of the
    /// `.env` files of the workspace.
    ///
    /// ```
    /// use tenon_agent::Masking;
    ///
    /// let only_files_of_the_workspace = Masking::new(Vec::new);
    /// ```
    pub fn new(load: impl FnOnce() -> Vec<KnownValue> + Send + 'static) -> Self {
        let sources =
            Sources { load: Some(Box::new(load)), known: Vec::new(), files: EnvFiles::default() };
        let (known, is_walked) = (RwLock::default(), AtomicBool::new(false));
        let shared = Shared { known, sources: Mutex::new(sources), is_walked };
        Self { shared: Some(Arc::new(shared)) }
    }

    /// Returns a masking that masks nothing.
    ///
    /// ```
    /// use tenon_agent::Masking;
    ///
    /// let everything_is_shown = Masking::off();
    /// ```
    pub fn off() -> Self {
        Self { shared: None }
    }

    /// Reads what is there before anything is shown: the given values and the files `.env*` at the
    /// roots. What an agent shows it does by itself.
    ///
    /// ```
    /// use tenon_agent::Masking;
    /// use tenon_model::KnownValue;
    /// # use tenon_sandbox::Workspace;
    ///
    /// let masking = Masking::new(|| vec![KnownValue::new("s3cret-0123", "DB_PASSWORD", "vault")]);
    /// masking.open(&Workspace::open(".".as_ref())?);
    /// let shown = masking.mask("it is s3cret-0123".to_owned());
    /// assert_eq!(shown, "it is [masked: value of DB_PASSWORD from vault]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(&self, workspace: &Workspace) {
        self.look_with(|files| files.look(workspace, &[]));
    }

    /// Does the same for several workspaces, whose values are all known then.
    ///
    /// ```
    /// use tenon_agent::Masking;
    /// # use tenon_sandbox::Workspace;
    ///
    /// let (one, two) = (tempfile::tempdir()?, tempfile::tempdir()?);
    /// std::fs::write(one.path().join(".env"), "A_KEY=k-0123456789a\n")?;
    /// std::fs::write(two.path().join(".env"), "B_KEY=k-0123456789b\n")?;
    /// let masking = Masking::new(Vec::new);
    /// masking.open_all(&mut [one, two].iter().flat_map(|folder| Workspace::open(folder.path())));
    /// let shown = masking.mask("k-0123456789a k-0123456789b".to_owned());
    /// assert_eq!(shown, "[masked: value of A_KEY from .env] [masked: value of B_KEY from .env]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_all(&self, workspaces: &mut dyn Iterator<Item = Workspace>) {
        self.look_with(|files| {
            let has_news = workspaces.map(|workspace| files.look(&workspace, &[]));
            has_news.filter(|is_new| *is_new).count() > 0
        });
    }

    /// Reads what [`Masking::open`] does and what is beneath the roots: goes through the whole workspace if nobody has,
    /// and looks again at the files that are known.
    ///
    /// ```
    /// use tenon_agent::Masking;
    /// # use tenon_sandbox::Workspace;
    ///
    /// let folder = tempfile::tempdir()?;
    /// std::fs::create_dir(folder.path().join("app"))?;
    /// std::fs::write(folder.path().join("app/.env"), "A_KEY=k-0123456789a\n")?;
    /// let masking = Masking::new(Vec::new);
    /// masking.read_all(&Workspace::open(folder.path())?);
    /// let shown = masking.mask("k-0123456789a".to_owned());
    /// assert_eq!(shown, "[masked: value of A_KEY from app/.env]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_all(&self, workspace: &Workspace) {
        let Some(shared) = &self.shared else { return };
        self.look_with(|files| files.walk(workspace) || files.look(workspace, &[]));
        shared.is_walked.store(true, Ordering::Release);
    }

    /// Takes the values of a file of variables in that is not in the workspace as it was: `text` is
    /// what `path` held. Any other file has none.
    ///
    /// ```
    /// use tenon_agent::Masking;
    ///
    /// let masking = Masking::new(Vec::new);
    /// masking.learn(".env".as_ref(), "A_KEY=k-0123456789a\n");
    /// assert_eq!(masking.mask("k-0123456789a".to_owned()), "[masked: value of A_KEY from .env]");
    /// ```
    pub fn learn(&self, path: &Path, text: &str) {
        self.look_with(|files| files.learn(path, text));
    }

    /// Returns whether the file at `path` is one of variables, by its name.
    ///
    /// ```
    /// use tenon_agent::Masking;
    ///
    /// assert!(Masking::is_file_of_variables("app/.env.local".as_ref()));
    /// assert!(!Masking::is_file_of_variables("app/.env.example".as_ref()));
    /// ```
    pub fn is_file_of_variables(path: &Path) -> bool {
        path.file_name().and_then(OsStr::to_str).is_some_and(env_files::is_wanted)
    }

    /// Begins to go through the whole workspace once, while the model is waited for.
    pub(crate) fn begin_walk(&self, workspace: &Workspace) -> Option<OffThread<()>> {
        let shared = Arc::clone(self.shared.as_ref()?);
        if shared.is_walked.load(Ordering::Acquire) {
            return None;
        }
        let (masking, workspace) = (self.clone(), workspace.clone());
        Some(off_thread(move || {
            masking.look_with(|files| files.walk(&workspace));
            shared.is_walked.store(true, Ordering::Release);
        }))
    }

    /// Looks for new values: in the `.env*` files that are known and in the folders that `arguments`
    /// of a call name. The first time it waits until the whole workspace was gone through.
    pub(crate) async fn look(&self, workspace: &Workspace, arguments: &Value) {
        if let Some(walk) = self.begin_walk(workspace) {
            // Only a panic inside comes back as an error: the values of the roots are known then.
            let _ = walk.await;
        }
        let touched = env_files::touched(arguments);
        self.look_with(|files| files.look(workspace, &touched));
    }

    fn look_with(&self, look: impl FnOnce(&mut EnvFiles) -> bool) {
        let Some(shared) = &self.shared else { return };
        let mut sources = shared.sources();
        let loaded = sources.load.take();
        let is_first = loaded.is_some();
        sources.known.extend(loaded.into_iter().flat_map(|load| load()));
        if look(&mut sources.files) || is_first {
            let values: Vec<_> =
                sources.known.iter().chain(sources.files.values()).cloned().collect();
            *shared.known.write().unwrap_or_else(PoisonError::into_inner) =
                Arc::new(Known::new(values));
        }
    }

    fn known(&self) -> Arc<Known> {
        match &self.shared {
            Some(shared) => {
                Arc::clone(&shared.known.read().unwrap_or_else(PoisonError::into_inner))
            }
            None => Arc::default(),
        }
    }

    fn masks(&self) -> Arc<Masks> {
        Arc::clone(&self.known().all)
    }

    /// Returns `text` without the values that are known now.
    ///
    /// ```
    /// use tenon_agent::Masking;
    ///
    /// assert_eq!(Masking::off().mask("as it is".to_owned()), "as it is");
    /// ```
    pub fn mask(&self, text: String) -> String {
        match self.masks().mask(&text) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => text,
        }
    }

    /// Returns `text` as a question shows it: without the values that are known now, but for those
    /// that the workspace's files hold, too. A model may have written them there so that the person
    /// who is asked cannot see what would be done.
    ///
    /// ```
    /// use tenon_agent::Masking;
    ///
    /// let masking = Masking::new(Vec::new);
    /// masking.learn(".env".as_ref(), "A_KEY='sudo touch /x'\n");
    /// assert_eq!(masking.mask("sudo touch /x".to_owned()), "[masked: value of A_KEY from .env]");
    /// assert_eq!(masking.asked("sudo touch /x".to_owned()), "sudo touch /x");
    /// ```
    pub fn asked(&self, text: String) -> String {
        match self.known().unwritten.mask(&text) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => text,
        }
    }

    /// Returns the names in `masked` that stand for values which the workspace's files hold and which have
    /// other characters than a key has, so that each may be a command that a model wrote there.
    ///
    /// ```
    /// use tenon_agent::Masking;
    ///
    /// let masking = Masking::new(Vec::new);
    /// masking.learn(".env".as_ref(), "A_KEY='k-012345;touch /x'\nB_KEY=k-0123456789b\n");
    /// let masked = masking.mask("a k-012345;touch /x k-0123456789b".to_owned());
    /// assert_eq!(masking.perhaps_commands(&masked), ["[masked: value of A_KEY from .env]"]);
    /// ```
    pub fn perhaps_commands(&self, masked: &str) -> Vec<String> {
        let known = self.known();
        known.perhaps_commands.iter().filter(|label| masked.contains(*label)).cloned().collect()
    }

    /// Returns `question` with its texts as [`Masking::asked`] shows them.
    pub(crate) fn question(&self, question: Question) -> Question {
        question::masked(question, &self.known().unwritten)
    }

    /// Returns what `part` of `text` shows, without the values that are known now, also those that
    /// an end of it goes through. A tool that cuts what it shows cuts it so: what surrounds tools
    /// knows values only where they are whole.
    ///
    /// ```
    /// use tenon_agent::Masking;
    ///
    /// assert_eq!(Masking::off().part("a long line", 0..6), "a long");
    /// ```
    pub fn part(&self, text: &str, part: Range<usize>) -> String {
        self.masks().mask_part(text, part)
    }

    /// Returns `arguments` without the values that are known now.
    pub(crate) fn arguments(&self, arguments: &Value) -> Value {
        let mut masked = arguments.clone();
        mask_value(&self.masks(), &mut masked);
        masked
    }

    /// Returns a stream that masks the values that are known now.
    ///
    /// ```
    /// use tenon_agent::Masking;
    ///
    /// let masking = Masking::new(Vec::new);
    /// masking.learn(".env".as_ref(), "A_KEY=k-0123456789a\n");
    /// let mut stream = masking.stream();
    /// assert_eq!(stream.push("it is k-0123"), "it is ");
    /// assert_eq!(stream.push("456789a."), "[masked: value of A_KEY from .env].");
    /// ```
    pub fn stream(&self) -> MaskStream {
        MaskStream::new(self.masks())
    }

    /// Returns `prompt` with its words masked.
    pub(crate) fn prompt(&self, prompt: Prompt) -> Prompt {
        let context = prompt.context.into_iter().map(|text| self.mask(text)).collect();
        Prompt { text: self.mask(prompt.text), context, ..prompt }
    }

    /// Returns `record` with every text in it masked.
    ///
    /// ```
    /// use tenon_agent::{Masking, Record};
    ///
    /// let masking = Masking::new(Vec::new);
    /// masking.learn(".env".as_ref(), "A_KEY=k-0123456789a\n");
    /// let said = r#"{"time_ms":5,"type":"notice","text":"it is k-0123456789a"}"#;
    /// let record = masking.record(serde_json::from_str::<Record>(said)?);
    /// let text = serde_json::to_string(&record)?;
    /// assert!(text.contains("it is [masked: value of A_KEY from .env]"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record(&self, record: Record) -> Record {
        let masks = self.masks();
        if masks.is_empty() {
            return record;
        }
        let Ok(mut value) = serde_json::to_value(&record) else { return record };
        if !mask_value(&masks, &mut value) {
            return record;
        }
        // A value may stand where the format has a word of its own, such as `text`. Then the record
        // stays as it is, which says nothing that the format does not.
        let Ok(mut masked) = serde_json::from_value::<Record>(value) else { return record };
        // Their bytes are in no JSON, and nothing in them is masked.
        for (image, whole) in masked.event.images_mut().zip(record.event.images()) {
            image.data = Arc::clone(&whole.data);
        }
        masked
    }

    /// Returns why a call with these `arguments` must not change anything: they hold what stands
    /// for a value, and the value would be lost.
    pub(crate) fn refusal(&self, arguments: &Value) -> Option<String> {
        let masks = self.masks();
        let label = texts(arguments).find_map(|text| masks.label_in(text).map(str::to_owned))?;
        Some(format!(
            "nothing was done: `{label}` is not what the file holds but stands for a secret that \
             is not shown, and writing it would destroy the secret. Leave that part as it is: \
             edit_file with the text around it, or a command such as sed that does not name it."
        ))
    }
}

impl Known {
    fn new(mut values: Vec<KnownValue>) -> Self {
        let all = Arc::new(Masks::new(&values));
        let of_workspace = values.iter().filter(|known| known.is_of_workspace());
        let written: HashSet<String> =
            of_workspace.map(|known| known.secret().expose().to_owned()).collect();
        let perhaps = |known: &&KnownValue| {
            let value = known.secret().expose();
            written.contains(value) && !value.chars().all(is_of_key)
        };
        let mut perhaps_commands: Vec<String> =
            values.iter().filter(perhaps).map(|known| known.label().to_owned()).collect();
        perhaps_commands.sort_unstable();
        perhaps_commands.dedup();
        // One that tenon's environment has from a file of the workspace may be the model's as well.
        values.retain(|known| !written.contains(known.secret().expose()));
        Self { all, unwritten: Masks::new(&values), perhaps_commands }
    }
}

impl Shared {
    fn sources(&self) -> MutexGuard<'_, Sources> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Masking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Masking").field("masks", &self.masks()).finish()
    }
}

impl TextFilter for Masking {
    fn begin(&self) -> Box<dyn FilteredText> {
        Box::new(Filtered(self.stream()))
    }
}

/// A text of a command on its way out.
struct Filtered(MaskStream);

impl FilteredText for Filtered {
    fn push(&mut self, text: &str) -> Vec<String> {
        self.0.push_piece(text)
    }

    fn finish(&mut self) -> Vec<String> {
        self.0.finish_pieces()
    }

    fn held(&self) -> Vec<&str> {
        self.0.held_pieces()
    }
}

/// Whether keys have such a letter, and no shell reads it as more than a part of a word.
fn is_of_key(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "._~+/=-@:".contains(letter)
}

/// Masks every text in `value` and returns whether there was something to mask.
fn mask_value(masks: &Masks, value: &mut Value) -> bool {
    match value {
        Value::String(text) => match masks.mask(text) {
            Cow::Owned(masked) => {
                *text = masked;
                true
            }
            Cow::Borrowed(_) => false,
        },
        Value::Array(values) => {
            values.iter_mut().fold(false, |any, value| mask_value(masks, value) | any)
        }
        Value::Object(fields) => {
            let masked = |name: &String| match masks.mask(name) {
                Cow::Owned(masked) => Some((name.clone(), masked)),
                Cow::Borrowed(_) => None,
            };
            let names: Vec<_> = fields.keys().filter_map(masked).collect();
            let is_masked = !names.is_empty();
            for (name, masked) in names {
                let value = fields.remove(&name).unwrap_or_default();
                fields.insert(masked, value);
            }
            fields.values_mut().fold(is_masked, |any, value| mask_value(masks, value) | any)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns every text in `value`.
fn texts(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(values) => Box::new(values.iter().flat_map(texts)),
        Value::Object(fields) => Box::new(fields.values().flat_map(texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Box::new(std::iter::empty()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        event::{CallEvent, View},
        tools::testing::Bench,
    };

    fn known() -> Masking {
        let masking =
            Masking::new(|| vec![KnownValue::new("s3cret-word-0123", "KEY", "the environment")]);
        masking.open(&Bench::new().context.workspace);
        masking
    }

    const LABEL: &str = "[masked: value of KEY from the environment]";

    #[test]
    fn every_text_of_a_record_is_masked() {
        let result = |text: &str| Record {
            time_ms: 1,
            event: CallEvent::ToolResult {
                call_id: "a".into(),
                content: format!("x {text}"),
                is_error: false,
                view: View::text(text),
                images: Vec::new(),
                duration_ms: 1,
                cut_short: false,
                job: None,
            }
            .into(),
        };
        assert_eq!(known().record(result("s3cret-word-0123")), result(LABEL));
        let arguments = json!({"a": ["s3cret-word-\n0123"], "s3cret-word-0123": 1});
        let call =
            tenon_model::ToolCall { id: "1".into(), name: "x".into(), arguments, fault: None };
        let started = CallEvent::CallStarted { call, subject: String::new() };
        let masked = known().record(Record { time_ms: 1, event: started.into() });
        let json = serde_json::to_string(&masked).unwrap();
        assert!(json.contains(LABEL) && !json.contains("s3cret"), "{json}");
    }

    #[test]
    fn what_stands_for_a_value_is_never_written() {
        let masking = known();
        assert_eq!(masking.refusal(&json!({"content": "KEY=other"})), None);
        let refusal = masking.refusal(&json!({"content": format!("KEY={LABEL}\n")})).unwrap();
        assert!(refusal.contains(LABEL), "{refusal}");
        assert_eq!(Masking::off().refusal(&json!({"content": LABEL})), None);
    }
}

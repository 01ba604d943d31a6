//! The map from tool names to tools, and the list of the core tools.

mod arguments;
mod background;
mod bash;
mod by_ssh;
mod crowded;
mod diff;
mod edit_file;
mod foreseen;
mod function;
mod git_settings;
mod glob;
mod grep;
mod held;
mod jobs;
mod judge;
mod kernel;
mod led_up;
mod limits;
mod listed;
mod node_errors;
mod of_others;
mod outside;
mod own_lines;
mod path_pattern;
mod protected;
mod ran_in;
mod read_file;
mod recall;
mod refused_calls;
mod refused_files;
mod refused_moves;
mod refused_own;
mod refused_toolchains;
mod refused_words;
mod said;
mod sandbox;
mod set_id;
mod sight;
mod streams;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod text_file;
mod this_machine;
mod tool;
mod unfound;
mod unkept;
mod unlisted;
mod unreached;
mod unseen;
mod write_file;

use std::sync::Arc;

use tenon_model::ToolSpec;

pub use arguments::ArgumentError;
pub(crate) use background::overtime_in;
pub(crate) use bash::BASH;
pub use bash::why_not_started;
pub(crate) use diff::whole_lines;
pub use diff::{diff_ops, hunks};
pub(crate) use edit_file::EarlierEdits;
pub use foreseen::protected_writes;
pub use function::tool;
pub(crate) use jobs::{news as job_news, put_back_first};
pub(crate) use judge::Judge;
pub use listed::Held;
pub(crate) use listed::WITHOUT_WALLS;
pub(crate) use protected::answer_in;
pub use recall::Recall;
pub(crate) use recall::{RECALL_LIST, RecallTool};
pub use sandbox::Sandbox;
pub(crate) use sight::is_of_place;
pub(crate) use streams::apart;
pub use tool::{AnyTool, Effect, PreparedCall, Progress, Tool, ToolContext, ToolOutput};
pub(crate) use tool::{AskOvertime, Overtime};
pub(crate) use write_file::WRITE_FILE;

/// The most characters of a result that the model is shown, unless configured otherwise.
pub(crate) const RESULT_CHARS_MAX: usize = 50_000;

/// The most names that an error for an unknown tool lists.
const NEAREST_MAX: usize = 3;

/// How much of the name of a tool that does not exist is compared, and said again.
const NAME_CHARS_MAX: usize = 64;

/// What the core tools leave open.
///
/// ```
/// use tenon_agent::{CoreToolOptions, core_tools};
///
/// let usual = CoreToolOptions::default();
/// assert_eq!((usual.result_chars_max, usual.bash_output_chars_max), (50_000, 10_000));
/// assert_eq!((usual.bash_timeout_default_s, usual.bash_timeout_max_s), (120, 600));
/// let patient = core_tools(CoreToolOptions { bash_timeout_max_s: 7_200, ..usual });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreToolOptions {
    /// Edits and globs do what was probably meant, for models that cannot mend a refusal.
    pub is_forgiving: bool,
    /// `read_file` shows images, for models that see them.
    pub shows_images: bool,
    /// The most characters of a result, in which `read_file` leaves room for its note.
    pub result_chars_max: usize,
    /// The most characters of a command's output in a result.
    pub bash_output_chars_max: usize,
    /// Seconds for a command that asks for no other time.
    pub bash_timeout_default_s: u64,
    /// Seconds for any command.
    pub bash_timeout_max_s: u64,
    /// Commands run inside walls ([`Sandbox::within`]), which the model is told.
    pub is_confined: bool,
    /// `bash` can start commands in the background, and the tool `jobs` comes with it.
    pub has_jobs: bool,
}

impl Default for CoreToolOptions {
    fn default() -> Self {
        Self {
            is_forgiving: false,
            shows_images: false,
            result_chars_max: RESULT_CHARS_MAX,
            bash_output_chars_max: bash::OUTPUT_CHARS_MAX,
            bash_timeout_default_s: bash::TIMEOUT_DEFAULT_S,
            bash_timeout_max_s: bash::TIMEOUT_MAX_S,
            is_confined: false,
            has_jobs: false,
        }
    }
}

/// Returns the tools that every session has.
///
/// ```
/// use tenon_agent::{CoreToolOptions, core_tools};
///
/// let specs = core_tools(CoreToolOptions::default()).specs();
/// let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
/// assert_eq!(names, ["read_file", "write_file", "edit_file", "grep", "glob", "bash"]);
/// let more = core_tools(CoreToolOptions { has_jobs: true, ..CoreToolOptions::default() });
/// assert!(more.get("jobs").is_some());
/// ```
pub fn core_tools(options: CoreToolOptions) -> Tools {
    let bash = bash::Bash {
        output_chars_max: options.bash_output_chars_max,
        timeout_default_s: options.bash_timeout_default_s,
        timeout_max_s: options.bash_timeout_max_s,
        is_confined: options.is_confined,
    };
    let edits = EarlierEdits::default();
    let tools = Tools { edits: edits.clone(), ..Tools::new() }
        .with(read_file::ReadFile {
            chars_max: options.result_chars_max,
            shows_images: options.shows_images,
        })
        .with(write_file::WriteFile)
        .with(edit_file::EditFile::new(options.is_forgiving, edits))
        .with(grep::Grep)
        .with(glob::Glob { is_forgiving: options.is_forgiving });
    match options.has_jobs {
        true => tools.with(background::BackgroundBash(bash)).with(jobs::JobsTool(bash)),
        false => tools.with(bash),
    }
}

/// The tools of a session, in the order in which the model sees them.
///
/// ```
/// use serde_json::Value;
/// use tenon_agent::{CoreToolOptions, core_tools, tool};
///
/// let deploy = tool::<Value>("deploy", "Deploys the site.", |_| Ok("It is live.".into()));
/// let tools = core_tools(CoreToolOptions::default()).with(deploy);
/// assert_eq!(tools.specs().len(), 7);
/// ```
#[derive(Clone, Default)]
pub struct Tools {
    tools: Vec<Arc<dyn AnyTool>>,
    by_name: std::collections::HashMap<String, usize>,
    /// What `edit_file` remembers, if it is among them.
    edits: EarlierEdits,
}

impl Tools {
    /// Returns an empty map.
    ///
    /// ```
    /// use tenon_agent::Tools;
    ///
    /// // A model without tools can only talk.
    /// assert!(Tools::new().specs().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `tool`; one of the same name is replaced and keeps its place.
    ///
    /// ```
    /// use serde_json::Value;
    /// use tenon_agent::{CoreToolOptions, core_tools, tool};
    ///
    /// // The model's `bash` is now ours, in the place of the built-in one.
    /// let bash = tool::<Value>("bash", "Says no.", |_| Err("there is no shell here".into()));
    /// let tools = core_tools(CoreToolOptions::default()).with(bash);
    /// assert_eq!(tools.specs().len(), 6);
    /// ```
    #[must_use]
    pub fn with(self, tool: impl Tool) -> Self {
        self.with_any(Arc::new(tool))
    }

    /// Adds a tool that is shared or not typed; one of the same name is replaced.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use serde_json::Value;
    /// use tenon_agent::{AnyTool, Tools, tool};
    ///
    /// let clock: Arc<dyn AnyTool> = Arc::new(tool::<Value>("clock", "Tells it.", |_| Ok("9:00".into())));
    /// // One clock for two agents.
    /// let tools = [Tools::new().with_any(Arc::clone(&clock)), Tools::new().with_any(clock)];
    /// ```
    #[must_use]
    pub fn with_any(mut self, tool: Arc<dyn AnyTool>) -> Self {
        let name = tool.name().to_owned();
        match self.by_name.get(&name).and_then(|index| self.tools.get_mut(*index)) {
            Some(place) => *place = tool,
            None => {
                self.by_name.insert(name, self.tools.len());
                self.tools.push(tool);
            }
        }
        self
    }

    /// Takes the tool called `name` away.
    pub(crate) fn without(self, name: &str) -> Self {
        let others = self.tools.into_iter().filter(|tool| tool.name() != name);
        others.fold(Self { edits: self.edits, ..Self::new() }, Self::with_any)
    }

    /// Returns what is remembered of edits.
    pub(crate) fn edits(&self) -> &EarlierEdits {
        &self.edits
    }

    /// Returns the tool called `name`.
    ///
    /// ```
    /// use tenon_agent::{CoreToolOptions, core_tools};
    ///
    /// let tools = core_tools(CoreToolOptions::default());
    /// assert!(tools.get("bash").is_some());
    /// assert!(tools.get("Bash").is_none());
    /// ```
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.by_name.get(name).and_then(|index| self.tools.get(*index))
    }

    /// Returns the tools as the model sees them.
    ///
    /// ```
    /// use tenon_agent::{CoreToolOptions, core_tools};
    ///
    /// let bash = core_tools(CoreToolOptions::default()).specs().pop().ok_or("no tools")?;
    /// assert_eq!(bash.name, "bash");
    /// assert_eq!(bash.schema["properties"]["command"]["type"], "string");
    /// # Ok::<(), &str>(())
    /// ```
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec()).collect()
    }

    /// Returns what the model is told when it calls a tool that does not exist.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let cut = name.char_indices().nth(NAME_CHARS_MAX).map(|(at, _)| at);
        let shown = cut.and_then(|at| name.get(..at)).map(|start| format!("{start}…"));
        let name = shown.as_deref().unwrap_or(name);
        let mut names: Vec<(usize, &str)> =
            self.tools.iter().map(|tool| (distance(name, tool.name()), tool.name())).collect();
        names.sort();
        let nearest: Vec<&str> = names.iter().take(NEAREST_MAX).map(|(_, name)| *name).collect();
        match nearest.as_slice() {
            [] => format!("Unknown tool: {name}"),
            nearest => format!("Unknown tool: {name}. Nearest: {}", nearest.join(", ")),
        }
    }
}

/// Levenshtein distance over bytes, after Wagner and Fischer (1974); names are short.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = i;
        let mut last = i + 1;
        if let Some(first) = row.first_mut() {
            *first = last;
        }
        for (cell, b) in row.iter_mut().skip(1).zip(right.bytes()) {
            let next = (diagonal + usize::from(a != b)).min(*cell + 1).min(last + 1);
            diagonal = *cell;
            *cell = next;
            last = next;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_tools_leave_room_in_the_first_request() {
        let specs = core_tools(CoreToolOptions::default()).specs();
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["read_file", "write_file", "edit_file", "grep", "glob", "bash"]);
        let bytes: usize = specs
            .iter()
            .map(|spec| spec.name.len() + spec.description.len() + spec.schema.to_string().len())
            .sum();
        assert!(bytes <= 3_600, "{bytes} bytes");
    }

    #[test]
    fn jobs_add_less_than_400_bytes_to_every_request() {
        let bytes = |has_jobs| {
            let options =
                CoreToolOptions { has_jobs, is_confined: true, ..CoreToolOptions::default() };
            let specs = core_tools(options).specs();
            specs.iter().map(|spec| serde_json::to_string(spec).unwrap().len()).sum::<usize>()
        };
        let added = bytes(true) - bytes(false);
        assert!(added < 400, "{added} bytes");
    }

    #[test]
    fn spec_10_an_unknown_name_is_answered_with_the_nearest() {
        let tools = core_tools(CoreToolOptions::default());
        let expected = "Unknown tool: readfile. Nearest: read_file, edit_file, write_file";
        assert_eq!(tools.unknown("readfile"), expected);
        let long = tools.unknown(&"读".repeat(100_000));
        assert!(long.starts_with(&format!("Unknown tool: {}…. Nearest: ", "读".repeat(64))));
    }
}

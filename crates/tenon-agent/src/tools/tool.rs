//! What a tool is: a name, a description, a schema, an effect and a `run`.
//!
//! [`Tool`] is what one writes, with an argument struct of its own; [`AnyTool`] is what the map
//! holds. A tool sees a [`ToolContext`] and nothing else: never the session, never a path string
//! of the real file system.

use std::{future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tenon_model::{Image, ToolSpec};
use tenon_sandbox::{NetworkEvent, Workspace};
use tokio_util::sync::CancellationToken;

use super::{
    arguments::{self, ArgumentError},
    judge::Judge,
    listed::Held,
    sandbox::Sandbox,
};
use crate::{
    event::{CallChanges, View},
    masking::Masking,
    policy::Action,
};

/// A tool with typed arguments. Implement this; the map, dispatch, argument checks, approvals and
/// the box on the screen follow from it.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use tenon_agent::{Effect, Tool, ToolContext, ToolOutput, Tools};
///
/// /// Counts the lines of a file.
/// struct CountLines;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct CountLinesArgs {
///     /// The file, relative to the workspace.
///     path: String,
/// }
///
/// impl Tool for CountLines {
///     type Args = CountLinesArgs;
///
///     fn name(&self) -> &str {
///         "count_lines"
///     }
///
///     fn description(&self) -> &str {
///         "Counts the lines of a file."
///     }
///
///     fn effect(&self, _args: &CountLinesArgs) -> Effect {
///         Effect::Read
///     }
///
///     fn subject(&self, args: &CountLinesArgs) -> String {
///         args.path.clone()
///     }
///
///     async fn run(&self, args: CountLinesArgs, context: &ToolContext) -> Result<ToolOutput, String> {
///         let bytes = context.workspace.read(&args.path, 1 << 20).map_err(|e| e.to_string())?;
///         let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
///         Ok(ToolOutput::text(format!("{lines} lines")))
///     }
/// }
///
/// assert_eq!(Tools::new().with(CountLines).specs()[0].name, "count_lines");
/// ```
pub trait Tool: Send + Sync + 'static {
    /// The arguments. Doc comments of the fields are what the model reads.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;

    /// Returns the name by which the model calls the tool.
    fn name(&self) -> &str;

    /// Returns when and how to use it, for the model. Every byte is sent with every request.
    fn description(&self) -> &str;

    /// Returns what a call with `args` may do.
    fn effect(&self, args: &Self::Args) -> Effect;

    /// Returns the main argument as people see it on the box.
    fn subject(&self, args: &Self::Args) -> String;

    /// Returns what a call with `args` would touch, for the policy.
    ///
    /// A tool that touches files says so, and rules such as `count_lines(secrets/**)` hold for it:
    ///
    /// ```
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    /// # use tenon_agent::{Action, Effect, Tool, ToolContext, ToolOutput};
    /// # use tenon_sandbox::Workspace;
    /// # #[derive(Deserialize, JsonSchema)]
    /// # struct CountLinesArgs { path: String }
    /// # struct CountLines;
    /// impl Tool for CountLines {
    ///     # type Args = CountLinesArgs;
    ///     # fn name(&self) -> &str { "count_lines" }
    ///     # fn description(&self) -> &str { "" }
    ///     # fn effect(&self, _args: &CountLinesArgs) -> Effect { Effect::Read }
    ///     # fn subject(&self, args: &CountLinesArgs) -> String { args.path.clone() }
    ///     # async fn run(&self, _: CountLinesArgs, _: &ToolContext) -> Result<ToolOutput, String> {
    ///     #     Err(String::new())
    ///     # }
    ///     fn action(&self, args: &CountLinesArgs, _workspace: &Workspace) -> Action {
    ///         Action::Read { paths: vec![args.path.clone()] }
    ///     }
    ///     // The other methods as above.
    /// }
    /// let workspace = Workspace::open(".".as_ref())?;
    /// let action = CountLines.action(&CountLinesArgs { path: "a.txt".into() }, &workspace);
    /// assert_eq!(action, Action::Read { paths: vec!["a.txt".into()] });
    /// # Ok::<(), tenon_sandbox::FileError>(())
    /// ```
    fn action(&self, args: &Self::Args, _workspace: &Workspace) -> Action {
        Action::Other { subject: self.subject(args) }
    }

    /// Returns what a file that holds `bytes` would hold after a call with `args`, for the person who is
    /// asked about it; `None` where the arguments say all of it, or nothing would be written.
    ///
    /// ```
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    /// # use tenon_agent::{Effect, Tool, ToolContext, ToolOutput};
    /// # #[derive(Deserialize, JsonSchema)]
    /// # struct AppendArgs { line: String }
    /// # struct Append;
    /// impl Tool for Append {
    ///     # type Args = AppendArgs;
    ///     # fn name(&self) -> &str { "append" }
    ///     # fn description(&self) -> &str { "" }
    ///     # fn effect(&self, _args: &AppendArgs) -> Effect { Effect::Write }
    ///     # fn subject(&self, args: &AppendArgs) -> String { args.line.clone() }
    ///     # async fn run(&self, _: AppendArgs, _: &ToolContext) -> Result<ToolOutput, String> {
    ///     #     Err(String::new())
    ///     # }
    ///     fn would_hold(&self, args: &AppendArgs, bytes: &[u8]) -> Option<Vec<u8>> {
    ///         Some([bytes, args.line.as_bytes(), b"\n"].concat())
    ///     }
    ///     // The other methods as above.
    /// }
    /// let held = Append.would_hold(&AppendArgs { line: "two".into() }, b"one\n");
    /// assert_eq!(held.unwrap(), b"one\ntwo\n");
    /// ```
    fn would_hold(&self, _args: &Self::Args, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Does the work. An error that the model can act on is an `Err` text.
    fn run(
        &self,
        args: Self::Args,
        context: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, String>> + Send;
}

/// What a call may do, known from its arguments.
///
/// ```
/// use serde_json::json;
/// use tenon_agent::{CoreToolOptions, Effect, core_tools};
/// use tenon_sandbox::Workspace;
///
/// let (tools, workspace) = (core_tools(CoreToolOptions::default()), Workspace::open(".".as_ref())?);
/// let bash = tools.get("bash").ok_or("no such tool")?;
/// // The arguments decide: a command that surely only reads may run beside others.
/// assert_eq!(bash.prepare(&json!({"command": "ls -l"}), &workspace)?.effect, Effect::Read);
/// assert_eq!(bash.prepare(&json!({"command": "make"}), &workspace)?.effect, Effect::Run);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Looks only; runs beside other calls that read.
    Read,
    /// Changes files; overlaps no other call.
    Write,
    /// Runs a process; overlaps no other call.
    Run,
}

/// What a call gives back.
///
/// ```
/// use tenon_agent::ToolOutput;
///
/// fn divide(a: f64, b: f64) -> ToolOutput {
///     if b == 0.0 { ToolOutput::error("b is 0") } else { ToolOutput::text((a / b).to_string()) }
/// }
///
/// assert_eq!(divide(1.0, 2.0).content, "0.5");
/// assert!(divide(1.0, 0.0).is_error);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: String,
    /// Whether the call failed in a way that the result describes (exit code 1, timeout).
    pub is_error: bool,
    /// Pictures that the model sees with it.
    pub images: Vec<Image>,
    /// How people see it; [`View::text`] of the content if there is nothing better.
    pub view: Option<View>,
    /// The exit code, if the call ran a command that has one.
    pub exit_code: Option<i32>,
    /// The number of the job that the call began: a command that went on in the background.
    pub job: Option<u32>,
    /// What the proxy let through to no host. A person is asked about those that can be allowed.
    pub blocked: Vec<NetworkEvent>,
    /// What the command ran that tried these hosts, as far as its line says: names of programs without
    /// folders, in its order. They say which toolchain's hosts are meant.
    pub programs: Vec<String>,
    /// System calls that the walls refused a command, in words for people.
    pub refused: Vec<&'static str>,
    /// What else they refused it, as its result says.
    pub held: Vec<Held>,
    /// What calls did to the files, as far as it became known with this one: this call and jobs that
    /// ended. Filled in by what surrounds a tool.
    pub changed: Vec<CallChanges>,
}

/// Everything that a running call gets.
///
/// Tests of a tool make one themselves:
///
/// ```
/// use serde_json::{Value, json};
/// use tenon_agent::{Masking, Progress, Sandbox, Tool, ToolContext, ToolOutput, tool};
/// use tenon_sandbox::Workspace;
/// use tokio_util::sync::CancellationToken;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let context = ToolContext {
///     workspace: Workspace::open(folder.path())?,
///     sandbox: Sandbox::unconfined(Vec::new()),
///     cancel: CancellationToken::new(),
///     progress: Progress::silent(),
///     masking: Masking::off(),
/// };
/// let greet = tool::<Value>("greet", "Greets.", |_| Ok("Hello.".into()));
/// assert_eq!(greet.run(json!({}), &context).await, Ok(ToolOutput::text("Hello.")));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ToolContext {
    /// The only way to files.
    pub workspace: Workspace,
    /// The only way to processes.
    pub sandbox: Sandbox,
    /// Set when the turn is cancelled; a tool that waits must watch it.
    pub cancel: CancellationToken,
    /// Where output is shown while the call runs.
    pub progress: Progress,
    /// By what a tool cuts a text: see [`Masking::part`].
    pub masking: Masking,
}

/// Shows output of a running call; cheap to clone.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use tenon_agent::Progress;
///
/// let shown = Arc::new(Mutex::new(String::new()));
/// let screen = Arc::clone(&shown);
/// let progress = Progress::new(move |text| screen.lock().unwrap().push_str(text));
/// progress.show("1 of 2\n");
/// progress.show("2 of 2\n");
/// assert_eq!(*shown.lock().unwrap(), "1 of 2\n2 of 2\n");
/// ```
#[derive(Clone)]
pub struct Progress {
    show: Arc<dyn Fn(&str) + Send + Sync>,
    overtime: Option<Arc<AskOvertime>>,
    judge: Option<Arc<dyn Judge>>,
}

/// Asks a person whether a command that reached its time limit may go on.
pub(crate) type AskOvertime = dyn Fn(Duration) -> BoxFuture<'static, Overtime> + Send + Sync;

/// What becomes of a command that reached its time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Overtime {
    /// It goes on in the background.
    GoOn,
    /// It is ended; the words of a person, if any, are for the model.
    End(Option<String>),
}

/// A tool as the map holds it: any arguments, checked at the call.
///
/// Implement it for a tool whose arguments are known only at run time, such as a plugin's; for any
/// other, implement [`Tool`], which makes it one of these.
///
/// ```
/// use std::sync::Arc;
///
/// use serde_json::{Value, json};
/// use tenon_agent::{
///     Action, AnyTool, ArgumentError, Effect, PreparedCall, ToolContext, ToolOutput, Tools,
/// };
/// use tenon_model::ToolSpec;
/// use tenon_sandbox::Workspace;
///
/// struct Plugin(ToolSpec);
///
/// #[async_trait::async_trait]
/// impl AnyTool for Plugin {
///     fn name(&self) -> &str {
///         &self.0.name
///     }
///
///     fn spec(&self) -> ToolSpec {
///         self.0.clone()
///     }
///
///     fn prepare(&self, arguments: &Value, _: &Workspace) -> Result<PreparedCall, ArgumentError> {
///         let Some(city) = arguments["city"].as_str() else {
///             return Err(ArgumentError::new("`city` is required (a string)"));
///         };
///         Ok(PreparedCall {
///             arguments: arguments.clone(),
///             effect: Effect::Read,
///             action: Action::Other { subject: city.into() },
///             subject: city.into(),
///         })
///     }
///
///     async fn run(&self, arguments: Value, _: &ToolContext) -> ToolOutput {
///         ToolOutput::text(format!("Rain, given {arguments}."))
///     }
/// }
///
/// let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
/// let description = "Tells the weather.".into();
/// let plugin = Plugin(ToolSpec { name: "weather".into(), description, schema });
/// let tools = Tools::new().with_any(Arc::new(plugin));
/// ```
#[async_trait]
pub trait AnyTool: Send + Sync {
    /// Returns the name by which the model calls the tool.
    fn name(&self) -> &str;

    /// Returns the tool as the model sees it.
    fn spec(&self) -> ToolSpec;

    /// Checks `arguments` and returns the call ready to be judged.
    ///
    /// # Errors
    /// Names the field, what was expected and what came.
    fn prepare(
        &self,
        arguments: &Value,
        workspace: &Workspace,
    ) -> Result<PreparedCall, ArgumentError>;

    /// Returns what [`Tool::would_hold`] does. `arguments` are what [`AnyTool::prepare`] returned.
    ///
    /// ```
    /// use serde_json::json;
    /// use tenon_agent::{CoreToolOptions, core_tools};
    ///
    /// let tools = core_tools(CoreToolOptions::default());
    /// let arguments = json!({"path": "a.txt", "old_text": "one", "new_text": "two"});
    /// let held = tools.get("edit_file").unwrap().would_hold(&arguments, b"one\n");
    /// assert_eq!(held.unwrap(), b"two\n");
    /// ```
    fn would_hold(&self, _arguments: &Value, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Runs the call. `arguments` are what [`AnyTool::prepare`] returned.
    async fn run(&self, arguments: Value, context: &ToolContext) -> ToolOutput;
}

/// A call whose arguments are in order.
///
/// ```
/// use serde_json::json;
/// use tenon_agent::{Action, CoreToolOptions, core_tools};
/// use tenon_sandbox::Workspace;
///
/// let tools = core_tools(CoreToolOptions::default());
/// let tool = tools.get("read_file").ok_or("no such tool")?;
/// let arguments = json!({"file_path": "a.rs", "limit": "5"});
/// let call = tool.prepare(&arguments, &Workspace::open(".".as_ref())?)?;
/// assert_eq!(call.arguments, json!({"path": "a.rs", "limit": 5}));
/// assert_eq!(call.action, Action::Read { paths: vec!["a.rs".into()] });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PreparedCall {
    /// The arguments with aliases replaced.
    pub arguments: Value,
    /// What it may do.
    pub effect: Effect,
    /// What it would touch.
    pub action: Action,
    /// Its main argument, for people.
    pub subject: String,
}

impl ToolOutput {
    /// Returns an output that the model and people read alike.
    ///
    /// ```
    /// use tenon_agent::ToolOutput;
    ///
    /// let output = ToolOutput::text("3 files match.");
    /// assert!(!output.is_error);
    /// ```
    pub fn text(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            is_error: false,
            images: Vec::new(),
            view: None,
            exit_code: None,
            job: None,
            blocked: Vec::new(),
            programs: Vec::new(),
            refused: Vec::new(),
            held: Vec::new(),
            changed: Vec::new(),
        }
    }

    /// Returns an error that the model can act on. `content` gets `Error: ` in front.
    ///
    /// ```
    /// use tenon_agent::ToolOutput;
    ///
    /// let output = ToolOutput::error("there is no ticket 7. Nearest: 6, 8");
    /// assert_eq!(output.content, "Error: there is no ticket 7. Nearest: 6, 8");
    /// ```
    pub fn error(message: impl std::fmt::Display) -> Self {
        Self { is_error: true, ..Self::text(format!("Error: {message}")) }
    }

    /// Sets how people see it.
    ///
    /// ```
    /// use tenon_agent::{ToolOutput, View};
    ///
    /// // The model reads one line, people see what changed.
    /// let view = View::diff("a.txt", "@@ -1 +1 @@\n-one\n+two\n");
    /// let output = ToolOutput::text("Edited a.txt.").with_view(view);
    /// ```
    #[must_use]
    pub fn with_view(mut self, view: View) -> Self {
        self.view = Some(view);
        self
    }

    /// Adds lines of tenon's own for the model and for people.
    pub(crate) fn add_own(&mut self, lines: &str) {
        self.content.push('\n');
        self.content.push_str(lines);
        if let Some(view) = &mut self.view {
            view.add_own(lines);
        }
    }
}

impl Progress {
    /// Returns a progress that calls `show` with each piece of output.
    ///
    /// ```
    /// use tenon_agent::Progress;
    ///
    /// let progress = Progress::new(|text| eprint!("{text}"));
    /// progress.show("half of it is done\n");
    /// ```
    pub fn new(show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { show: Arc::new(show), overtime: None, judge: None }
    }

    /// Returns a progress that shows nothing.
    ///
    /// ```
    /// use tenon_agent::Progress;
    ///
    /// Progress::silent().show("nobody sees this");
    /// ```
    pub fn silent() -> Self {
        Self::new(|_| {})
    }

    /// Shows `text`.
    ///
    /// ```
    /// use tenon_agent::Progress;
    ///
    /// fn copy(lines: &[&str], progress: &Progress) {
    ///     for (index, line) in lines.iter().enumerate() {
    ///         progress.show(&format!("{}/{}: {line}\n", index + 1, lines.len()));
    ///     }
    /// }
    ///
    /// copy(&["a", "b"], &Progress::silent());
    /// ```
    pub fn show(&self, text: &str) {
        (self.show)(text);
    }

    /// Adds somebody who is asked about time limits.
    pub(crate) fn with_overtime(self, ask: Arc<AskOvertime>) -> Self {
        Self { overtime: Some(ask), ..self }
    }

    /// Asks whether a command that ran for `after` may go on; nobody there means no.
    pub(crate) async fn ask_overtime(&self, after: Duration) -> Overtime {
        match &self.overtime {
            Some(ask) => ask(after).await,
            None => Overtime::End(None),
        }
    }

    /// Adds who judges what commands wrote to protected names.
    pub(crate) fn with_judge(self, judge: Arc<dyn Judge>) -> Self {
        Self { judge: Some(judge), ..self }
    }

    /// Returns who judges what commands wrote to protected names, if there is somebody.
    pub(crate) fn judge(&self) -> Option<&dyn Judge> {
        self.judge.as_deref()
    }
}

#[async_trait]
impl<T: Tool> AnyTool for T {
    fn name(&self) -> &str {
        Tool::name(self)
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: Tool::name(self).to_owned(),
            description: self.description().to_owned(),
            schema: arguments::schema_of::<T::Args>(),
        }
    }

    fn prepare(
        &self,
        arguments: &Value,
        workspace: &Workspace,
    ) -> Result<PreparedCall, ArgumentError> {
        let arguments = arguments::checked(arguments, &arguments::schema_of::<T::Args>())?;
        let args: T::Args = arguments::typed(&arguments)?;
        Ok(PreparedCall {
            effect: self.effect(&args),
            action: self.action(&args, workspace),
            subject: self.subject(&args),
            arguments,
        })
    }

    fn would_hold(&self, arguments: &Value, bytes: &[u8]) -> Option<Vec<u8>> {
        Tool::would_hold(self, &arguments::typed(arguments).ok()?, bytes)
    }

    async fn run(&self, arguments: Value, context: &ToolContext) -> ToolOutput {
        let result = match arguments::typed(&arguments) {
            Ok(args) => Tool::run(self, args, context).await,
            Err(error) => Err(error.to_string()),
        };
        result.unwrap_or_else(ToolOutput::error)
    }
}

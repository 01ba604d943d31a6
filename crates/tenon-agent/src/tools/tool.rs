//! What a tool is: a name, a description, a schema, an effect and a `run`.
//!
//! [`Tool`] is what one writes, with an argument struct of its own; [`AnyTool`] is what the map
//! holds. A tool sees a [`ToolContext`] and nothing else: never the session, never a path string
//! of the real file system.

use std::{ffi::OsString, future::Future, sync::Arc};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tenon_model::ToolSpec;
use tenon_sandbox::{Command, CommandLimits, Profile, Workspace};
use tokio_util::sync::CancellationToken;

use super::arguments::{self, ArgumentError};
use crate::{event::View, policy::Action};

/// A tool with typed arguments. Implement this; the map, dispatch, argument checks, approvals and
/// the box on the screen follow from it.
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
    fn action(&self, args: &Self::Args, _workspace: &Workspace) -> Action {
        Action::Other { subject: self.subject(args) }
    }

    /// Does the work. An error that the model can act on is an `Err` text.
    fn run(
        &self,
        args: Self::Args,
        context: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, String>> + Send;
}

/// What a call may do, known from its arguments.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: String,
    /// Whether the call failed in a way that the result describes (exit code 1, timeout).
    pub is_error: bool,
    /// How people see it; [`View::text`] of the content if there is nothing better.
    pub view: Option<View>,
}

/// Everything that a running call gets.
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
}

/// What a command of this session starts with.
#[derive(Clone)]
pub struct Sandbox {
    environment: Arc<[(OsString, OsString)]>,
    profile: Profile,
}

/// Shows output of a running call; cheap to clone.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(&str) + Send + Sync>);

/// A tool as the map holds it: any arguments, checked at the call.
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

    /// Runs the call. `arguments` are what [`AnyTool::prepare`] returned.
    async fn run(&self, arguments: Value, context: &ToolContext) -> ToolOutput;
}

/// A call whose arguments are in order.
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
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: false, view: None }
    }

    /// Returns an error that the model can act on. `content` gets `Error: ` in front.
    pub fn error(message: impl std::fmt::Display) -> Self {
        Self { content: format!("Error: {message}"), is_error: true, view: None }
    }

    /// Sets how people see it.
    #[must_use]
    pub fn with_view(mut self, view: View) -> Self {
        self.view = Some(view);
        self
    }
}

impl Sandbox {
    /// Returns a sandbox whose commands start with `environment` (already reduced to what is
    /// allowed) under `profile`.
    pub fn new(environment: Vec<(OsString, OsString)>, profile: Profile) -> Self {
        Self { environment: environment.into(), profile }
    }

    /// Returns a command that runs `script` with bash in the workspace's root.
    pub fn command(&self, workspace: &Workspace, script: String, limits: CommandLimits) -> Command {
        Command {
            script,
            folder: workspace.root().to_path_buf(),
            environment: self.environment.to_vec(),
            profile: self.profile.clone(),
            limits,
        }
    }
}

impl Progress {
    /// Returns a progress that calls `show` with each piece of output.
    pub fn new(show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(show))
    }

    /// Returns a progress that shows nothing.
    pub fn silent() -> Self {
        Self::new(|_| {})
    }

    /// Shows `text`.
    pub fn show(&self, text: &str) {
        (self.0)(text);
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

    async fn run(&self, arguments: Value, context: &ToolContext) -> ToolOutput {
        let result = match arguments::typed(&arguments) {
            Ok(args) => Tool::run(self, args, context).await,
            Err(error) => Err(error.to_string()),
        };
        result.unwrap_or_else(ToolOutput::error)
    }
}

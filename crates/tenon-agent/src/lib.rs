//! The agent as a library: one loop, a map from tool names to tools, and layers around a call.
//!
//! No terminal, environment or home folder: whatever the agent needs of those is given to it in
//! [`AgentOptions`]. An agent with one tool, on a scripted model:
//!
//! ```
#![doc = include_str!("../examples/own_tool.rs")]
//! ```

mod agent;
mod context;
mod deadline;
mod event;
mod host_presets;
mod input;
mod layers;
mod masking;
mod options;
mod outcome;
mod policy;
mod queue;
mod replay;
mod session;
mod session_note;
mod stored_paths;
mod tools;
mod turn;

pub use agent::Agent;
pub use context::{INSTRUCTIONS_BYTES_MAX, Instruction, WindowUse};
pub use event::{
    CallChanges, CallEvent, CheckRun, Compaction, CompactionCause, ContextEvent, Continuation,
    ContinuationCause, EndReason, FileChange, FileChangeKind, ForbiddenChange, LOG_VERSION, Live,
    ModelEvent, NotSaved, OutwardLink, Receipt, Record, RequestForm, SessionEvent, ShorterResult,
    TurnEvent, Unproven, Update, Verification, View, own_lines_at_end,
};
pub use host_presets::{HostPreset, HostPresets};
pub use input::{Answer, FrontEnd, Prompt, Question};
pub use masking::Masking;
pub use options::AgentOptions;
pub use outcome::TurnOutcome;
pub use policy::{
    Action, CommandPart, Decision, Kept, Leaves, Mode, Origin, OutsidePlace, Places, Rule,
    RuleError, Rules, Verdict, decide, decide_by_names,
};
pub use queue::{Delivery, PromptQueue, QueuedPrompt};
pub use replay::{ChangesOfCall, Diverged, Divergence, ReplayOptions, Replayed, ToolLists, replay};
pub use session::{
    EarlierPrompt, Found, LogError, Prefix, Removable, RequestCost, SESSION_NAME_CHARS_MAX,
    Session, SessionLog, SessionSummary, Spending, UnreadSession, ledger as request_costs,
    list as list_sessions, list_all as list_all_sessions, prompts as session_prompts,
    read as read_session, removable as removable_sessions, remove as remove_session,
    rename as rename_session, search as search_sessions,
};
pub use session_note::{IdleCall, SessionNote};
pub use stored_paths::{deserialize as deserialize_paths, serialize as serialize_paths};
pub use tools::{
    AnyTool, ArgumentError, CoreToolOptions, Effect, Held, PreparedCall, Progress, Recall, Sandbox,
    Tool, ToolContext, ToolOutput, Tools, core_tools, diff_ops, hunks as diff_hunks,
    protected_writes, tool, why_not_started,
};
pub use turn::TurnLimits;

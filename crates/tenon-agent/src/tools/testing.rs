//! A workspace of its own for the tests of a tool.

#![expect(clippy::disallowed_methods, reason = "tests change files behind the workspace's back")]

use std::{fs::File, io::Write, path::Path};

use serde_json::Value;
use tenon_model::KnownValue;
use tenon_sandbox::{Exit, Output, Piece, Stream, Workspace};
use tokio_util::sync::CancellationToken;

use super::{AnyTool, Progress, Sandbox, ToolContext, ToolOutput};
use crate::masking::Masking;

/// A folder that goes away with it, and what a tool is given.
pub(crate) struct Bench {
    _folder: tempfile::TempDir,
    pub context: ToolContext,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let workspace = workspace.with_spill(&folder.path().join("spill")).unwrap();
        let environment = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
        let context = ToolContext {
            workspace,
            sandbox: Sandbox::unconfined(environment),
            cancel: CancellationToken::new(),
            progress: Progress::silent(),
            masking: Masking::off(),
        };
        Self { _folder: folder, context }
    }

    /// Has this value known.
    pub(crate) fn knowing(mut self, value: &'static str) -> Self {
        self.context.masking = Masking::new(|| vec![KnownValue::new(value, "KEY", "here")]);
        self.context.masking.open(&self.context.workspace);
        let filter = std::sync::Arc::new(self.context.masking.clone());
        self.context.workspace = self.context.workspace.with_filter(filter);
        self
    }

    pub(crate) fn root(&self) -> &Path {
        self.context.workspace.root()
    }

    /// Puts a file there behind the workspace's back.
    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> File {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = File::create(path).unwrap();
        file.write_all(bytes.as_ref()).unwrap();
        file
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.root().join(path)).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.root().join(path)).unwrap()
    }

    /// Calls `tool` as the dispatch does.
    pub(crate) fn call(&self, tool: &impl AnyTool, arguments: Value) -> ToolOutput {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            match tool.prepare(&arguments, &self.context.workspace) {
                Ok(prepared) => tool.run(prepared.arguments, &self.context).await,
                Err(error) => ToolOutput::error(error),
            }
        })
    }
}

/// Returns what a command that only reads did that printed `text` to standard error and ended with `code`.
pub(crate) fn printed(text: &str, code: i32) -> Output {
    let piece = Piece { stream: Stream::Error, text: text.into(), left_out_bytes_before: 0 };
    let pieces = vec![piece];
    Output { pieces, has_sockets: true, only_reads: true, ..Output::new(Exit::Code(code)) }
}

//! Earlier edits of a conversation, by which a model learns that it made a text stale itself. A session
//! that goes on in another process takes them from its log and from what is kept for undo.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use tenon_model::ToolCall;
use tenon_sandbox::{CheckpointId, ContentHash, Journal, JournalError, Workspace};

use super::{
    EDIT_FILE, EditFile, EditFileArgs,
    find::{FileText, Places, Which, spliced},
};
use crate::{
    event::{CallChanges, CallEvent, FileChangeKind, Record, SessionEvent},
    session_note::SessionNote,
    tools::tool::AnyTool,
};

/// What is remembered (1 MiB of files as they were): the newest edits that fit.
const BYTES_MAX: usize = 1024 * 1024;

/// The edits of a conversation. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct EarlierEdits(Arc<Mutex<VecDeque<Earlier>>>);

/// An edit, and the file before it.
#[derive(Debug)]
struct Earlier {
    file: PathBuf,
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
    line: usize,
    /// The file behind it.
    after: ContentHash,
}

/// The edit that replaced a text which is not found any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Replaced {
    /// The first line of the edit.
    pub(super) line: usize,
    /// Whether nothing but edits changed the file since: else the text may have stood there again.
    pub(super) is_last: bool,
}

impl Earlier {
    fn new(file: PathBuf, bytes: Vec<u8>, places: Places, after: ContentHash) -> Self {
        let line = places.lines.first().copied().unwrap_or(1);
        Self { file, bytes, places: places.ranges, line, after }
    }

    /// Returns whether the edit left no `old_text`; `None` if there was none before it.
    fn left_none(&self, old_text: &str) -> Option<bool> {
        let text = FileText::new(&self.bytes).ok()?;
        let there = text.places(old_text, "", Which::Overlapping).ok()?.ranges;
        let is_replaced = |one: &Range<usize>| {
            self.places.iter().any(|other| one.start < other.end && other.start < one.end)
        };
        (!there.is_empty()).then(|| there.iter().all(is_replaced))
    }
}

impl EarlierEdits {
    /// Takes in that `places` of a file with these bytes were replaced, `after` which it has that hash.
    pub(super) fn remember(
        &self,
        file: PathBuf,
        bytes: Vec<u8>,
        places: Places,
        after: ContentHash,
    ) {
        let mut edits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        edits.push_back(Earlier::new(file, bytes, places, after));
        while edits.iter().map(|edit| edit.bytes.len()).sum::<usize>() > BYTES_MAX {
            edits.pop_front();
        }
    }

    /// Returns the last edit of a file, which is `now`, that replaced `old_text`; `None` if there is none,
    /// or if the text stood there behind it.
    pub(super) fn replaced(
        &self,
        file: &PathBuf,
        now: ContentHash,
        old_text: &str,
    ) -> Option<Replaced> {
        let edits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut is_last, mut next) = (true, now);
        for edit in edits.iter().rev().filter(|edit| edit.file == *file) {
            is_last &= edit.after == next;
            if let Some(left_none) = edit.left_none(old_text) {
                return left_none.then_some(Replaced { line: edit.line, is_last });
            }
            next = ContentHash::of(&edit.bytes);
        }
        None
    }

    /// Takes what `other` knows in the place of what is known.
    pub(crate) fn take_over(&self, other: &Self) {
        let known = std::mem::take(&mut *other.0.lock().unwrap_or_else(PoisonError::into_inner));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Takes the edits that `records` tell of in the place of what is known, as far as `journal`, that of
    /// `workspace`, has the files as they were before them.
    pub(crate) fn restore(
        &self,
        records: &[Record],
        journal: Option<&Journal>,
        workspace: &Workspace,
    ) {
        let edits = journal.map(|journal| kept(records, journal, workspace)).unwrap_or_default();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = edits;
    }
}

/// Returns the newest edits in `records` whose files as they were before fit.
fn kept(records: &[Record], journal: &Journal, workspace: &Workspace) -> VecDeque<Earlier> {
    let (mut edits, mut bytes_left) = (VecDeque::new(), BYTES_MAX);
    for edit in told(records, workspace).iter().rev() {
        match edit.before(journal, bytes_left, workspace) {
            Ok(Some(earlier)) => {
                bytes_left -= earlier.bytes.len();
                edits.push_front(earlier);
            }
            Err(JournalError::TooLarge { .. }) => break,
            Ok(None) | Err(_) => {}
        }
    }
    edits
}

/// An edit as a log tells of it.
struct Told {
    call: ToolCall,
    checkpoint: CheckpointId,
    /// As the journal names it.
    path: PathBuf,
}

/// Returns the edits in `records` that changed a file of `workspace`, in order: where its first folder
/// is another one, checkpoints are counted anew.
fn told(records: &[Record], workspace: &Workspace) -> Vec<Told> {
    let (mut edits, mut calls, mut is_here) = (Vec::new(), HashMap::new(), false);
    for record in records {
        match &record.event {
            SessionEvent::Session(
                SessionNote::SessionStarted { workspace: folders, .. }
                | SessionNote::SessionResumed { workspace: folders, .. },
            ) => is_here = folders.first().is_some_and(|folder| folder == workspace.root()),
            SessionEvent::Call(CallEvent::CallStarted { call, .. }) if call.name == EDIT_FILE => {
                calls.insert(&*call.id, call);
            }
            SessionEvent::Call(CallEvent::CallChanged(changes)) if is_here => {
                let call = calls.remove(&*changes.call_id);
                edits.extend(call.and_then(|call| Told::new(call, changes)));
            }
            _ => {}
        }
    }
    edits
}

impl Told {
    fn new(call: &ToolCall, changes: &CallChanges) -> Option<Self> {
        let edited = changes.files.iter().find(|file| file.kind == FileChangeKind::Edited)?;
        let checkpoint = CheckpointId::new(changes.checkpoint?);
        Some(Self { call: call.clone(), checkpoint, path: PathBuf::from(&edited.path) })
    }

    /// Returns the edit with the file before it; `None` if that is not what was edited.
    fn before(
        &self,
        journal: &Journal,
        bytes_max: usize,
        workspace: &Workspace,
    ) -> Result<Option<Earlier>, JournalError> {
        let bytes = journal.content_before(self.checkpoint, &self.path, bytes_max as u64)?;
        Ok(bytes.and_then(|bytes| {
            let prepared = EditFile::default().prepare(&self.call.arguments, workspace).ok()?;
            let args: EditFileArgs = serde_json::from_value(prepared.arguments).ok()?;
            let text = FileText::new(&bytes).ok()?;
            // It was replaced everywhere, or stood there once.
            let places = text.places(&args.old_text, &args.new_text, Which::Separate).ok()?;
            let file = workspace.locate(self.path.to_str()?).ok()?.absolute;
            let after = ContentHash::of(&spliced(&bytes, &places));
            (!places.ranges.is_empty()).then(|| Earlier::new(file, bytes, places, after))
        }))
    }
}

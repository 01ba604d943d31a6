//! What a command changed, where the kernel cannot be asked: the tree before against the tree
//! after, written down as if each change had been seen before it was made.
//!
//! Whatever else changed meanwhile is in it, too. What the agent's end cuts short is compared when
//! the journal is next opened.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::Journal;
use super::changes::{LeftOut, LeftOutReason};
use super::checkpoint::Checkpoint;
use super::closed::through_place;
use super::copy::open_quietly;
use super::find::split;
use super::manifest::Manifest;
use super::node::{NodeId, look};
use super::put::differs;
use super::record::{Content, Place, Record};
use super::recorder::Recorder;
use super::scan::{Copied, Copies, Scan, Seen, all_copies, scan_again, scan_and_copy};
use super::store::{Store, object_name};
use super::trouble::Trouble;
use crate::linux::openat::open_beneath;

/// Of a path that is too long so much is named, in bytes.
const SHOWN_BYTES_MAX: usize = 200;

/// A look before a command, for the one after it.
pub(crate) struct Comparison {
    checkpoint: Checkpoint,
    store: Arc<Store>,
    before: Scan,
    copies: Vec<Copies>,
    /// None where it could not be written, and in the place of an agent that was killed.
    manifest: Option<Manifest>,
    is_ended: bool,
    /// When it looked, by [`super::running::Running::now`]; None in the place of an agent that was killed.
    looked_at: Option<u64>,
}

impl Comparison {
    /// Looks at the workspace, and keeps what is in its files.
    pub(crate) fn begin(checkpoint: Checkpoint) -> Result<Self, Errno> {
        let store = Arc::clone(&checkpoint.lock().store);
        Journal::of(Arc::clone(&store)).end_comparisons();
        let looked_at = Some(store.running.now());
        let (before, copies) = scan_and_copy(&store)?;
        let header = checkpoint.lock().image.header.clone();
        // Without it a command is compared all the same, unless the agent is killed.
        let manifest = Manifest::write(&store, &header, &before).ok();
        Ok(Self { checkpoint, store, before, copies, manifest, is_ended: false, looked_at })
    }

    /// Goes on in the place of an agent that was killed, with what it saw before.
    pub(super) fn go_on(checkpoint: Checkpoint, mut before: Scan) -> Result<Self, Errno> {
        let store = Arc::clone(&checkpoint.lock().store);
        let copies = all_copies(&store)?;
        for seen in before.nodes.values_mut() {
            let Copied::As(name) = &seen.copy else { continue };
            let copies = copies.get(store.base_of(seen.place.root)).ok_or(Errno::NOENT)?;
            // A power loss can leave less of it on the disk.
            if look(&copies.folder, name.as_ref())?.is_none_or(|copy| copy.bytes != seen.node.bytes)
            {
                seen.copy = Copied::Not(LeftOutReason::NotCopied);
            }
        }
        Ok(Self {
            checkpoint,
            store,
            before,
            copies,
            manifest: None,
            is_ended: false,
            looked_at: None,
        })
    }

    /// Says that the command still runs: what changes long after the last time is not its own.
    pub(crate) fn touch(&self) {
        self.manifest.iter().for_each(Manifest::touch);
    }

    /// Looks again, and writes down what is not as it was.
    pub(crate) fn end(mut self) {
        self.is_ended = true;
        let after = scan_again(&self.store, &self.before);
        let mut recorder = self.checkpoint.lock();
        recorder.looked_at = self.looked_at;
        self.store.running.end_turn();
        let left_out = self.left_out(&after);
        let mut difference = Difference {
            comparison: &self,
            after: &after,
            recorder: &mut recorder,
            left_out: BTreeMap::new(),
            unknown: HashSet::new(),
            has_records: false,
        };
        let outcome = difference.record(left_out);
        if difference.has_records {
            recorder.note_trouble(Trouble::Compared);
        }
        if outcome.is_err() {
            recorder.note_trouble(Trouble::NotWatched);
        }
        recorder.looked_at = None;
        self.store.running.end_turn();
        drop(recorder);
        self.manifest.take().into_iter().for_each(Manifest::remove);
    }

    /// Folders that were not looked into.
    fn left_out(&self, after: &Scan) -> Vec<LeftOut> {
        let caches =
            self.before.caches.iter().filter(|(id, was)| after.caches.get(id) != Some(was));
        let caches = caches.filter_map(|(id, _)| self.before.nodes.get(id)).map(|seen| LeftOut {
            path: self.store.shown(&seen.place),
            reason: LeftOutReason::Cache,
        });
        let unseen = self
            .before
            .unseen
            .iter()
            .map(|place| LeftOut { path: self.store.shown(place), reason: LeftOutReason::TooMany });
        let too_long = self.before.too_long.iter().chain(&after.too_long).take(1);
        let too_long = too_long.map(|place| {
            let path = self.store.shown(place);
            let fits = |path: &&Path| path.as_os_str().len() <= SHOWN_BYTES_MAX;
            let path = path.ancestors().find(fits).unwrap_or(&path).to_path_buf();
            LeftOut { path, reason: LeftOutReason::TooLong }
        });
        caches.chain(unseen).chain(too_long).collect()
    }

    fn is_same(&self, was: &Seen, now: &Seen) -> bool {
        let times = |seen: &Seen| (seen.node.changed, seen.node.modified, seen.node.bytes);
        times(was) == times(now)
            && (was.node.mode, was.node.user, was.node.group)
                == (now.node.mode, now.node.user, now.node.group)
            && (was.node.changed.seconds < self.before.unsettled_since
                || self.has_same_bytes(was, now))
    }

    fn has_same_bytes(&self, was: &Seen, now: &Seen) -> bool {
        let Copied::As(name) = &was.copy else { return true };
        let content = Content { from: 0, length: was.node.bytes, object: 0 };
        let same = || {
            let copies = self.copies.get(self.store.base_of(was.place.root)).ok_or(Errno::NOENT)?;
            let copy = open_beneath(&copies.folder, &**name, OFlags::RDONLY, Mode::empty())?;
            let (folder, name) = split(&now.place);
            let copy = File::from(copy);
            through_place(&self.store, &folder, |folder| {
                // One that cannot be read by now was closed by the command, which is a change anyway.
                open_quietly(folder, name)?;
                differs(content, Some(&copy), &now.node, (folder, name)).map(|differs| !differs)
            })
        };
        same().unwrap_or(false)
    }
}

impl Drop for Comparison {
    fn drop(&mut self) {
        if !self.is_ended {
            // Whoever waited for the command went away; what it did is compared later.
            self.checkpoint.note_not_watched();
        }
    }
}

struct Difference<'a> {
    comparison: &'a Comparison,
    after: &'a Scan,
    recorder: &'a mut Recorder,
    left_out: BTreeMap<std::path::PathBuf, LeftOutReason>,
    /// Nodes that are gone and were not kept: nothing can be put back under their names.
    unknown: HashSet<NodeId>,
    has_records: bool,
}

impl Difference<'_> {
    fn record(&mut self, left_out: Vec<LeftOut>) -> Result<(), Errno> {
        let before = &self.comparison.before;
        for (id, was) in &before.nodes {
            if was.place.path.as_os_str().is_empty() && !self.after.nodes.contains_key(id) {
                // A root that cannot be looked at tells nothing.
                return Err(Errno::NOENT);
            }
        }
        for was in before.nodes.values() {
            self.look_for_lost(was);
        }
        for (folder, names) in &before.names {
            self.names(*folder, names)?;
        }
        for was in before.nodes.values() {
            match self.after.nodes.get(&was.node.id) {
                Some(now) if !self.comparison.is_same(was, now) => self.changed(was, now)?,
                _ => {}
            }
        }
        let lost = std::mem::take(&mut self.left_out).into_iter();
        let lost = lost.map(|(path, reason)| LeftOut { path, reason });
        for left_out in left_out.into_iter().chain(lost) {
            if !self.recorder.image.left_out.contains(&left_out) {
                self.write(Record::LeftOut(left_out))?;
            }
        }
        Ok(())
    }

    fn write(&mut self, record: Record) -> Result<(), Errno> {
        self.has_records = true;
        self.recorder.write(record)
    }

    /// Notes what is gone and was not kept.
    fn look_for_lost(&mut self, was: &Seen) {
        let Copied::Not(reason) = was.copy else { return };
        if !self.after.nodes.contains_key(&was.node.id) && !self.is_new(was) {
            self.unknown.insert(was.node.id);
            self.left_out.insert(self.comparison.store.shown(&was.place), reason);
        }
    }

    /// Whether the same call made it, with a command before this one.
    fn is_new(&self, was: &Seen) -> bool {
        let mut at = was;
        while let Some((folder, name)) = &at.above {
            let known = self.recorder.image.entries.get(folder).and_then(|names| names.get(name));
            if known.is_some_and(|before| *before != Some(at.node.id)) {
                return !self.recorder.image.nodes.contains_key(&was.node.id);
            }
            let Some(above) = self.comparison.before.nodes.get(folder) else { break };
            at = above;
        }
        false
    }

    /// Where something was before the call, of which this may not be the first command.
    fn place_before(&self, was: &Seen) -> Place {
        let mut at = was;
        while let Some((folder, _)) = &at.above {
            let known = self.recorder.image.nodes.get(folder);
            let Some(above) = self.comparison.before.nodes.get(folder) else { break };
            let rest = was.place.path.strip_prefix(&above.place.path);
            if let (Some(known), Ok(rest)) = (known, rest) {
                return known.place.join(rest.as_os_str());
            }
            at = above;
        }
        was.place.clone()
    }

    /// What was at the names of a folder that was there before.
    fn names(&mut self, folder: NodeId, names: &BTreeMap<OsString, NodeId>) -> Result<(), Errno> {
        let Some(above) = self.comparison.before.nodes.get(&folder) else { return Ok(()) };
        let none = BTreeMap::new();
        let now = match self.after.names.get(&folder) {
            Some(now) => now,
            // It is there and could not be looked into.
            None if self.after.nodes.contains_key(&folder) => return Ok(()),
            None => &none,
        };
        if self.is_new(above) {
            return Ok(());
        }
        let gone = names.iter().filter(|(name, id)| now.get(*name) != Some(*id));
        let gone = gone.map(|(name, id)| (name, Some(*id)));
        let new = now.keys().filter(|name| !names.contains_key(*name)).map(|name| (name, None));
        for (name, before) in gone.chain(new) {
            if before.is_some_and(|id| self.unknown.contains(&id)) {
                continue;
            }
            self.save(above)?;
            let was = before.and_then(|id| self.comparison.before.nodes.get(&id));
            if let Some(was) = was.filter(|was| !self.is_new(was)) {
                self.save(was)?;
            }
            self.write(Record::Entry { folder, name: name.clone(), before })?;
        }
        Ok(())
    }

    /// Something that is there still, and not as it was.
    fn changed(&mut self, was: &Seen, now: &Seen) -> Result<(), Errno> {
        if self.is_new(was) {
            return Ok(());
        }
        if let Copied::Not(reason) = was.copy
            && was.node.is_file()
            && (was.node.modified, was.node.bytes) != (now.node.modified, now.node.bytes)
        {
            self.left_out.insert(self.comparison.store.shown(&was.place), reason);
            return Ok(());
        }
        self.save(was)
    }

    /// Writes down how something was, what was in it, and where it is now.
    fn save(&mut self, was: &Seen) -> Result<(), Errno> {
        let id = was.node.id;
        if self.recorder.image.nodes.contains_key(&id) {
            return Ok(());
        }
        let place = self.place_before(was);
        self.write(Record::Node { node: was.node.clone(), place })?;
        if was.node.is_file() {
            self.save_content(was)?;
        }
        let place = match self.after.nodes.get(&id) {
            None => return self.write(Record::Gone { id }),
            Some(now) => now.place.clone(),
        };
        let above = was.above.as_ref().and_then(|(folder, name)| {
            self.after.names.get(folder).and_then(|names| names.get(name))
        });
        // It can be at the same path in another folder.
        if above == Some(&id) || was.above.is_none() {
            return Ok(());
        }
        self.recorder.note_moved(id, place)
    }

    fn save_content(&mut self, was: &Seen) -> Result<(), Errno> {
        let (id, length, root) = (was.node.id, was.node.bytes, was.place.root);
        let object = match &was.copy {
            Copied::Not(_) => return Ok(()),
            Copied::Nothing => 0,
            Copied::As(name) => {
                let base = self.comparison.store.base_of(root);
                let copies = self.comparison.copies.get(base).ok_or(Errno::NOENT)?;
                let (objects, object) = self.recorder.object(root)?;
                let to = object_name(object);
                let flags = AtFlags::empty();
                rustix::fs::linkat(&copies.folder, &**name, objects, &*to, flags)?;
                object
            }
        };
        self.write(Record::Content { id, from: 0, length, object })
    }
}

//! Leaves out the further names that the journal gives files which a command is about to remove or to
//! replace: where the kernel refused that, nobody changed anything. Only names in its store count.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Guard;
use super::item::Item;
use super::place::Place;
use crate::file_system::Identity;

impl Guard {
    /// Leaves them out of what is there `after`, as far as they came since the look before.
    pub(super) fn leave_out_kept_names(&mut self, after: &mut BTreeMap<Place, Item>) {
        let links = |place: &Place| self.before.get(place).map_or(1, |before| before.links);
        let more = after.iter_mut().filter_map(|(place, item)| {
            let (file, known) = (item.identity()?, links(place));
            (!item.is_folder() && item.links > known).then_some((file, known, item))
        });
        let more: Vec<(Identity, u64, &mut Item)> = more.collect();
        if more.is_empty() {
            return;
        }
        let numbers: HashSet<u64> = more.iter().map(|((_, number), ..)| *number).collect();
        for name in self.checkpoints.iter().flat_map(|own| own.kept_names(&numbers)) {
            if !self.kept_names.iter().any(|known| known.is(&name)) {
                self.kept_names.push(name);
            }
        }
        let mut kept: HashMap<Identity, u64> = HashMap::new();
        for file in self.kept_names.iter().filter_map(|name| name.file()) {
            *kept.entry(file).or_default() += 1;
        }
        for (file, known, item) in more {
            let own = kept.get(&file).copied().unwrap_or_default();
            item.links = item.links.saturating_sub(own).max(known);
        }
    }
}

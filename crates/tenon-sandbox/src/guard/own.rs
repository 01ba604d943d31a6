//! What tenon takes its own settings from, and a person's programs at every start, where commands can
//! write it: files that are protected by where they are, whatever their names. And links at places of secrets: who
//! takes one away has what it led to as an ordinary file, once nobody knows that it did.
//!
//! Each path is followed as whoever reads the settings follows it, so that a link on the way counts
//! like the file. What a link leads to that a command made is somebody else's: the link alone counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::folder::open_folder_at;
use super::item::Item;
use super::limits::Limits;
use super::place::Place;
use super::scan::{Scan, Stamps, link_above, look};
use crate::links::{leads_into, resolved};
use crate::own_paths::OwnPaths;

#[derive(Default)]
pub(super) struct Own {
    /// All that may count.
    all: OwnPaths,
    /// The paths of these that led into the roots before the commands that run now.
    named: Vec<PathBuf>,
    /// Where secrets are: of these the links on the way count alone.
    ways: Vec<PathBuf>,
    /// What the paths led to before the commands that run now, and the links on the way of all.
    led_to: Vec<Place>,
    /// What the ways led to.
    ends: Vec<PathBuf>,
    /// Whether there was more than a look goes through: then what is found afterwards need not be new.
    has_more: bool,
}

impl Own {
    pub(super) fn new(all: Vec<PathBuf>, ways: Vec<PathBuf>) -> Self {
        Self { all: OwnPaths::new(all), ways, ..Self::default() }
    }

    /// Returns what was noted of paths.
    pub(super) fn noted(named: Vec<PathBuf>, ways: Vec<PathBuf>, led_to: Vec<Place>) -> Self {
        Self { named, ways, led_to, ..Self::default() }
    }

    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    pub(super) fn named(&self) -> &[PathBuf] {
        &self.named
    }

    pub(super) fn ways(&self) -> &[PathBuf] {
        &self.ways
    }

    pub(super) fn led_to(&self) -> &[Place] {
        &self.led_to
    }

    /// Returns all places at which something would be known that is there; none where there was more than a look goes
    /// through.
    pub(super) fn looked_at(&self) -> Vec<PathBuf> {
        let led_to = self.led_to.iter().map(Place::path);
        if self.has_more { Vec::new() } else { led_to.chain(self.ends.iter().cloned()).collect() }
    }

    /// Returns what is there before commands. What is as in `known` is not read again.
    pub(super) fn before(
        &mut self,
        roots: &[PathBuf],
        known: &BTreeMap<Place, Item>,
    ) -> BTreeMap<Place, Item> {
        // What leads past all roots no command can lead elsewhere: nearly always that is all.
        self.named = self.all.leading_into(roots).to_vec();
        self.ways.retain(|path| leads_into(path, roots));
        let mut look = Look::new(known, Stamps::Hold);
        self.led_to = look.follow(&self.named, roots, &|_, _| true);
        let ends = self.ways.iter().filter_map(|way| {
            let (links, end) = look.follow_one(way, roots, &|_, _| true);
            self.led_to.extend(links);
            end.map(|end| end.path())
        });
        self.ends = ends.collect();
        self.has_more = !look.scan.left.are_left();
        look.end()
    }

    /// Returns what is there where paths lead into the roots by now that did not when the first of the commands that run
    /// began; nothing where there are none.
    pub(super) fn beside(
        &mut self,
        roots: &[PathBuf],
        known: &BTreeMap<Place, Item>,
    ) -> Option<BTreeMap<Place, Item>> {
        let leading = self.all.leading_into(roots).iter();
        let new: Vec<PathBuf> =
            leading.filter(|path| !self.named.contains(path)).cloned().collect();
        if new.is_empty() {
            return None;
        }
        let mut look = Look::new(known, Stamps::HoldIn(&[]));
        self.led_to.extend(look.follow(&new, roots, &|_, _| true));
        self.named.extend(new);
        self.has_more |= !look.scan.left.are_left();
        Some(look.end())
    }

    /// Returns what is there now: where the paths led, and where they lead now.
    pub(super) fn after(
        &self,
        roots: &[PathBuf],
        before: &BTreeMap<Place, Item>,
        stamps: Stamps<'_>,
    ) -> BTreeMap<Place, Item> {
        if self.has_more {
            return BTreeMap::new();
        }
        let mut look = Look::new(before, stamps);
        for place in &self.led_to {
            look.links.extend(link_above(place).map(|(link, item)| (link.into_own(), item)));
            // In the place of a link there may be a folder of somebody else's.
            let was_link = before.get(place).is_some_and(Item::is_link);
            if !was_link {
                look.all(place);
            }
        }
        let is_as_before =
            |place: &Place, link: &Item| before.get(place).is_some_and(|known| known.is_same(link));
        look.follow(&self.named, roots, &is_as_before);
        for way in &self.ways {
            look.follow_one(way, roots, &is_as_before);
        }
        look.end()
    }
}

struct Look<'a> {
    known: &'a BTreeMap<Place, Item>,
    stamps: Stamps<'a>,
    scan: Scan<'a>,
    links: BTreeMap<Place, Item>,
}

impl<'a> Look<'a> {
    fn new(known: &'a BTreeMap<Place, Item>, stamps: Stamps<'a>) -> Self {
        let scan = Scan::new(known, stamps, Limits::TOUCHED);
        Self { known, stamps, scan, links: BTreeMap::new() }
    }

    /// Looks at links and ends of paths beneath the roots, as far as links may be followed, and returns
    /// them.
    fn follow(
        &mut self,
        named: &[PathBuf],
        roots: &[PathBuf],
        may_follow: &dyn Fn(&Place, &Item) -> bool,
    ) -> Vec<Place> {
        let mut led_to = Vec::new();
        for path in named {
            let (links, end) = self.follow_one(path, roots, may_follow);
            led_to.extend(links);
            if let Some(end) = end {
                self.all(&end);
                led_to.push(end);
            }
        }
        led_to
    }

    /// Does the same for the links of one path, and returns its end if they may all be followed.
    fn follow_one(
        &mut self,
        path: &Path,
        roots: &[PathBuf],
        may_follow: &dyn Fn(&Place, &Item) -> bool,
    ) -> (Vec<Place>, Option<Place>) {
        let (mut followed, known) = (Vec::new(), self.known);
        let known = |place: &Place| known.get(place).filter(|_| self.stamps.hold_at(place));
        let Some((end, links)) = resolved(path) else { return (followed, None) };
        let mut links = links.iter().filter_map(|link| Place::own(link, roots));
        let leads_on = links.all(|place| {
            let Some(link) = look(&place, known(&place)) else { return false };
            let may_follow = may_follow(&place, &link);
            followed.push(place.clone());
            self.links.insert(place, link);
            may_follow
        });
        (followed, Place::own(&end, roots).filter(|_| leads_on))
    }

    fn all(&mut self, place: &Place) {
        if let Ok(top) = open_folder_at(place.root()) {
            self.scan.all(place.root(), &top, place.beneath(), 0);
        }
    }

    fn end(self) -> BTreeMap<Place, Item> {
        let scanned = self.scan.found.into_iter().chain(self.scan.folders);
        let scanned = scanned.map(|(place, item)| (place.into_own(), item));
        self.links.into_iter().chain(scanned).collect()
    }
}

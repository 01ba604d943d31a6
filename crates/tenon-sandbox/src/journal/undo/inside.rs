//! Takes what the call made out of a folder of its own that stays, because something of somebody else's is
//! in it, or something that was there before and has no other place.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;

use super::Undoing;
use crate::journal::node::look;
use crate::journal::record::Place;
use crate::journal::spot::Spot;
use crate::linux::closed::through;
use crate::linux::openat::open_beneath;

impl Undoing<'_> {
    /// Takes it away, folder by folder, if it is known that all the rest there is the call's.
    pub(super) fn detach_inside(&mut self, spot: &Spot) -> Result<(), Errno> {
        let Spot::Tree(top) = spot else { return Ok(()) };
        let mut made = self.image.end.iter().flat_map(|end| &end.new_folders);
        if !made.any(|folder| folder == top) {
            return Ok(());
        }
        let mut folders = vec![top.clone()];
        while let Some(at) = folders.pop() {
            folders.extend(self.detach_from(&at)?);
        }
        Ok(())
    }

    /// Returns the folders in which something stays.
    fn detach_from(&mut self, at: &Place) -> Result<Vec<Place>, Errno> {
        let spot = Spot::Tree(at.clone());
        if self.is_in_left(&spot) || !self.node_of(&spot)?.is_some_and(|node| node.is_folder()) {
            return Ok(Vec::new());
        }
        self.open_closed(&spot)?;
        let folder = self.to.folder(at)?;
        // What was there before has its names in the log.
        if self.image.was_in_tree(self.called(folder.id)) {
            return Ok(Vec::new());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let open = || open_beneath(&folder.handle, ".", flags, Mode::empty());
        let names = Dir::read_from(through(&folder.handle, open)?)?;
        let names = names.flatten().map(|entry| entry.file_name().to_bytes().to_vec());
        let names = names.filter(|name| name != b"." && name != b"..").map(OsString::from_vec);
        let mut inside = Vec::new();
        for name in names.collect::<Vec<_>>() {
            let place = at.join(&name);
            match look(&folder.handle, &name)? {
                Some(_) if self.is_kept(&place) => inside.push(place),
                Some(now) => self.take_away(&folder, &name, &now, Spot::Tree(place))?,
                None => {}
            }
        }
        Ok(inside)
    }
}

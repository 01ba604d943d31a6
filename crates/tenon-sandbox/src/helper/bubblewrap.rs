//! Whether there is a bubblewrap that can be trusted with the walls. Starts nothing.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::linux::bubblewrap::BUBBLEWRAP;
use crate::linux::within::within_walls;
use crate::missing::{Missing, SandboxError};
use crate::tier::Tier;

/// # Errors
/// If it is not there, if others than root can change it, or if nobody would let it make walls.
pub(crate) fn bubblewrap() -> Result<(), SandboxError> {
    let found =
        if within_walls() { Err(Missing::WithinWalls) } else { judged(Path::new(BUBBLEWRAP)) };
    found.map_err(|missing| SandboxError::new(Tier::B, missing))
}

fn judged(path: &Path) -> Result<(), Missing> {
    let file = std::fs::symlink_metadata(path).map_err(|_| Missing::NoBubblewrap)?;
    let is_roots = |path: &Path| {
        let found = std::fs::symlink_metadata(path);
        // A link's own mode says nothing; whoever could change it owns it or its folder.
        found.is_ok_and(|found| {
            found.uid() == 0 && (found.is_symlink() || found.mode() & 0o022 == 0)
        })
    };
    if !file.is_file() || file.mode() & 0o111 == 0 {
        return Err(Missing::NoBubblewrap);
    }
    if path.ancestors().all(is_roots) { Ok(()) } else { Err(Missing::ForeignBubblewrap) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are judged")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_a_program_that_nobody_but_root_can_change_is_taken() {
        assert_eq!(judged(Path::new("/usr/bin/env")), Ok(()));
        assert_eq!(judged(Path::new("/usr/bin/no-such-program")), Err(Missing::NoBubblewrap));
        assert_eq!(judged(Path::new("/usr/bin")), Err(Missing::NoBubblewrap));
        // In a folder where everybody may write.
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let path = folder.path().join("bwrap");
        std::fs::write(&path, "").unwrap();
        assert_eq!(judged(&path), Err(Missing::NoBubblewrap));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(judged(&path), Err(Missing::ForeignBubblewrap));
    }
}

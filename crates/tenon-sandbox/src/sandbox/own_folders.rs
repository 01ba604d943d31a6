//! What commands without namespaces have instead of private folders: a place for temporary files,
//! and a home that is not the user's.
//!
//! Nothing can be put on top of the user's home there, and programs give up on settings that they
//! may not open: git on `.gitconfig`, all of them. So HOME is a new folder, with what the home
//! would show in the other tiers: files that are given, and links to the rest. It has no rights of
//! its own; what a link leads to is held by the kernel's rules like everything else.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Settings;
use super::plan::Plan;
use super::scratch::Scratch;
use super::secrets::OfSystem;
use super::unkept::PrivateFolders;
use super::variables::set;
use crate::command::Command;
use crate::linux::layout::Part;
use crate::mounts::Mounts;

/// Variables that name a place in HOME which programs take settings from, or write to.
const PLACES: [&str; 5] =
    ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "CARGO_HOME"];

/// The folders of a session, gone when it ends.
pub(super) struct OwnFolders {
    scratch: Scratch,
    temporary: PathBuf,
    home: Option<Home>,
    private: Arc<PrivateFolders>,
}

/// A home, and whose it stands for.
struct Home {
    path: PathBuf,
    /// The user's: as it is named, and where that leads.
    instead_of: [PathBuf; 2],
}

impl OwnFolders {
    /// Makes them. A home there is only where the user's is not part of the work.
    pub(super) fn new(
        settings: &Settings,
        plan: Option<&Plan>,
        mounts: &Mounts,
    ) -> io::Result<Self> {
        let scratch = Scratch::new(&settings.roots, settings.state.as_deref())?;
        let [temporary, home] = ["tmp", "home"].map(|name| scratch.path().join(name));
        std::fs::create_dir(&temporary)?;
        let home = match (plan, &settings.home) {
            (Some(plan), Some(named)) => make_home(plan, settings, named, home, mounts)?,
            _ => None,
        };
        let private = home.as_ref().map(|home| PrivateFolders::of_home(&home.path));
        let private = Arc::new(private.unwrap_or_default());
        Ok(Self { scratch, temporary, home, private })
    }

    /// Returns those in which new names are told.
    pub(super) fn private(&self) -> &Arc<PrivateFolders> {
        &self.private
    }

    /// Returns what of the user's home a path in the home of commands stands for.
    pub(super) fn of_user(&self, path: &Path) -> Option<PathBuf> {
        let Home { path: own, instead_of: [_, real] } = self.home.as_ref()?;
        Some(real.join(path.strip_prefix(own).ok()?))
    }

    /// Returns where commands find what of the user's home is at `path`.
    pub(super) fn in_own(&self, path: &Path) -> Option<PathBuf> {
        self.home.as_ref()?.place_of(path)
    }

    /// Returns the variables of a command that name them.
    pub(super) fn named(&self) -> Vec<(&'static str, PathBuf)> {
        let home = self.home.iter().map(|home| ("HOME", home.path.clone()));
        home.chain([("TMPDIR", self.temporary.clone())]).collect()
    }

    /// Where they are.
    pub(super) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// What commands may write of the machine besides their work: nothing once something else stands there.
    pub(super) fn writable(&self) -> Option<&Path> {
        self.scratch.stands().then(|| self.path())
    }

    /// Lets a command use them.
    pub(super) fn give_to(&self, command: &mut Command) {
        set(command, "TMPDIR", self.temporary.as_os_str());
        let Some(home) = &self.home else { return };
        for (name, value) in &mut command.environment {
            if PLACES.iter().any(|place| name == place)
                && let Some(place) = home.place_of(Path::new(value))
            {
                *value = place.into();
            }
        }
        set(command, "HOME", home.path.as_os_str());
    }
}

impl Home {
    /// Returns where a path of the user's home is found in this one.
    fn place_of(&self, path: &Path) -> Option<PathBuf> {
        let beneath = self.instead_of.iter().find_map(|home| path.strip_prefix(home).ok())?;
        Some(self.path.join(beneath))
    }
}

/// Fills a new home with what the plan shows of the user's.
#[expect(clippy::disallowed_methods, reason = "files in a folder that was just made")]
fn make_home(
    plan: &Plan,
    settings: &Settings,
    named: &Path,
    path: PathBuf,
    mounts: &Mounts,
) -> io::Result<Option<Home>> {
    let layout = &plan.layout;
    let real = plan.home_elsewhere.clone().or_else(|| named.canonicalize().ok());
    let Some(real) = real else { return Ok(None) };
    let named = plan.home_elsewhere.as_deref().unwrap_or(named);
    let is_private = |part: &Part| matches!(part, Part::Private { .. });
    if !layout.steps.iter().any(|step| step.path == real && is_private(&step.part)) {
        return Ok(None);
    }
    std::fs::create_dir(&path)?;
    let mut left_out = plan.secrets(OfSystem::find(&settings.roots), mounts).all;
    left_out.extend(layout.instead.iter().map(|file| file.path.clone()));
    left_out.retain(|path| std::fs::symlink_metadata(path).is_ok());
    let home = Home { path, instead_of: [named.to_path_buf(), real] };
    let mut linked: Vec<&Path> = Vec::new();
    for step in &layout.steps {
        let Some(place) = home.place_of(&step.path).filter(|place| *place != home.path) else {
            continue;
        };
        if linked.iter().any(|linked| step.path.starts_with(linked)) {
            continue;
        }
        match &step.part {
            Part::Kept { source, writable } => {
                make_above(&place)?;
                let left_out = if *writable { &[] } else { &*left_out };
                link(source, &place, left_out)?;
                linked.push(&step.path);
            }
            Part::File { bytes } => {
                make_above(&place)?;
                std::fs::write(&place, bytes)?;
            }
            Part::Link { .. } => {
                make_above(&place)?;
                symlink(&step.path, &place)?;
            }
            Part::Cover | Part::Private { .. } => {}
        }
    }
    for file in &layout.instead {
        if let Some(place) = home.place_of(&file.path) {
            std::fs::write(&place, &file.bytes)?;
        }
    }
    Ok(Some(home))
}

#[expect(clippy::disallowed_methods, reason = "folders within one that was just made")]
fn make_above(place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), std::fs::create_dir_all)
}

/// Puts a link to `source` at `place`: a folder of links where something within is left out, since a
/// program that finds a file which it may not open gives up.
#[expect(clippy::disallowed_methods, reason = "a folder within one that was just made")]
fn link(source: &Path, place: &Path, left_out: &[PathBuf]) -> io::Result<()> {
    if left_out.iter().any(|path| path == source) {
        return Ok(());
    }
    if !left_out.iter().any(|path| path.starts_with(source)) {
        return symlink(source, place);
    }
    std::fs::create_dir(place)?;
    for entry in std::fs::read_dir(source)? {
        let entry = entry?;
        link(&entry.path(), &place.join(entry.file_name()), left_out)?;
    }
    Ok(())
}

//! Names that other programs take commands from.
//!
//! Writing one is a way to run a command later and outside the walls (a git hook, an editor task,
//! an `.envrc`), so it needs an approval of its own even where edits are allowed. Decided on the
//! place a path leads to. Names are compared without regard to case, because some file systems do.
//!
//! The list is of what programs take commands from without being asked to by name. What is only read
//! to a model (`CLAUDE.md`), or what a person calls by its name (`.claude/commands`), is not in it.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, MutexGuard, PoisonError};

use super::Workspace;
use super::closed::lies_in;
use super::resolve::Resolved;
use crate::git_steps::GitStep;
use crate::links::resolved;
use crate::linux::openat::look_at;
use crate::own_paths::OwnPaths;

/// Protected wherever they stand in a path, with everything beneath them. Of two names both must be
/// there, one in the other.
const NAMES: [&str; 113] = [
    ".tenon",
    // direnv runs it in whoever's shell comes by.
    ".envrc",
    // mise does the same, also with programs in values: what it trusts is a folder, not what is written there.
    "mise.toml",
    "mise.local.toml",
    ".mise.toml",
    ".mise.local.toml",
    ".miserc.toml",
    ".miserc.local.toml",
    "miserc.toml",
    "miserc.local.toml",
    ".rtx.toml",
    // A path in it comes in front of `PATH`.
    ".tool-versions",
    "mise/conf.d",
    "mise/config.local.toml",
    "mise/config.toml",
    ".mise/conf.d",
    ".mise/config.local.toml",
    ".mise/config.toml",
    // Commands before and after each of asdf's.
    ".asdfrc",
    // Options of Universal Ctags, which writes files where they say.
    ".ctags",
    ".ctags.d",
    "ctags.d",
    // Pagers, editors and commands for keys, for each repository beneath.
    ".lazygit.yml",
    // Hooks and aliases of Mercurial, and where it looks for more of them.
    ".hg/hgrc",
    ".hg/hgrc-not-shared",
    ".hg/sharedpath",
    // The same of Sapling.
    ".sl/config",
    ".sl/hgrc",
    // Servers that agents start.
    ".mcp.json",
    // Tasks, debuggers and language servers that editors start.
    ".vscode",
    ".idea",
    ".fleet/run.json",
    ".vim/coc-settings.json",
    ".vs/launch.vs.json",
    ".vs/mcp.json",
    ".vs/tasks.vs.json",
    ".zed/tasks.json",
    ".zed/debug.json",
    ".zed/settings.json",
    ".helix/config.toml",
    ".helix/languages.toml",
    // Vim and Neovim run them where `exrc` is set.
    ".exrc",
    ".vimrc",
    ".gvimrc",
    ".nvimrc",
    ".nvim.lua",
    // What R, GHCi, IEx, irb, OCaml, Octave, pdb, perl's debugger, Pry, Byebug and PsySH begin with in the folder in which
    // they are started.
    ".Rprofile",
    ".Renviron",
    // May have a function `.First`.
    ".RData",
    ".ghci",
    ".iex.exs",
    ".irbrc",
    "_irbrc",
    ".ocamlinit",
    ".octaverc",
    ".pdbrc",
    ".perldb",
    ".pryrc",
    ".byebugrc",
    ".psysh.php",
    // `initializeCommand` runs on the machine, before there is a container.
    ".devcontainer",
    ".devcontainer.json",
    // Hooks, the scripts that they run, and servers of other agents.
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".cursor/mcp.json",
    ".cursor/hooks.json",
    ".cursor/hooks",
    ".cursor/cli.json",
    ".cursor/environment.json",
    ".cursor/worktrees.json",
    ".gemini/settings.json",
    ".gemini/hooks",
    ".gemini/policies",
    ".gemini/.env",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".codex/rules",
    ".codex/environments",
    ".factory/settings.json",
    ".factory/settings.local.json",
    ".factory/hooks",
    ".factory/mcp.json",
    ".github/hooks",
    ".clinerules/hooks",
    ".windsurf/hooks.json",
    // Servers and formatters, and plugins that are loaded by being there.
    "opencode.json",
    "opencode.jsonc",
    ".opencode/plugin",
    ".opencode/plugins",
    ".opencode/tool",
    ".opencode/tools",
    ".pi/extensions",
    // Packages of extensions, which are installed where they are missing, and what was.
    ".pi/settings.json",
    ".pi/npm",
    ".pi/git",
    // Linters and tests that run after each edit.
    ".aider.conf.yml",
    ".roo/mcp.json",
    ".kilocode/mcp.json",
    ".amazonq/mcp.json",
    ".junie/mcp",
    ".amazonq/cli-agents",
    ".continue/mcpServers",
    ".trae/mcp.json",
    ".kiro/agents",
    ".kiro/hooks",
    ".kiro/settings",
    ".qwen/settings.json",
    ".qwen/settings.local.json",
    ".qwen/hooks",
    ".qwen/.env",
    "crush.json",
    ".crush.json",
];

/// Protected as [`NAMES`] are, but not read-only for commands: git has to write them where it switches to another
/// branch, and `npm install` has husky write anew what is there.
const WRITABLE: [&str; 55] = [
    // Texts for models with commands that run before the model reads them (`` !`command` ``), hooks and servers of their
    // own, and, in extensions, servers.
    ".claude/agents",
    ".claude/skills",
    ".gemini/agents",
    ".gemini/extensions",
    ".qwen/agents",
    ".qwen/extensions",
    ".codex/agents",
    ".opencode/agent",
    ".opencode/agents",
    ".opencode/skill",
    ".opencode/skills",
    // Settings of hook managers, and the scripts that they run: the hook is in place, and git starts it with each commit.
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "prek.toml",
    "lefthook.json",
    "lefthook.jsonc",
    "lefthook.toml",
    "lefthook.yaml",
    "lefthook.yml",
    "lefthook-local.json",
    "lefthook-local.jsonc",
    "lefthook-local.toml",
    "lefthook-local.yaml",
    "lefthook-local.yml",
    ".lefthook",
    ".lefthook.json",
    ".lefthook.jsonc",
    ".lefthook.toml",
    ".lefthook.yaml",
    ".lefthook.yml",
    ".lefthook-local",
    ".lefthook-local.json",
    ".lefthook-local.jsonc",
    ".lefthook-local.toml",
    ".lefthook-local.yaml",
    ".lefthook-local.yml",
    "hk.local.pkl",
    "hk.pkl",
    "captainhook.json",
    "grumphp.yml",
    "grumphp.yml.dist",
    "rusty-hook.toml",
    ".rusty-hook.toml",
    ".huskyrc",
    ".huskyrc.js",
    ".huskyrc.json",
    ".huskyrc.yaml",
    ".huskyrc.yml",
    "husky.config.js",
    ".overcommit.yml",
    ".trunk/trunk.yaml",
    ".local-overcommit.yml",
    // Of overcommit, and where people have `core.hooksPath` lead.
    ".git-hooks",
    ".githooks",
    ".husky",
];

/// No protected name is longer.
const NAME_BYTES_MAX: usize = 32;

/// What in it says what is run, or where more of that is, besides `config` and what begins so.
const REPOSITORY_SETTINGS: [&str; 5] = ["hooks", "info", "commondir", "lazygit.yml", "glab-cli"];

/// What in it says by which names git writes, reads and removes files, besides shared indexes.
const REPOSITORY_INDEXES: [&str; 2] = ["MERGE_RR", "index"];

/// How the names of shared indexes begin.
const SHARED_INDEX: &[u8] = b"sharedindex.";

/// Where git looks for remotes besides its settings.
const OLD_REMOTES: [&str; 2] = ["branches", "remotes"];

/// Where references are by which git shows another object than the one that is asked for.
const REPLACEMENTS: (&str, &str) = ("refs", "replace");

/// Where a repository names folders of objects that it has besides its own.
pub(crate) const ALTERNATES: [&str; 3] = ["objects", "info", "alternates"];

/// Names by which a folder may be a repository's own.
const MAKE_REPOSITORIES: [&str; 5] = ["HEAD", "objects", "refs", "worktrees", "commondir"];

/// What of it holds objects and branches: nothing runs what is there by its name, as `objects/info` and the branch
/// `config`.
const REPOSITORY_DATA: [&str; 3] = ["objects", "refs", "logs"];

impl Workspace {
    pub(super) fn is_protected(&self, found: &Resolved) -> bool {
        is_protected_name(&self.absolute(found.root, Path::new("")), &found.beneath)
            || self.is_protected_by_place(found)
    }

    /// Whether a link with a protected name led to it, or one on the way of such a name: programs take commands from
    /// what it leads to.
    pub(super) fn is_behind_protected(&self, found: &Resolved) -> bool {
        found.ways.iter().any(|(root, way)| {
            is_protected_name(&self.absolute(*root, Path::new("")), way)
                || self.is_protected_at(&self.absolute(*root, way))
        })
    }

    /// Whether a rule can say that commands may write it.
    pub(super) fn is_protected_by_name(&self, found: &Resolved) -> bool {
        let root = self.absolute(found.root, Path::new(""));
        above_listed(&root, &found.beneath).is_some() && !self.is_protected_by_place(found)
    }

    /// Whether what is protected is a reference, but for those by which git shows other objects.
    pub(super) fn is_git_reference(&self, found: &Resolved) -> bool {
        let root = self.absolute(found.root, Path::new(""));
        is_reference(&found.beneath)
            && !is_replacement(&found.beneath)
            && !is_protected_name(&root, &found.beneath)
    }

    fn is_protected_by_place(&self, found: &Resolved) -> bool {
        self.is_protected_at(&self.absolute(found.root, &found.beneath))
            || self.is_in_toolchain(found)
            || self.is_in_bare_repository(found)
            || self.is_included(found)
    }

    /// Whether a place is tenon's own, or what the user's programs start with.
    pub(super) fn is_protected_at(&self, absolute: &Path) -> bool {
        let mut own = self.shared.own_folders.iter().chain(&self.shared.protected);
        own.any(|own| absolute.starts_with(own)) || self.is_led_to(absolute)
    }

    /// Whether what the user's programs start with leads to a place by now.
    fn is_led_to(&self, absolute: &Path) -> bool {
        let (roots, mut own_paths) = (self.roots(), self.own_paths());
        let mut led_to = places_led_to(own_paths.leading_into(&roots), &roots);
        led_to.any(|own| absolute.starts_with(own))
    }

    pub(super) fn own_paths(&self) -> MutexGuard<'_, OwnPaths> {
        // After a panic the next look is a new one.
        self.shared.own_paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it lies in a toolchain that the root around it holds. A root that is one, or lies in one, was named
    /// by the user, and is open.
    pub(super) fn is_in_toolchain(&self, found: &Resolved) -> bool {
        let Some(top) = self.root_of(found.root).map(|root| &root.path) else { return false };
        let place = self.absolute(found.root, &found.beneath);
        let mut held = self.shared.toolchains.iter();
        held.any(|it| it.starts_with(top) && it != top && lies_in(&place, it))
    }

    /// A repository's own directory need not be called `.git`: bare ones, and those that a `.git`
    /// file points to. Only looked for where the path has a name that matters there: of a setting,
    /// or of the last entry without which the settings that are there meant nothing. What is where a
    /// repository has others counts as if it had all entries, since a command may make those.
    fn is_in_bare_repository(&self, found: &Resolved) -> bool {
        let Some(Ok(top)) = self.root_of(found.root).map(super::Root::folder) else { return false };
        found.beneath.ancestors().any(|place| {
            let (Some(name), Some(folder)) = (place.file_name(), place.parent()) else {
                return false;
            };
            let holds = |entry: &str| look_at(&top, &folder.join(entry)).is_ok();
            let is = |entry: &str| name.eq_ignore_ascii_case(entry);
            let completes = || !makes_one(holds) && makes_one(|entry| holds(entry) || is(entry));
            let is_for_others = |place: &Path| {
                let name = place.file_name().map(OsStr::to_ascii_lowercase);
                let of_above =
                    |above: &Path| makes_one(|it| look_at(&top, &above.join(it)).is_ok());
                name.is_some_and(|it| has_others(&it)) && place.parent().is_some_and(of_above)
            };
            let rest = found.beneath.strip_prefix(place).unwrap_or(place);
            let is_written = || match rest.iter().next() {
                None => is_repository_written(name),
                Some(_) if GitStep::of_references(&name.to_ascii_lowercase()).is_some() => true,
                Some(step) => rest.iter().count() == 1 && is_repository_step(name, step),
            };
            (is_repository_setting(name) || is_written())
                && (makes_one(holds) || folder.ancestors().any(is_for_others))
                || completes()
        })
    }
}

/// Returns the name of a folder beneath `root`, or that root's own.
pub(crate) fn name_of<'a>(root: &'a Path, folder: &'a Path) -> Option<&'a OsStr> {
    folder.file_name().or_else(|| root.file_name())
}

/// Returns the names that are read-only for commands in a root, beneath it: of two the first can be its own.
pub(crate) fn names_beneath(root: &Path) -> impl Iterator<Item = &'static str> {
    let own =
        NAMES.into_iter().filter_map(|known| second_in(root.file_name(), known.split_once('/')?));
    NAMES.into_iter().chain(own)
}

/// Returns the second of two names where the first is the folder's.
fn second_in(
    folder: Option<&OsStr>,
    (above, name): (&'static str, &'static str),
) -> Option<&'static str> {
    folder?.eq_ignore_ascii_case(above).then_some(name)
}

/// In which folders names are protected, by the names in lower case; none stands for everywhere. Each entry of each folder
/// is looked up at each look.
static LISTED: LazyLock<HashMap<Vec<u8>, Vec<Option<&str>>>> = LazyLock::new(|| {
    let mut listed: HashMap<_, Vec<_>> = HashMap::new();
    for known in NAMES.into_iter().chain(WRITABLE) {
        let (above, name) =
            known.split_once('/').map_or((None, known), |(above, name)| (Some(above), name));
        listed.entry(name.to_ascii_lowercase().into_bytes()).or_default().push(above);
    }
    listed
});

/// The first of two names, in lower case.
static ABOVE: LazyLock<HashSet<Vec<u8>>> = LazyLock::new(|| {
    let above = NAMES.iter().filter_map(|known| known.split_once('/'));
    above.map(|(above, _)| above.to_ascii_lowercase().into_bytes()).collect()
});

/// Whether something by this name can hold a protected name: a link there leads to another one.
pub(crate) fn is_above_protected(name: &OsStr) -> bool {
    name.len() <= NAME_BYTES_MAX && ABOVE.contains(&name.as_bytes().to_ascii_lowercase())
}

/// Whether `name` is protected in a folder with the name `above`.
pub(crate) fn is_listed(above: Option<&OsStr>, name: &OsStr) -> bool {
    let folders = (name.len() <= NAME_BYTES_MAX)
        .then(|| LISTED.get(&name.as_bytes().to_ascii_lowercase()))
        .flatten();
    let is_in = |folder: &Option<&str>| {
        folder.is_none_or(|folder| above.is_some_and(|above| above.eq_ignore_ascii_case(folder)))
    };
    folders.is_some_and(|folders| folders.iter().any(is_in))
}

/// Returns how many names of a path beneath `root` come before its protected one, outside of repositories'
/// own directories: of two names both are it, and the first can be the root's own.
pub(crate) fn above_listed(root: &Path, beneath: &Path) -> Option<usize> {
    let mut above = root.file_name();
    for (index, name) in beneath.iter().take_while(|name| *name != ".git").enumerate() {
        if is_listed(None, name) {
            return Some(index);
        }
        if is_listed(above, name) {
            return Some(index.saturating_sub(1));
        }
        above = Some(name);
    }
    None
}

/// Whether a path can matter by its names alone: those that are protected, and those that do
/// something in a repository's own directory, or make a folder one.
pub(crate) fn can_matter(root: &Path, beneath: &Path) -> bool {
    let in_repository = |name: &OsStr| is_repository_setting(name) || has_others(name);
    let makes = |name: &OsStr| {
        name == ".git"
            || is_above_protected(name)
            || is_written_by_git(name)
            || makes_repository(name)
    };
    beneath.file_name().is_some_and(makes)
        || above_listed(root, beneath).is_some()
        || beneath.iter().any(in_repository)
        || GitStep::at_end_of(beneath).is_some()
        || is_reference(beneath)
}

/// Whether a folder may be a repository's own because this name is in it.
pub(crate) fn makes_repository(name: &OsStr) -> bool {
    MAKE_REPOSITORIES.iter().any(|known| name == *known)
}

/// Whether a repository's own directory has others in a folder of this name.
pub(crate) fn has_others(name: &OsStr) -> bool {
    name == "modules" || name == "worktrees"
}

/// Whether git takes a folder for a repository's own by what it `has` in it, whatever it is called.
pub(crate) fn makes_one(has: impl Fn(&str) -> bool) -> bool {
    let is_common = || has("objects") && has("refs") && (has("HEAD") || has("worktrees"));
    has("HEAD") && has("commondir") || is_common()
}

/// Whether a path can be of what git runs, or goes by, in a repository's own directory; of references, those by which it
/// shows other objects alone.
pub(crate) fn may_be_of_git(path: &Path) -> bool {
    let is_written = |name: &OsStr| name != "HEAD" && is_written_by_git(name);
    path.iter().any(is_setting_of_git)
        || path.file_name().is_some_and(is_written)
        || GitStep::at_end_of(path).is_some()
        || is_replacement(path)
}

/// Whether a path can be that of a file of a reference, or of a log of one.
fn is_reference(path: &Path) -> bool {
    path.iter().rev().skip(1).any(|name| GitStep::of_references(name).is_some())
}

/// Whether references are there by which git shows another object than the one that is asked for.
pub(crate) fn is_replacement(path: &Path) -> bool {
    let names = path.iter().zip(path.iter().skip(1));
    let (above, name) = REPLACEMENTS;
    names
        .into_iter()
        .any(|(one, other)| one.eq_ignore_ascii_case(above) && other.eq_ignore_ascii_case(name))
}

/// Whether a path ends as that of the file in which a repository names folders of objects, in upper and lower case alike.
pub(crate) fn is_alternates(path: &Path) -> bool {
    let mut names = path.iter().rev();
    let mut known = ALTERNATES.iter().rev();
    known.all(|known| names.next().is_some_and(|name| name.eq_ignore_ascii_case(known)))
}

/// Whether a folder of this very name in a repository's own directory has remotes in it, in git's old form.
pub(crate) fn has_old_remotes(name: &OsStr) -> bool {
    OLD_REMOTES.iter().any(|known| name == *known)
}

/// Returns the links on the way of paths, and what they lead to, as far as these lie in `roots`.
pub(super) fn places_led_to(paths: &[PathBuf], roots: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let found = paths.iter().filter_map(|path| resolved(path));
    let found = found.flat_map(|(end, links)| links.into_iter().chain([end]));
    found.filter(|path| roots.iter().any(|root| path.starts_with(root)))
}

/// Whether a place beneath `root` is protected by the names on its way.
pub(crate) fn is_protected_name(root: &Path, beneath: &Path) -> bool {
    if is_alternates(beneath) {
        return true;
    }
    let (mut in_repository, mut above) = (false, root.file_name());
    let mut names = beneath.iter().peekable();
    while let Some(name) = names.next() {
        let is_last = names.peek().is_none();
        let is_step = || above.is_some_and(|above| is_repository_step(above, name));
        let is_written = || is_last && (is_repository_written(name) || is_step());
        let is_of_git = in_repository && (is_repository_setting(name) || is_written());
        let mut is_replacing = || {
            in_repository
                && names.peek().is_some_and(|next| is_replacement(&Path::new(name).join(next)))
        };
        if is_listed(above, name) || is_of_git || is_replacing() {
            return true;
        }
        if name.eq_ignore_ascii_case(".git") {
            // The file `.git` says where the repository is.
            if names.peek().is_none() {
                return true;
            }
            in_repository = true;
        } else if above.is_some_and(|above| above.eq_ignore_ascii_case(".git"))
            && REPOSITORY_DATA.iter().any(|data| name.eq_ignore_ascii_case(data))
        {
            in_repository = false;
        }
        above = Some(name);
    }
    false
}

/// Whether a name in a repository's own directory is protected, in upper and lower case alike.
fn is_repository_setting(name: &OsStr) -> bool {
    let is_config =
        name.as_bytes().get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"config"));
    let mut known = REPOSITORY_SETTINGS.iter().chain(&OLD_REMOTES);
    is_config || known.any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether git, or what goes with it, takes this very name in a repository's own directory for settings.
pub(crate) fn is_setting_of_git(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"config") || REPOSITORY_SETTINGS.iter().any(|known| name == *known)
}

/// Whether a file in a repository's own directory lists names of files, in upper and lower case alike.
fn is_repository_index(name: &OsStr) -> bool {
    let start = name.as_bytes().get(..SHARED_INDEX.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(SHARED_INDEX))
        || REPOSITORY_INDEXES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether git takes a file of this very name in a repository's own directory for a list of names: what it tracks, or
/// where conflicts are.
pub(crate) fn is_index_of_git(name: &OsStr) -> bool {
    name.as_bytes().starts_with(SHARED_INDEX)
        || REPOSITORY_INDEXES.iter().any(|known| name == *known)
}

/// Whether git takes a file of this very name in a repository's own directory for such a list, or for hashes of commits.
pub(crate) fn is_written_by_git(name: &OsStr) -> bool {
    is_index_of_git(name) || GitStep::beside(name).is_some()
}

/// Whether a file in a repository's own directory is one of these, in upper and lower case alike.
fn is_repository_written(name: &OsStr) -> bool {
    let is_step = |name: OsString| GitStep::beside(&name).is_some();
    is_repository_index(name)
        || is_step(name.to_ascii_uppercase())
        || is_step(name.to_ascii_lowercase())
}

/// Whether these are a folder in a repository's own directory and a file in it that says how far a rebase is, in upper
/// and lower case alike.
fn is_repository_step(folder: &OsStr, name: &OsStr) -> bool {
    GitStep::within(&folder.to_ascii_lowercase(), &name.to_ascii_lowercase()).is_some()
}

#[cfg(test)]
mod tests;

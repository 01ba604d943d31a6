//! What of a home nobody may write unasked, because the user's programs start with it.
//!
//! Login, shells, editors, git and ssh run commands from these files whenever they are started, in any folder.
//! They matter where the workspace is the home, or holds what one of them is a link to.

use std::path::{Path, PathBuf};

use tenon_sandbox::{Mounts, leads_into};

use super::Config;

/// Beneath HOME.
const IN_HOME: [&str; 67] = [
    // bash, and other shells that log in.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    // Debian's .bashrc reads it, Fedora's the folder.
    ".bash_aliases",
    ".bashrc.d",
    // The library reads it that reads lines for bash: a key can be bound to a command.
    ".inputrc",
    // bash-completion reads it.
    ".bash_completion",
    ".profile",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".kshrc",
    ".mkshrc",
    ".xonshrc",
    // direnv reads it before each `.envrc`.
    ".direnvrc",
    // The pager of git and of much else: it sets variables that name programs.
    ".less",
    ".lesskey",
    // Editors, and what opens in a terminal.
    ".vimrc",
    ".vim",
    ".emacs",
    ".emacs.d",
    ".tmux.conf",
    // Shells load them, and what is within.
    ".oh-my-zsh/custom",
    ".fzf.bash",
    ".fzf.zsh",
    // Terminals, and what runs in one.
    ".screenrc",
    ".byobu",
    ".alacritty.toml",
    ".alacritty.yml",
    ".wezterm.lua",
    // Debuggers.
    ".gdbinit",
    ".gdbearlyinit",
    ".lldbinit",
    // Clients of databases: pagers, editors, commands.
    ".psqlrc",
    ".my.cnf",
    // Interpreters. What else IPython has there it writes itself: of its database it loads objects.
    ".ipython/profile_default/db",
    ".ipython/profile_default/ipython_config.json",
    ".ipython/profile_default/ipython_config.py",
    ".ipython/profile_default/ipython_kernel_config.json",
    ".ipython/profile_default/ipython_kernel_config.py",
    ".ipython/profile_default/startup",
    ".julia/config",
    ".ocamlinit",
    ".sbclrc",
    ".ghc/ghci.conf",
    // What is beside git.
    ".tigrc",
    // `ProxyCommand` and the like, and who may log in. The keys beside them are nobody's commands.
    ".ssh/config",
    ".ssh/config.d",
    ".ssh/rc",
    ".ssh/environment",
    ".ssh/authorized_keys",
    ".ssh/authorized_keys2",
    // Aliases, hooks, pagers, editors.
    ".gitconfig",
    // Set PATH or LD_PRELOAD of a session.
    ".pam_environment",
    // What a graphical session begins with.
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".xinitrc",
    ".gnomerc",
    ".local/share/systemd/user",
    // Programs that start when another one speaks to their name.
    ".local/share/dbus-1/services",
    // bash-completion runs what is in there for a command's name.
    ".local/share/bash-completion/completions",
    // fish runs the first at its start, and the others when a command is called by their name.
    ".local/share/fish/vendor_conf.d",
    ".local/share/fish/vendor_functions.d",
    ".local/share/fish/vendor_completions.d",
];

/// Beneath HOME, or what `ZDOTDIR` names: each also with `.zwc` behind it, which zsh runs in its place if it is newer.
const OF_ZSH: [&str; 6] = [".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout", ".zcompdump"];

/// Beside tenon's own folder of settings.
const IN_CONFIG: [&str; 44] = [
    "fish",
    "nushell",
    "powershell",
    "bash_completion",
    "direnv",
    "lesskey",
    "git",
    "nvim",
    "emacs",
    "tmux",
    // Shells and their prompts.
    "elvish",
    "starship.toml",
    // Terminals, and what runs in one.
    "alacritty",
    "byobu",
    "ghostty",
    "kitty",
    "wezterm",
    "zellij",
    // Editors. What else Micro and Zed have there they write while they run.
    "helix",
    "kak",
    "micro/bindings.json",
    "micro/init.lua",
    "micro/plug",
    "micro/settings.json",
    "zed/debug.json",
    "zed/global_settings.json",
    "zed/keymap.json",
    "zed/settings.json",
    "zed/tasks.json",
    // Debuggers and interpreters.
    "gdb",
    "ghc/ghci.conf",
    "ocaml/init.ml",
    // What is beside git.
    "gh/config.yml",
    "lazygit/config.yml",
    "tig",
    // What a desktop runs by its keys and at its start.
    "hypr",
    "i3",
    "sway",
    // What a login and a graphical session begin with.
    "autostart",
    "environment.d",
    "plasma-workspace/env",
    "plasma-workspace/shutdown",
    "systemd/user",
    "user-tmpfiles.d",
];

/// Editors made from the code of VS Code, and of the folder `User` that each has there: what is beside that they
/// write while they run.
const OF_CODE: [&str; 6] =
    ["Code", "Code - Insiders", "Code - OSS", "Cursor", "VSCodium", "Windsurf"];
const IN_CODE: [&str; 4] = ["keybindings.json", "mcp.json", "settings.json", "tasks.json"];

/// Variables that name such a file, or the folder in which programs look for it: the name beneath it is empty
/// where the variable names the file itself.
const NAMED: [(&str, &str); 21] = [
    // bash reads it before each script, other shells when a person starts them.
    ("BASH_ENV", ""),
    ("ENV", ""),
    ("INPUTRC", ""),
    ("BASH_COMPLETION_USER_FILE", ""),
    ("BASH_COMPLETION_USER_DIR", "completions"),
    ("GIT_CONFIG_GLOBAL", ""),
    ("GIT_CONFIG_SYSTEM", ""),
    // Every repository that is made gets a copy.
    ("GIT_TEMPLATE_DIR", "commondir"),
    ("GIT_TEMPLATE_DIR", "config"),
    ("GIT_TEMPLATE_DIR", "config.worktree"),
    ("GIT_TEMPLATE_DIR", "hooks"),
    ("GIT_TEMPLATE_DIR", "info"),
    ("GIT_TEMPLATE_DIR", "lazygit.yml"),
    ("PYTHONSTARTUP", ""),
    ("XDG_DATA_HOME", "systemd/user"),
    ("XDG_DATA_HOME", "dbus-1/services"),
    ("XDG_DATA_HOME", "bash-completion/completions"),
    ("XDG_DATA_HOME", "fish/vendor_conf.d"),
    ("XDG_DATA_HOME", "fish/vendor_functions.d"),
    ("XDG_DATA_HOME", "fish/vendor_completions.d"),
    ("XINITRC", ""),
];

/// The one that may name several, with a colon between.
const LIST: &str = "BASH_COMPLETION_USER_DIR";

impl Config {
    /// Returns what is protected by where it is: tenon's own settings, and files that the user's
    /// programs start with, also by the other paths at which it is mounted. What variables name is
    /// there only where it leads into one of `roots`, and is no folder in the place of a file.
    pub(crate) fn own_files(&self, mounts: &Mounts, roots: &[PathBuf]) -> Vec<PathBuf> {
        let folders = &self.folders;
        let beside = folders.config.parent().unwrap_or(&folders.config);
        let of_home = IN_HOME.iter().map(|name| folders.home.join(name));
        let of_zsh = of_zsh_in(&folders.home);
        let of_config = IN_CONFIG.iter().map(|name| beside.join(name));
        let of_code = OF_CODE.iter().flat_map(|editor| {
            let user = beside.join(editor).join("User");
            IN_CODE.iter().map(move |name| user.join(name))
        });
        let own = [folders.config.clone(), folders.config_file()];
        let mut files: Vec<PathBuf> =
            own.into_iter().chain(of_home).chain(of_zsh).chain(of_config).chain(of_code).collect();
        let mut named = self.files_named();
        let names = |files: &[PathBuf]| mounts.elsewhere(files.iter().map(PathBuf::as_path));
        files.extend(names(&files));
        named.extend(names(&named));
        files.extend(named.into_iter().filter(|path| leads_into(path, roots)));
        files
    }

    fn files_named(&self) -> Vec<PathBuf> {
        let home = &self.folders.home;
        let named = NAMED.iter().flat_map(|(variable, beneath)| {
            let paths = self.environment.paths(variable, *variable == LIST, home);
            paths.into_iter().filter_map(move |path| match *beneath {
                "" => Some(path).filter(|path| !path.is_dir()),
                beneath => Some(path.join(beneath)),
            })
        });
        let of_zsh = self.environment.paths("ZDOTDIR", false, home);
        named.chain(of_zsh.iter().flat_map(|folder| of_zsh_in(folder))).collect()
    }
}

fn of_zsh_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let names = OF_ZSH.iter().flat_map(|name| [(*name).to_owned(), format!("{name}.zwc")]);
    names.map(|name| folder.join(name))
}

//! Where toolchains are in a home.

/// Toolchains beneath HOME that a command may read, and, where folders can be stacked, write for
/// the time of the session: they fetch what is missing to where they are.
pub(super) const TOOLCHAINS: [&str; 28] = [
    ".cargo",
    ".rustup",
    ".pyenv",
    ".nvm",
    ".bun/bin",
    ".deno/bin",
    ".volta",
    ".fnm",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".local/share/mise",
    ".local/share/fnm",
    ".local/share/pnpm",
    ".local/pipx",
    ".asdf",
    ".rbenv",
    ".rvm",
    ".sdkman",
    ".jenv",
    ".ghcup",
    ".opam",
    ".juliaup",
    ".dotnet",
    ".m2/repository",
    ".gradle/wrapper",
    "go/pkg",
    "go/bin",
];

//! What git says in files of how far a rebase, patches or picks are, and whether only that is in them.
//!
//! Programs read these files and do not ask whether git wrote them: prompts have shells expand a number, and what should
//! be the hash of a commit is an option of the `git log` that they start, if it begins with a hyphen. Pure.

use std::ffi::OsStr;
use std::path::Path;

use crate::git_blanks::{is_blank, is_blank_byte, trimmed, trimmed_end};
use crate::git_refs::{
    are_hashes, folder_of_commits, has_replacement, is_log, is_reference, leads_to_commits,
};
use crate::git_strategies;

/// What a file may have in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitStep {
    /// Options of `git apply` by which it reads and writes no other files than without them.
    ApplyOptions,
    /// The hash of what is applied in the end, which stays as it was from the beginning on.
    Autostash,
    /// The name of a branch, or that there is none.
    Branch,
    /// Hashes, or the beginnings of such.
    Hashes,
    /// How far it is, or how far it goes.
    Number,
    /// A mail, whose first line has the hash of a commit.
    Patch,
    /// Names of references that a list of steps made, which go with it.
    Labels,
    /// Lines of a command and a commit.
    Picks,
    /// Settings of a list of picks, with a strategy of git's own if any, and options that it knows.
    PickSettings,
    /// A reference beside the others, such as `HEAD`: whatever it has, it stands for no file that is none.
    Head,
    /// What a reference was, from the first time on.
    Log,
    /// A reference, in such a folder of [`folder_of_commits`] if in any: there it may stand for another one.
    Reference(Option<&'static str>),
    /// References, none by which git shows another object than the one that is asked for.
    Refs,
    /// Names of branches, and what they come to be.
    Branches,
    /// The option of `git commit` and `git am` by which they sign.
    SigningOption,
    /// The name of a strategy of git's own: for another one it starts a program.
    Strategy,
    /// Options of the strategies that git merges by itself.
    StrategyOptions,
    /// Words that are no options.
    Words,
    /// Whatever it has, git runs nothing of it and writes nothing by it.
    Text,
}

/// Folders in a repository's own directory, and what they have in them, besides patches.
const STEPS: [(&str, &str, GitStep); 34] = [
    ("rebase-apply", "abort-safety", GitStep::Hashes),
    ("rebase-apply", "apply-opt", GitStep::ApplyOptions),
    ("rebase-apply", "autostash", GitStep::Autostash),
    ("rebase-apply", "gpg_sign_opt", GitStep::SigningOption),
    ("rebase-apply", "head-name", GitStep::Branch),
    ("rebase-apply", "last", GitStep::Number),
    ("rebase-apply", "next", GitStep::Number),
    ("rebase-apply", "onto", GitStep::Hashes),
    ("rebase-apply", "orig-head", GitStep::Hashes),
    ("rebase-apply", "original-commit", GitStep::Hashes),
    ("rebase-apply", "rewritten", GitStep::Hashes),
    ("rebase-merge", "amend", GitStep::Hashes),
    ("rebase-merge", "autostash", GitStep::Autostash),
    ("rebase-merge", "done", GitStep::Picks),
    ("rebase-merge", "end", GitStep::Number),
    ("rebase-merge", "git-rebase-todo", GitStep::Picks),
    ("rebase-merge", "git-rebase-todo.backup", GitStep::Picks),
    ("rebase-merge", "gpg_sign_opt", GitStep::SigningOption),
    ("rebase-merge", "head-name", GitStep::Branch),
    ("rebase-merge", "msgnum", GitStep::Number),
    ("rebase-merge", "onto", GitStep::Hashes),
    ("rebase-merge", "orig-head", GitStep::Hashes),
    ("rebase-merge", "refs-to-delete", GitStep::Labels),
    ("rebase-merge", "rewritten-list", GitStep::Hashes),
    ("rebase-merge", "rewritten-pending", GitStep::Hashes),
    ("rebase-merge", "squash-onto", GitStep::Hashes),
    ("rebase-merge", "stopped-sha", GitStep::Hashes),
    ("rebase-merge", "strategy", GitStep::Strategy),
    ("rebase-merge", "strategy_opts", GitStep::StrategyOptions),
    ("rebase-merge", "update-refs", GitStep::Branches),
    ("sequencer", "abort-safety", GitStep::Hashes),
    ("sequencer", "head", GitStep::Hashes),
    ("sequencer", "opts", GitStep::PickSettings),
    ("sequencer", "todo", GitStep::Picks),
];

/// Where patches are, each by its number.
const PATCHES: &str = "rebase-apply";

/// Where all other references are, but for those in `packed-refs`, and where what they were is: git writes files there by
/// names that settings, commits and other repositories choose.
const OF_REFERENCES: [(&str, GitStep); 2] =
    [("logs", GitStep::Log), ("refs", GitStep::Reference(None))];

/// Files beside these folders: most have the hashes of the commits that it is about, one those of all references.
const BESIDE: [(&str, GitStep); 17] = [
    ("AUTO_MERGE", GitStep::Head),
    ("BISECT_ANCESTORS_OK", GitStep::Hashes),
    ("BISECT_EXPECTED_REV", GitStep::Hashes),
    ("BISECT_HEAD", GitStep::Head),
    ("BISECT_LOG", GitStep::Text),
    ("BISECT_START", GitStep::Words),
    ("BISECT_TERMS", GitStep::Words),
    ("CHERRY_PICK_HEAD", GitStep::Hashes),
    ("HEAD", GitStep::Head),
    ("MERGE_AUTOSTASH", GitStep::Hashes),
    ("MERGE_HEAD", GitStep::Hashes),
    ("NOTES_MERGE_PARTIAL", GitStep::Head),
    ("NOTES_MERGE_REF", GitStep::Head),
    ("ORIG_HEAD", GitStep::Hashes),
    ("REBASE_HEAD", GitStep::Hashes),
    ("REVERT_HEAD", GitStep::Hashes),
    ("packed-refs", GitStep::Refs),
];

/// Of which git writes files at a later command that has nothing to do with it, and the file without which it is of nothing
/// that is under way, and that git's own words tell.
const PARTS: [(&str, &str); 3] =
    [("BISECT_START", "BISECT_LOG"), ("MERGE_AUTOSTASH", "MERGE_HEAD"), ("autostash", "onto")];

/// Commands of a list that are followed by a commit.
const OF_COMMITS: [&str; 15] = [
    "d", "drop", "e", "edit", "f", "fixup", "m", "merge", "p", "pick", "r", "revert", "reword",
    "s", "squash",
];

/// Options of `git am` and `git rebase` that are handed to `git apply`: how they begin, or all of one.
const APPLY_OPTIONS: [&str; 6] =
    ["--directory=", "--exclude=", "--include=", "--whitespace=", "-C", "-p"];
const APPLY_FLAGS: [&str; 3] = ["--ignore-space-change", "--ignore-whitespace", "--reject"];

/// What the names of references that steps make begin with.
const LABELS: &[u8] = b"refs/rewritten/";

/// What the names of branches begin with, which alone a rebase moves to other commits.
const BRANCHES: &[u8] = b"refs/heads/";
const OF_BRANCHES: [&str; 2] = ["u", "update-ref"];

/// Behind such a command: the message comes from that commit, too.
const OF_MESSAGES: [&str; 2] = ["-C", "-c"];

/// The longest number, with the end of its line.
const NUMBER_BYTES_MAX: usize = 32;

impl GitStep {
    /// Returns what a file of this very name has in it that is in a folder of a repository's own directory.
    pub(crate) fn within(folder: &OsStr, name: &OsStr) -> Option<Self> {
        let is_number = || name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        if folder == PATCHES && !name.is_empty() && is_number() {
            return Some(Self::Patch);
        }
        let found = STEPS.iter().find(|(above, known, _)| folder == *above && name == *known);
        found.map(|(_, _, step)| *step)
    }

    /// Returns what a file of this very name has in it that is in a repository's own directory.
    pub(crate) fn beside(name: &OsStr) -> Option<Self> {
        BESIDE.iter().find(|(known, _)| name == *known).map(|(_, step)| *step)
    }

    /// Returns the file beside that one of this very name is never without, in a repository's own directory or a folder of
    /// it.
    pub(crate) fn never_without(name: &OsStr) -> Option<&'static str> {
        PARTS.iter().find(|(part, _)| name == *part).map(|(_, other)| *other)
    }

    /// Returns the file in the same folder that has the strategy of these options, or the options of this strategy.
    pub(crate) fn goes_with(self) -> Option<&'static str> {
        match self {
            Self::Strategy => Some("strategy_opts"),
            Self::StrategyOptions => Some("strategy"),
            _ => None,
        }
    }

    /// Returns what the files in a folder of this very name in a repository's own directory are, however deep, if that has
    /// references or their logs.
    pub(crate) fn of_references(folder: &OsStr) -> Option<Self> {
        let found = OF_REFERENCES.iter().find(|(known, _)| folder == *known);
        found.map(|(_, step)| *step)
    }

    /// The same of a file by the names of its path in that directory.
    pub(crate) fn of_reference(names: &[&OsStr]) -> Option<Self> {
        let step = Self::of_references(names.first()?)?;
        let folder = names.get(1).filter(|_| names.len() > 2);
        Some(match step {
            Self::Reference(_) => Self::Reference(folder.and_then(|it| folder_of_commits(it))),
            step => step,
        })
    }

    /// Whether git writes it by names that others choose.
    pub(crate) fn is_of_references(self) -> bool {
        matches!(self, Self::Head | Self::Log | Self::Reference(_))
    }

    /// Returns what a path ends with: such a folder and such a file in it.
    pub(crate) fn at_end_of(path: &Path) -> Option<Self> {
        Self::within(path.parent()?.file_name()?, path.file_name()?)
    }

    /// Whether nothing is in it that is neither git's nor harmless.
    pub(crate) fn is_sound(self, bytes: &[u8]) -> bool {
        match self {
            Self::ApplyOptions => are_apply_options(bytes),
            Self::Branch => is_branch(bytes),
            Self::Branches => bytes
                .split(|byte| *byte == b'\n')
                .all(|line| are_hashes(line) || line.starts_with(BRANCHES) && is_branch(line)),
            Self::Autostash | Self::Hashes => are_hashes(bytes),
            Self::Number => {
                bytes.len() <= NUMBER_BYTES_MAX && trimmed_end(bytes).iter().all(u8::is_ascii_digit)
            }
            Self::Labels => bytes.split(|byte| *byte == b'\n').all(is_label),
            Self::Patch => is_patch(bytes),
            Self::PickSettings => std::str::from_utf8(bytes).is_ok_and(git_strategies::has_own),
            Self::Head => leads_to_commits(bytes),
            Self::Log => is_log(bytes),
            Self::Reference(folder) => is_reference(bytes, folder),
            Self::Refs => !has_replacement(bytes),
            Self::SigningOption => is_signing_option(bytes),
            Self::Strategy => git_strategies::is_own(&String::from_utf8_lossy(bytes)),
            Self::StrategyOptions => {
                std::str::from_utf8(bytes).is_ok_and(git_strategies::are_options)
            }
            Self::Words => are_words(bytes),
            Self::Text => true,
            Self::Picks => String::from_utf8_lossy(bytes).split(['\n', '\r']).all(is_pick),
        }
    }
}

/// Whether a repository's own directory has such files in a folder of this very name.
pub(crate) fn has_steps(folder: &OsStr) -> bool {
    STEPS.iter().any(|(above, _, _)| folder == *above)
}

/// Whether all are such options, each in single quotes, as git writes them.
fn are_apply_options(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_matches(is_blank);
    let is_option = |word: &str| {
        APPLY_FLAGS.contains(&word) || APPLY_OPTIONS.iter().any(|option| word.starts_with(option))
    };
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    text.is_empty()
        || inner.is_some_and(|inner| {
            inner.split("' '").all(|word| !word.contains(['\'', '\\', '\n']) && is_option(word))
        })
}

/// Whether it is nothing, or one option `-S`, with the name of a key if any.
fn is_signing_option(bytes: &[u8]) -> bool {
    let option = trimmed_end(bytes);
    let is_one = option.is_empty() || option.starts_with(b"-S");
    is_one && !option.iter().any(u8::is_ascii_control)
}

fn are_words(bytes: &[u8]) -> bool {
    let is_plain = |byte: &u8| is_blank_byte(byte) || !byte.is_ascii_control();
    let mut words = bytes.split(is_blank_byte);
    bytes.iter().all(is_plain) && words.all(|word| !word.starts_with(b"-")) && !is_expanded(bytes)
}

fn is_branch(bytes: &[u8]) -> bool {
    let bytes = trimmed(bytes);
    let is_plain = |byte: &u8| *byte != b' ' && !byte.is_ascii_control();
    let is_name = || {
        bytes.starts_with(BRANCHES)
            && bytes.iter().all(is_plain)
            && !bytes.split(|byte| *byte == b'/').any(|part| part.starts_with(b"-"))
            && !is_expanded(bytes)
    };
    bytes.is_empty() || bytes == b"detached HEAD" || is_name()
}

/// Whether it is the name of a reference that steps make, or none.
fn is_label(line: &[u8]) -> bool {
    line.is_empty()
        || line.starts_with(LABELS) && !line.split(|byte| *byte == b'/').any(|part| part == b"..")
}

/// Whether a shell would run something of it where it expands it.
fn is_expanded(bytes: &[u8]) -> bool {
    bytes.contains(&b'`') || bytes.windows(2).any(|pair| matches!(pair, [b'$', b'(' | b'[' | b'{']))
}

/// The second word is taken for a commit, whether that ends with the first blank or with all of them, of git's or any.
fn is_patch(bytes: &[u8]) -> bool {
    let first = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let words = [first.split(' ').nth(1), words(&first).nth(1), first.split_whitespace().nth(1)];
    words.into_iter().flatten().all(is_commit)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_blank).filter(|word| !word.is_empty())
}

/// Whether a line of a list names no commit that is none, for git and for programs that know other blanks.
fn is_pick(line: &str) -> bool {
    picks(words(line)) && picks(line.split_whitespace())
}

fn picks<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    let mut words = words.peekable();
    let Some(command) = words.next() else { return true };
    if OF_COMMITS.contains(&command) {
        words.next_if(|word| OF_MESSAGES.contains(word));
        return words.next().is_none_or(is_commit);
    }
    if OF_BRANCHES.contains(&command) {
        return words.next().is_none_or(|name| name.as_bytes().starts_with(BRANCHES));
    }
    !command.starts_with('-')
}

/// Whether a word is no option, and does not become one where it is a word of a command line.
fn is_commit(word: &str) -> bool {
    let is_option = word.strip_prefix('-').is_some_and(|rest| !rest.is_empty());
    !is_option && !word.contains(['"', '\'', '\\', '$', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_is_sound() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let check = |step: GitStep, texts: &[&str]| {
            for text in texts {
                let text = text.replace("HASH", hash);
                assert!(step.is_sound(text.as_bytes()), "{step:?}: {text}");
            }
        };
        check(GitStep::Number, &["", "1", "12\n"]);
        check(GitStep::Hashes, &["", "HASH", "HASH\n", "0123456\n", "HASH HASH\nHASH HASH\n"]);
        check(GitStep::Branch, &["refs/heads/a/b-c\n", "detached HEAD\n", "", "refs/heads/é$1"]);
        check(GitStep::Words, &["main\n", "HASH\n", "bad\ngood\n", "a/b-c\n", ""]);
        check(GitStep::Autostash, &["HASH\n"]);
        check(GitStep::Branches, &["", "refs/heads/a/b\nHASH\nHASH\nrefs/heads/c\nHASH\nHASH\n"]);
        check(GitStep::Labels, &["", "refs/rewritten/onto\nrefs/rewritten/a/b..é\n"]);
        check(GitStep::SigningOption, &["", "\n", "-S\n", "-SAda Real <a@b>\n"]);
        check(GitStep::Strategy, &["ort\n", "ours", "octopus\n", ""]);
        check(GitStep::StrategyOptions, &["", "\"ours\" \"subtree=a/b\"\n", " --theirs\n"]);
        let options = [
            "\n",
            " '--whitespace=fix' '-C2' '-p1'\n",
            "'--directory=a b'",
            " '--reject' '--ignore-whitespace'",
        ];
        check(GitStep::ApplyOptions, &options);
        let settings =
            ["", "[options]\n\tstrategy = ort\n\tstrategy-option = ours\n\tmainline = 1\n"];
        check(GitStep::PickSettings, &settings);
        let first =
            ["From HASH Mon Sep 17 00:00:00 2001\nFrom: a\n", "From - Tue\n", "", "From: a b\n"];
        check(GitStep::Patch, &first);
        let rebase = "label onto\n\n# Branch side\nreset onto\npick HASH -x is \"new\" $(now)\nlabel side\nreset onto # one\n\
             merge -C HASH side # Merge -x 'side'\nfixup -C HASH b\nf HASH\nexec make -j \"$N\" `a`\nx -e\nbreak\nnoop\n\
             update-ref refs/heads/a\n\n# Rebase a..b onto c\n#\n# p, pick <commit> = use commit\n";
        check(GitStep::Picks, &[rebase, "pick HEAD~2\nrevert HASH Revert \"a\"\n", "", "p a^{}"]);
    }

    #[test]
    fn options_and_what_shells_expand_are_found() {
        let check = |step: GitStep, texts: &[&str]| {
            for text in texts {
                assert!(!step.is_sound(text.as_bytes()), "{step:?}: {text}");
            }
        };
        check(GitStep::Autostash, &["HEAD", "stash@{0}"]);
        for name in
            ["MERGE_AUTOSTASH", "refs/replace/a", "refs/tags/a", " refs/heads/a", "refs/heads/$(a)"]
        {
            let names = format!("refs/heads/a\nab\nab\n{name}\nab\nab\n");
            assert!(!GitStep::Branches.is_sound(names.as_bytes()), "{name}");
        }
        let labels = [
            "refs/heads/a",
            "refs/rewritten/a\nrefs/tags/v1\n",
            " refs/rewritten/a",
            "HEAD",
            "refs/rewritten/../heads/a",
        ];
        check(GitStep::Labels, &labels);
        check(GitStep::SigningOption, &["--directory=x", " -S", "-S\nx", "-i", "x"]);
        check(GitStep::Strategy, &["x/run", "ort\nx", "./ort", "-x", "\u{3000}ort", "ort\u{b}"]);
        check(GitStep::StrategyOptions, &["\"\" \"x}$(id)\"", "--x", "\"ours\" --"]);
        let options = [
            " '--build-fake-ancestor=/home/ada/.bashrc'",
            "--build-fake-ancestor=x",
            " '-p1' --unsafe-paths",
            "'-p1'  '--unsafe-paths'",
            "'-p1'\\''' '--unsafe-paths'",
            "'--rejected'",
            "-p1",
            "'",
        ];
        check(GitStep::ApplyOptions, &options);
        let settings = [
            "[options]\n\tstrategy = x/run\n",
            "[options]strategy=ort\n[Options]Strategy=x",
            "[options",
            "\u{feff}[",
            "[options]\n\tstrategy = octopus\n\tstrategy-option = ours\n",
            "[options]\n\tstrategy-option = \"\"\n\tstrategy-option = $(id)\n",
        ];
        check(GitStep::PickSettings, &settings);
        check(GitStep::Number, &["1\u{c}", "-1", "$(id)", "0000000000000000000000000000000000"]);
        check(
            GitStep::Hashes,
            &["--output=x", "abc\n-x\n", "abc -x\n", "refs/heads/a", "a\0", "$a", "a\u{c}"],
        );
        let branches = [
            "-x",
            "refs/heads/-x",
            "refs/heads/a\u{c}",
            "refs/heads/$(id)",
            "refs/heads/`id`",
            "refs/heads/a b",
            "refs/heads/${a}",
            "refs/replace/0123",
            "refs/tags/a",
            "0123",
        ];
        check(GitStep::Branch, &branches);
        check(GitStep::Words, &["-f\n", "main\n-f", "a -f", "$(id)", "`id`", "a\0b", "a\u{c}"]);
        let first = [
            "From --output=x Mon\n",
            "From\tx --output=y\n",
            "From  -x\n",
            "From\u{3000}a\t-x\n",
            "From \"--output=x\" Mon\n",
        ];
        check(GitStep::Patch, &first);
        check(
            GitStep::Picks,
            &[
                "pick --output=x\n",
                "noop\n  e\t -x\n",
                "fixup -C --output=x a\n",
                "pick -C -C\n",
                "merge -c -x a\n",
                "exec true\rpick -x\n",
                "pick\u{a0}-x",
                "pick '--output=x'\n",
                "--output=x\n",
                "update-ref MERGE_AUTOSTASH\n",
                "u refs/replace/a\n",
                "u \u{3000}refs/heads/a\n",
            ],
        );
    }
}

//! The settings of git that run no program, name no file to read or write, and put nothing into the arguments of a
//! program, whatever their value is, within what each may be.
//!
//! All others count as if they ran one: git and the programs around it have hundreds, new ones come with each release,
//! and what some do is found only by trying (`i18n.commitEncoding` made two lines of one in the steps of a rebase). The
//! names are of git's manual, `git config`, and of programs that keep their own beside them.

use crate::git_refs::is_of_commits;

/// What a setting may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// A line of text that is shown or compared and no more.
    Line,
    /// Such a text of several lines.
    Text,
    /// Numbers, words, names of branches, patterns of them, addresses: nothing that a shell or a program takes for more.
    Word,
    /// The address of a repository elsewhere that no program besides git's own opens.
    Address,
    /// A file in the workspace by its relative name.
    Beneath,
    /// A form of dates that git makes one word of: a form of one's own can have lines in it.
    Date,
    /// `default`.
    Default,
    /// An encoding in which each character keeps its own bytes.
    Encoding,
    /// One name of letters and digits.
    Name,
    /// Where notes of commits are.
    Notes,
    /// `false`: what has git do more than it was asked for with it.
    Off,
    /// `true`: what git does less carefully without it.
    On,
    /// References, and where they come to be: where branches, tags and notes are.
    Refspec,
    /// The name of a remote, or such an address.
    Remote,
    /// Whom git lets read and write what it makes: never all others.
    Shared,
    /// What the names of patches end with: an ending with a dot in front, that leads to no other folder.
    Suffix,
    /// `--tags` or `--no-tags`.
    Tags,
}

use Value::{
    Address, Beneath, Date, Default, Encoding, Line, Name, Notes, Off, On, Refspec, Remote, Shared,
    Suffix, Tags, Text, Word,
};

/// Section, what its values may be, and names in lower case; `*` for any.
const KNOWN: &[(&str, Value, &str)] = &[
    ("add", Word, "ignoreerrors"),
    ("advice", Word, "*"),
    ("am", Word, "keepcr threeway"),
    ("apply", Word, "ignorewhitespace whitespace"),
    ("author", Line, "email name"),
    ("bash", Word, "hideifpwdignored showdirtystate showstashstate showuntrackedfiles"),
    ("blame", Beneath, "ignorerevsfile"),
    ("blame", Date, "date"),
    (
        "blame",
        Word,
        "blankboundary coloring markignoredlines markunblamablelines showemail showroot",
    ),
    ("branch", Remote, "pushremote remote"),
    ("branch", Text, "description"),
    (
        "branch",
        Word,
        "autosetupmerge autosetuprebase gh-merge-base merge rebase sort vscode-merge-base",
    ),
    ("checkout", Word, "defaultremote guess thresholdforparallelism workers"),
    ("clean", On, "requireforce"),
    ("color", Word, "*"),
    ("column", Word, "*"),
    ("commit", On, "gpgsign"),
    ("commit", Word, "cleanup status verbose"),
    ("commitgraph", Word, "*"),
    ("committer", Line, "email name"),
    ("core", Default, "checkstat"),
    ("core", Off, "ignorestat"),
    ("core", On, "ignorecase protecthfs protectntfs trustctime usereplacerefs"),
    ("core", Shared, "sharedrepository"),
    (
        "core",
        Word,
        "abbrev autocrlf bare bigfilethreshold commitgraph compression createobject \
         deltabasecachelimit eol filemode fscache fsync fsyncmethod fsyncobjectfiles \
         hidedotfiles logallrefupdates longpaths loosecompression maxtreedepth \
         multipackindex packedgitlimit packedgitwindowsize precomposeunicode preloadindex \
         quotepath repositoryformatversion safecrlf sparsecheckout sparsecheckoutcone \
         splitindex symlinks untrackedcache warnambiguousrefs \
         whitespace",
    ),
    (
        "diff",
        Word,
        "algorithm autorefreshindex binary cachetextconv colormoved colormovedws context \
         dirstat ignoresubmodules indentheuristic interhunkcontext mnemonicprefix noprefix \
         relative renamelimit renames statgraphwidth statnamewidth submodule \
         suppressblankempty wserrorhighlight",
    ),
    ("extensions", Remote, "partialclone"),
    (
        "extensions",
        Name,
        "compatobjectformat noop objectformat preciousobjects refstorage relativeworktrees \
         worktreeconfig",
    ),
    ("feature", Word, "experimental manyfiles"),
    ("fetch", Off, "all"),
    ("fetch", On, "fsckobjects"),
    (
        "fetch",
        Word,
        "negotiationalgorithm output parallel prune prunetags recursesubmodules \
         showforcedupdates unpacklimit writecommitgraph",
    ),
    ("format", Suffix, "suffix"),
    ("format", Word, "coverletter numbered signoff subjectprefix thread useautobase"),
    (
        "gc",
        Word,
        "aggressivedepth aggressivewindow auto autodetach autopacklimit bigpackthreshold \
         cruftpacks maxcruftsize packrefs writecommitgraph",
    ),
    ("gitflow", Word, "base bugfix develop feature hotfix master release support versiontag"),
    ("grep", Word, "column extendedregexp fullname linenumber patterntype threads"),
    ("i18n", Encoding, "commitencoding logoutputencoding"),
    ("index", Word, "recordendofindexentries recordoffsettable skiphash sparse threads version"),
    ("init", Name, "defaultobjectformat defaultrefformat"),
    ("init", Word, "defaultbranch"),
    ("interactive", Word, "singlekey"),
    ("lfs", Address, "url"),
    (
        "lfs",
        Word,
        "access allowincompletepush batch concurrenttransfers fetchexclude fetchinclude \
         lockignoredfiles locksverify repositoryformatversion setlockablereadonly \
         skipdownloaderrors",
    ),
    ("log", Date, "date"),
    ("log", Word, "abbrevcommit decorate diffmerges follow graphcolors mailmap showroot"),
    ("maintenance", Off, "enabled"),
    ("maintenance", Word, "auto autodetach"),
    ("merge", Line, "name"),
    ("merge", On, "verifysignatures"),
    (
        "merge",
        Word,
        "autostash branchdesc conflictstyle directoryrenames ff log renamelimit renames \
         renormalize stat suppressdest verbosity",
    ),
    ("notes", Notes, "displayref rewriteref"),
    ("notes", Word, "mergestrategy"),
    ("oh-my-zsh", Word, "hide-dirty hide-info hide-status"),
    ("pack", Word, "*"),
    ("pull", Word, "ff rebase"),
    ("push", On, "gpgsign"),
    (
        "push",
        Word,
        "autosetupremote default followtags negotiate recursesubmodules usebitmaps \
         useforceifincludes",
    ),
    (
        "rebase",
        Word,
        "abbreviatecommands autosquash autostash backend forkpoint missingcommitscheck \
         reschedulefailedexec stat updaterefs",
    ),
    ("receive", On, "fsckobjects"),
    (
        "receive",
        Word,
        "advertiseatomic advertisepushoptions autogc denycurrentbranch denydeletecurrent \
         denydeletes denynonfastforwards unpacklimit updateserverinfo",
    ),
    ("remote", Address, "pushurl url"),
    ("remote", Refspec, "fetch push"),
    ("remote", Remote, "pushdefault"),
    ("remote", Tags, "tagopt"),
    (
        "remote",
        Word,
        "followremotehead gh-resolved glab-resolved mirror partialclonefilter promisor prune \
         prunetags skipdefaultupdate skipfetchall",
    ),
    (
        "repack",
        Word,
        "packkeptobjects updateserverinfo usedeltabaseoffset usedeltaislands writebitmaps",
    ),
    ("rerere", Word, "autoupdate enabled"),
    ("sparse", Word, "expectfilesoutsideofpatterns"),
    ("splitindex", Word, "maxpercentchange"),
    ("stash", Word, "showincludeuntracked showpatch showstat"),
    (
        "status",
        Word,
        "aheadbehind branch displaycommentprefix relativepaths renamelimit renames short \
         showstash showuntrackedfiles submodulesummary",
    ),
    ("submodule", Address, "url"),
    (
        "submodule",
        Word,
        "active alternateerrorstrategy alternatelocation branch fetchjobs \
         fetchrecursesubmodules ignore propagatebranches recurse shallow",
    ),
    ("tag", On, "forcesignannotated gpgsign"),
    ("tag", Word, "sort"),
    ("tar", Word, "umask"),
    ("transfer", On, "fsckobjects"),
    ("transfer", Word, "advertisesid hiderefs unpacklimit"),
    (
        "uploadpack",
        Word,
        "allowanysha1inwant allowfilter allowreachablesha1inwant allowtipsha1inwant hiderefs \
         keepalive",
    ),
    ("user", Line, "email name"),
    ("user", Word, "useconfigonly"),
    ("worktree", Word, "guessremote userelativepaths"),
];

/// Encodings of which no character but the end of a line has a byte as that has: of others, such as CP856, some do.
const ENCODINGS: [&str; 4] = ["utf-8", "utf8", "iso-8859-1", "us-ascii"];

/// What `core.sharedRepository` may be: as git and people write it, all others reading at most.
const SHARED: [&str; 14] = [
    "0",
    "1",
    "2",
    "0600",
    "0640",
    "0644",
    "0660",
    "0664",
    "all",
    "everybody",
    "false",
    "group",
    "true",
    "umask",
];

/// Whether a setting with these names in lower case, and this value without quotes, runs nothing.
pub(super) fn is_harmless(
    section: &str,
    subsection: Option<&str>,
    name: &str,
    value: &str,
) -> bool {
    subsection.is_none_or(is_plain) && kind_of(section, name).is_some_and(|kind| kind.takes(value))
}

/// Whether a setting with these names in lower case is an address.
pub(crate) fn is_address(section: &str, name: &str) -> bool {
    kind_of(section, name) == Some(Address)
}

/// Whether a setting with these names in lower case is an address of this machine: a path or `file:`.
pub(super) fn is_local_address(section: &str, name: &str, value: &str) -> bool {
    is_address(section, name) && !value.is_empty() && is_local(value)
}

/// Returns the name that a setting takes for that of a remote, or is about. Git takes one of which there is none for a
/// path, if it looks like one.
pub(super) fn remote_of<'a>(
    section: &str,
    subsection: Option<&'a str>,
    name: &str,
    value: &'a str,
) -> Option<&'a str> {
    let remote = match (section, subsection) {
        ("remote", Some(remote)) if name != "url" => remote,
        _ if kind_of(section, name) == Some(Remote) && value != "." => value,
        _ => return None,
    };
    Some(remote).filter(|remote| is_local(remote))
}

/// The name of a remote or a branch becomes an argument of git's programs, and one that is no remote's an address.
pub(super) fn is_plain(name: &str) -> bool {
    is_line(name) && !names_a_program(name)
}

fn kind_of(section: &str, name: &str) -> Option<Value> {
    let is_it = |known: &&(&str, Value, &str)| {
        known.0 == section && known.2.split(' ').any(|known| known == "*" || known == name)
    };
    KNOWN.iter().find(is_it).map(|known| known.1)
}

impl Value {
    fn takes(self, value: &str) -> bool {
        match self {
            Line => is_line(value),
            Text => !value.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')),
            Word => is_word(value),
            Address => is_plain_address(value) && !is_local(value),
            Beneath => {
                is_word(value)
                    && value.trim() == value
                    && !value.starts_with(['/', '~', ':'])
                    && value.split('/').all(|part| part != "..")
            }
            Date => is_word(value) && !value.contains('%'),
            Default => value.eq_ignore_ascii_case("default"),
            Encoding => ENCODINGS.iter().any(|known| value.eq_ignore_ascii_case(known)),
            Name => value.chars().all(|c| c.is_ascii_alphanumeric()),
            Notes => value.starts_with("refs/notes/") && is_word(value),
            Off => value.eq_ignore_ascii_case("false"),
            On => value.eq_ignore_ascii_case("true"),
            Refspec => is_word(value) && leads_to_branches(value),
            Remote => is_plain_address(value),
            Shared => SHARED.iter().any(|known| value.eq_ignore_ascii_case(known)),
            Suffix => {
                value.starts_with('.')
                    && value.chars().all(|c| c == '.' || c.is_ascii_alphanumeric())
            }
            Tags => matches!(value, "--tags" | "--no-tags"),
        }
    }
}

/// Whether it is one line, and no option.
fn is_line(text: &str) -> bool {
    !text.trim_start().starts_with('-') && !text.chars().any(char::is_control)
}

/// A script that does not quote it makes several words of it: none of these is an option either.
fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || " ./_-+:,@=*^~%?#[]{}".contains(c);
    is_line(text) && text.chars().all(is_plain) && !text.contains(" -")
}

/// Whether what stands behind the last colon, if anything does, is beneath such a folder of references. A name without
/// `refs/` in front is that of a branch, but a pattern without it matches all names.
fn leads_to_branches(refspec: &str) -> bool {
    let Some((_, end)) = refspec.rsplit_once(':') else { return true };
    match end.strip_prefix("refs/") {
        Some(rest) => is_of_commits(rest),
        None => !end.contains('*'),
    }
}

/// Whether an address, or the name of a remote, is such a word, and for nobody another one: blanks at its ends are a part of it
/// for some.
pub(crate) fn is_plain_address(value: &str) -> bool {
    may_be_address(value) && is_word(value)
}

/// The same of an address that has other signs in it.
pub(super) fn may_be_address(value: &str) -> bool {
    !value.is_empty() && value.trim() == value && is_line(value) && !names_a_program(value)
}

/// Whether git takes an address for a path of this machine, as it does of all that names no host.
fn is_local(address: &str) -> bool {
    let is_file = || address.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"));
    let host = address.split_once(':').map(|(host, _)| host);
    host.is_none_or(|host| host.contains('/')) || is_file()
}

/// Whether an address begins like `ext::`, which a program by that name opens.
fn names_a_program(address: &str) -> bool {
    address.trim().split_once("::").is_some_and(|(program, _)| {
        program.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '_' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        let sections: Vec<&str> = KNOWN.iter().map(|known| known.0).collect();
        assert!(sections.is_sorted(), "{sections:?}");
        for (section, _, names) in KNOWN {
            let has_upper =
                [section, names].iter().any(|text| text.chars().any(char::is_uppercase));
            assert!(!has_upper && names.split(' ').is_sorted(), "{section}: {names}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_harmless() {
        let check = |section, subsection, name, value, expected| {
            let said = format!("{section}.{subsection:?}.{name}={value}");
            assert_eq!(is_harmless(section, subsection, name, value), expected, "{said}");
        };
        check("core", None, "bare", "false", true);
        check("core", None, "bare", "", true);
        check("core", None, "commentstring", " exec x;", false);
        check("core", None, "ignorecase", "true", true);
        check("core", None, "protectntfs", "false", false);
        check("core", None, "trustctime", "false", false);
        check("core", None, "checkstat", "minimal", false);
        check("core", None, "checkstat", "default", true);
        check("core", None, "ignorestat", "true", false);
        check("maintenance", Some("incremental-repack"), "enabled", "true", false);
        check("maintenance", Some("gc"), "enabled", "false", true);
        check("core", None, "filemode", "false", true);
        check("commit", None, "gpgsign", "false", false);
        check("commit", None, "gpgsign", "true", true);
        check("commit", None, "template", "docs/message.txt", false);
        check("tag", None, "forcesignannotated", "no", false);
        check("core", None, "sharedrepository", "group", true);
        check("core", None, "sharedrepository", "0666", false);
        check("core", None, "virtualfilesystem", "x", false);
        check("gui", None, "diffopts", "--output=x", false);
        check("pretty", None, "x", "%x1b]0;x", false);
        check("user", None, "name", "Ada O'Neill <3", true);
        check("user", None, "name", "a\u{1b}b", false);
        check("user", None, "signingkey", "../key", false);
        check("gc", None, "auto", "0", true);
        check("gc", None, "pruneexpire", "now", false);
        check("format", None, "suffix", ".v2.txt", true);
        check("format", None, "suffix", "/../../x", false);
        check("format", None, "suffix", "./x", false);
        check("log", None, "date", "iso-local", true);
        check("log", None, "date", "format:%nexec x", false);
        check("grep", None, "patterntype", "perl --output=x", false);
        check("extensions", None, "refstorage", "reftable", true);
        check("extensions", None, "refstorage", "files:///x", false);
        check("extensions", None, "partialclone", "origin", true);
        check("extensions", None, "partialclone", "hg::x", false);
        check("i18n", None, "commitencoding", "CP856", false);
        check("i18n", None, "commitencoding", "UTF-8", true);
        check("blame", None, "ignorerevsfile", ".git-blame-ignore-revs", true);
        check("blame", None, "ignorerevsfile", "../x", false);
        check("blame", None, "ignorerevsfile", " x", false);
        check("blame", None, "ignorerevsfile", "x ", false);
        check("commit", None, "template", "~/.ssh/id", false);
        check("remote", Some("o"), "url", "git@host:a/b.git", true);
        check("remote", Some("o"), "url", "ssh://[fe80::1]/x", true);
        check("remote", Some("o"), "url", "ext::sh", false);
        check("remote", Some("o"), "url", "--upload-pack=x", false);
        check("remote", Some("--upload-pack=x"), "url", "https://h/a", false);
        check("remote", Some("o"), "url", "", false);
        check("remote", Some("o"), "url", "https://h/a ", false);
        check("remote", Some("o"), "url", " https://h/a", false);
        check("remote", Some("o"), "url", "/home/ada/notes", false);
        check("remote", Some("o"), "url", "../a:b", false);
        check("remote", Some("o"), "url", "FILE:///a", false);
        check("remote", Some("o"), "pushurl", "a", false);
        check("submodule", Some("o"), "url", "./a", false);
        check("lfs", None, "url", "file:///a", false);
        check("branch", Some("a"), "remote", "origin", true);
        check("branch", Some("a"), "remote", "origin ", false);
        check("branch", Some("a"), "remote", "\u{3000}origin", false);
        check("fetch", None, "all", "false", true);
        check("fetch", None, "all", "true", false);
        check("remote", Some("hg::x"), "promisor", "true", false);
        check("remote", Some("https://[::1]/x"), "promisor", "true", true);
        check("remote", Some("o"), "fetch", "+refs/heads/*:refs/remotes/o/*", true);
        check("notes", None, "displayref", "refs/notes/*", true);
        check("notes", None, "displayref", "refs/*", false);
        check("notes", None, "rewriteref", "refs/heads/main", false);
        check("notes", Some("a"), "mergestrategy", "union", true);
        check("remote", Some("o"), "tagopt", "--no-tags", true);
        check("remote", Some("o"), "tagopt", "--upload-pack=x", false);
        check("remotes", None, "default", "--upload-pack=x", false);
        check("branch", Some("功能"), "merge", "refs/heads/功能", true);
        check("branch", Some("a"), "description", "one\ntwo", true);
        check("branch", Some("a"), "merge", "$(x)", false);
        check("color", Some("diff"), "meta", "yellow bold", true);
    }

    #[test]
    fn references_lead_to_branches_and_the_like() {
        let check = |refspec: String, expected| {
            for name in ["fetch", "push"] {
                let found = is_harmless("remote", Some("o"), name, &refspec);
                assert_eq!(found, expected, "{name} = {refspec}");
            }
        };
        let within = [
            "",
            "heads/a",
            "main",
            "refs/changes/*",
            "refs/for/main",
            "refs/heads/*",
            "refs/merge-requests/*",
            "refs/notes/*",
            "refs/pull/o/*",
            "refs/tags/*",
            "replace/a",
        ];
        within.iter().for_each(|end| check(format!("+refs/heads/*:{end}"), true));
        for whole in ["main", "refs/pull/*/head", "^refs/heads/x", "+refs/*", "", ":"] {
            check(whole.to_owned(), true);
        }
        for end in [
            "*",
            "r*",
            "refs/*",
            "refs/",
            "refs/bisect/bad",
            "refs/heads*",
            "refs/r*",
            "refs/replace/*",
            "refs/replace/0123",
            "refs/rewritten/onto",
            "refs/stash",
            "refs/worktree/a",
        ] {
            for front in ["+refs/heads/*", "refs/heads/a", "^a", "", "+a:refs/heads/b"] {
                check(format!("{front}:{end}"), false);
            }
        }
    }
}

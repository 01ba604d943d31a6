//! The files of a change list as people read it.

use tenon_agent::{CallChanges, FileChange, FileChangeKind, OutwardLink};
use tenon_sandbox::{Changes, Trouble};

use super::shown;
use crate::texts::{Language, Text, summary};

/// Files of one call that are named; more are counted.
const FILES_SHOWN_MAX: usize = 20;

/// Returns the files of a change list, a line each; the first of many.
pub(crate) fn files(changes: &Changes, language: Language) -> String {
    listed(changes, Some(Text::MoreFiles), language)
}

/// Returns the same for who can ask for all of them, or all of them.
pub(crate) fn files_of_call(changes: &Changes, all: bool, language: Language) -> String {
    listed(changes, (!all).then_some(Text::MoreFilesWithAll), language)
}

/// Returns the first files and, as `more`, how many follow; without that all of them.
fn listed(changes: &Changes, more: Option<Text>, language: Language) -> String {
    let files_max = more.map_or(usize::MAX, |_| FILES_SHOWN_MAX);
    let mut said = String::new();
    for file in changes.files.iter().take(files_max).map(FileChange::from) {
        said.push_str(&line(&file, language));
    }
    let n = changes.files.len().saturating_sub(files_max);
    if let Some(more) = more.filter(|_| n > 0) {
        said.push_str(&format!("  {}\n", more.say(language, &[("n", &n)])));
    }
    for link in changes.links.iter().take(files_max) {
        said.push_str(&link_line(&OutwardLink::from(link), language));
    }
    let n =
        (changes.links.len().saturating_sub(files_max) as u64).saturating_add(changes.links_more);
    if n > 0 {
        said.push_str(&format!("  {}\n", Text::MoreLinksOut.say(language, &[("n", &n)])));
    }
    for refusal in changes.troubles.iter().filter_map(Trouble::refusal).take(files_max) {
        said.push_str(&format!("  {}\n", shown(&summary(&refusal, language))));
    }
    for left_out in &CallChanges::new("", changes).left_out {
        let path = shown(&left_out.path);
        let why = match left_out.reason.as_str() {
            "cache" => Text::WhyCache.template(language),
            "too_large" => Text::WhyTooLarge.template(language),
            "outside" => Text::WhyOutside.template(language),
            "too_many" => Text::WhyTooMany.template(language),
            "not_copied" => Text::WhyNotCopied.template(language),
            "too_long" => Text::WhyTooLong.template(language),
            other => other,
        };
        let said_so = Text::FileNotSaved.say(language, &[("path", &path), ("why", &why)]);
        said.push_str(&format!("  {said_so}\n"));
    }
    said
}

fn line(file: &FileChange, language: Language) -> String {
    let path = shown(&file.path);
    let folder = if file.kind == FileChangeKind::Created && file.inside > 0 { "/" } else { "" };
    let more = more(file, language).join(", ");
    let more = if more.is_empty() { more } else { format!(" ({more})") };
    format!("  {} {path}{folder}{more}\n", word(file).template(language))
}

/// Returns where a link leads that leads out.
fn link_line(link: &OutwardLink, language: Language) -> String {
    let (path, target) = (shown(&link.path), shown(&link.target));
    format!("  {}\n", Text::LinkOut.say(language, &[("path", &path), ("target", &target)]))
}

fn word(file: &FileChange) -> Text {
    match file.kind {
        _ if file.old_entry.is_some() => Text::FileReplaced,
        FileChangeKind::Created => Text::FileCreated,
        FileChangeKind::Edited => Text::FileEdited,
        FileChangeKind::Deleted => Text::FileDeleted,
        FileChangeKind::Renamed => Text::FileRenamed,
        FileChangeKind::Mode => Text::FileMode,
        FileChangeKind::Times => Text::FileTimes,
    }
}

/// Returns what is said behind the name.
fn more(file: &FileChange, language: Language) -> Vec<String> {
    let mut more: Vec<String> = file.from.iter().map(|from| format!("← {}", shown(from))).collect();
    if file.kind == FileChangeKind::Created && file.inside > 0 {
        more.push(file.inside.to_string());
    }
    if let Some(over) = &file.over_entry {
        let bytes = file.over_bytes.map(|bytes| format!(", {bytes} B")).unwrap_or_default();
        let old = format!("{}{bytes}", entry(over, language));
        more.push(Text::FileOver.say(language, &[("old", &old)]));
    }
    let mut say = |text: Text, old: &str, new: &str| {
        more.push(text.say(language, &[("old", &old), ("new", &new)]));
    };
    if let (Some(old), Some(new)) = (&file.old_entry, &file.new_entry) {
        say(Text::OldToNew, entry(old, language), entry(new, language));
    } else if let (Some(old), Some(new)) = (file.old_bytes, file.new_bytes)
        && (file.kind == FileChangeKind::Edited || file.edited)
    {
        say(Text::OldToNew, &old.to_string(), &format!("{new} B"));
    }
    if let (Some(old), Some(new)) = (&file.old_mode, &file.new_mode) {
        say(Text::ModeToNew, old, new);
    }
    if let (Some(old), Some(new)) = (&file.old_owner, &file.new_owner) {
        say(Text::OwnerToNew, old, new);
    }
    more
}

fn entry(entry: &str, language: Language) -> &str {
    match entry {
        "file" => Text::EntryFile.template(language),
        "folder" => Text::EntryFolder.template(language),
        "link" => Text::EntryLink.template(language),
        _ => Text::EntryOther.template(language),
    }
}

#[cfg(test)]
mod tests {
    use tenon_sandbox::{Change, ChangeKind, EntryKind};

    use super::*;

    #[test]
    fn the_first_of_many_files_are_listed_or_all_of_them() {
        let change = |number: usize| Change {
            path: format!("f{number}").into(),
            kind: ChangeKind::Created,
            entry: EntryKind::File,
            old_bytes: None,
            new_bytes: Some(1),
            new_hash: None,
            inside: 0,
            was: None,
            over: None,
            rights: None,
        };
        let changes = Changes { files: (0..300).map(change).collect(), ..Changes::default() };
        let english = Language::English;
        let lists = [
            (files(&changes, english), 21, "  … and 280 more\n"),
            (files_of_call(&changes, false, english), 21, "  … and 280 more (--all lists them)\n"),
            (files_of_call(&changes, true, english), 300, "  created  f299\n"),
        ];
        for (said, lines, end) in lists {
            assert!(said.lines().count() == lines && said.ends_with(end), "{said}");
        }
    }

    #[test]
    fn what_was_refused_is_listed() {
        let troubles = vec![
            Trouble::Refused { path: "a\u{1b}[31m".into(), code: 28 },
            Trouble::Compared,
            Trouble::Forbidden { path: "b".into(), rule: "write(b)".into(), reads: false },
        ];
        let changes = Changes { troubles, ..Changes::default() };
        let said = files_of_call(&changes, false, Language::English);
        let [first, second] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
        assert!(first.starts_with("  a change of a") && !first.contains('\u{1b}'), "{first}");
        assert_eq!(second, "  a change of b was refused: the rule write(b) forbids it");
        let said = files(&changes, Language::Chinese);
        assert!(said.ends_with("  拒绝了对 b 的改动：规则 write(b) 禁止它\n"), "{said}");
    }
}

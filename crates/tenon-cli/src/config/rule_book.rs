//! The user's own file, as far as tenon writes it: what a person answered "always" to, and the
//! colours that were chosen.
//!
//! Comments, order and ends of lines stay. The new file is made beside the old one, for the user alone, and takes
//! its place in one step. A file that cannot be read as a configuration is not touched, and one
//! that lies in a workspace, where a model writes, is never written.

#![expect(clippy::disallowed_methods, reason = "the user's own configuration is written here")]

use std::{
    fs::{DirBuilder, File},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use rustix::fs::{FlockOperation, flock};
use tenon_agent::{Kept, Question};
use toml::Spanned;
use toml_edit::{Array, DocumentMut, Item, Value};

use super::{file, private_file};
use crate::{
    error::CliError,
    texts::{Sentence, Text},
    values::ThemeName,
    whole_file,
};

/// Some editors begin a file with it.
const MARK: &str = "\u{feff}";

/// The setting of the colours.
const THEME: &str = "theme";

/// Makes the text of a configuration another one; nothing if it is right as it is.
type Changed<'a> = &'a dyn Fn(&str) -> Result<Option<String>, Sentence>;

/// Where rules are kept.
#[derive(Debug, Clone)]
pub(crate) struct RuleBook {
    file: PathBuf,
    /// The folders that models write in.
    roots: Vec<PathBuf>,
}

impl RuleBook {
    /// Returns the book in `file`, beside a workspace in `roots`.
    pub(crate) fn new(file: PathBuf, roots: Vec<PathBuf>) -> Self {
        Self { file, roots }
    }

    /// Returns the file, for people.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns whether rules can be written: the file lies in none of the folders that models write in.
    pub(crate) fn is_open(&self) -> bool {
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        // What is not there yet would be made where the folder lies that is.
        let there = folder.ancestors().find_map(|above| {
            Some(above.canonicalize().ok()?.join(folder.strip_prefix(above).ok()?))
        });
        let target = self.file.canonicalize().ok().or(there);
        target.is_none_or(|target| !self.is_in_root(&target))
    }

    /// Returns a question without the answer that would write a rule, where none can be written.
    pub(crate) fn offered(&self, mut question: Question) -> Question {
        if !self.is_open() {
            question.decision.always = None;
        }
        question
    }

    fn is_in_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Writes `rule` down, unless it is there.
    ///
    /// # Errors
    /// One sentence; the file is then as it was.
    pub(crate) fn keep(&self, rule: &Kept) -> Result<(), Sentence> {
        self.change(&|text| with_rule(text, rule))
    }

    /// Writes `theme` down in the place of the one that stood there.
    ///
    /// # Errors
    /// One sentence; the file is then as it was.
    pub(crate) fn keep_theme(&self, theme: ThemeName) -> Result<(), Sentence> {
        self.change(&|text| with_theme(text, theme))
    }

    fn change(&self, changed: Changed<'_>) -> Result<(), Sentence> {
        let file = || Sentence::from(self.file.display().to_string());
        self.try_change(changed).map_err(|error| file().with_more(error))
    }

    fn try_change(&self, changed: Changed<'_>) -> Result<(), Sentence> {
        let words = |error: io::Error| Sentence::of_library(&error);
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(words)?;
        // The file may be a link into a folder where somebody keeps all settings.
        let target = match self.file.canonicalize() {
            Ok(target) => target,
            Err(_) => folder.canonicalize().map_err(words)?.join(file_name(&self.file)),
        };
        if self.is_in_root(&target) {
            return Err(Text::BookInWorkspace.into());
        }
        let folder = target.parent().unwrap_or(Path::new("/"));
        // Two sessions may keep a rule at the same time.
        let locked = File::open(folder).map_err(words)?;
        flock(&locked, FlockOperation::LockExclusive).map_err(|error| words(error.into()))?;
        let before = private_file::read_if_there(&target, file::BYTES_MAX)
            .map_err(CliError::into_sentence)?;
        let before = before.unwrap_or_default();
        let Some(text) = changed(&before)? else {
            return Ok(());
        };
        let text = with_ends_of(&before, text);
        whole_file::replace(&target, |file| file.write_all(text.as_bytes())).map_err(words)?;
        // Durable as far as the file system lets it be; the rename itself has happened.
        let _ = locked.sync_all();
        Ok(())
    }
}

/// Returns a text with the ends of lines, and the mark at the beginning, of the one that it was made from: the
/// library drops both.
fn with_ends_of(before: &str, text: String) -> String {
    let begin = if before.starts_with(MARK) && !text.starts_with(MARK) { MARK } else { "" };
    let has_returns =
        before.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n"));
    let text = if has_returns { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text };
    format!("{begin}{text}")
}

/// Returns the text of a configuration with `rule` in it; nothing if it is there already.
fn with_rule(text: &str, rule: &Kept) -> Result<Option<String>, Sentence> {
    let (setting, rule) = (rule.setting(), rule.to_string());
    let mut document = readable(text)?;
    let item = document.entry(setting).or_insert_with(|| Item::Value(Array::new().into()));
    let no_list = || Text::BookNoList.with(&[("setting", &setting)]);
    let list = item.as_array_mut().ok_or_else(no_list)?;
    if list.iter().any(|known| known.as_str() == Some(&rule)) {
        return Ok(None);
    }
    let mut value = Value::from(rule.as_str());
    let comment = take_comment(list);
    let own_line = own_line(list).or_else(|| comment.is_some().then(|| "\n".to_owned()));
    match own_line {
        Some(start) => {
            value.decor_mut().set_prefix(comment.unwrap_or_default() + &start);
            list.push_formatted(value);
        }
        None => list.push(value),
    }
    let changed = written(text, &document, &add_line(setting, &rule));
    let (read, _) = parsed(&changed)?;
    let last = match setting {
        "net" => read.net.last(),
        _ => read.allow.last().map(Spanned::get_ref),
    };
    let is_right = last == Some(&rule) && changed.len() as u64 <= file::BYTES_MAX;
    is_right.then_some(Some(changed)).ok_or_else(|| Text::BookTooLong.into())
}

/// Returns the text of a configuration with this theme; nothing if it is there already.
fn with_theme(text: &str, theme: ThemeName) -> Result<Option<String>, Sentence> {
    let named = theme.to_possible_value().ok_or("it has no name")?;
    let name = named.get_name();
    let mut document = readable(text)?;
    let item = document.entry(THEME).or_insert_with(|| Item::Value(name.into()));
    let no_text = || Text::BookNoText.with(&[("setting", &THEME)]);
    let value = item.as_value_mut().ok_or_else(no_text)?;
    // A comment behind it stays.
    let decor = value.decor().clone();
    *value = Value::from(name);
    *value.decor_mut() = decor;
    let changed = written(text, &document, &format!("{THEME} = {}\n", Value::from(name)));
    let (read, _) = parsed(&changed)?;
    let is_right = read.theme == Some(theme) && changed.len() as u64 <= file::BYTES_MAX;
    let changed = is_right.then(|| Some(changed).filter(|changed| changed != text));
    changed.ok_or_else(|| Text::BookTooLong.into())
}

/// Reads a configuration. What tenon could not read is not mended by adding to it.
fn readable(text: &str) -> Result<DocumentMut, Sentence> {
    parsed(text)?;
    text.parse().map_err(|error: toml_edit::TomlError| Sentence::of_library(&error))
}

fn parsed(text: &str) -> Result<(file::File, Vec<Sentence>), Sentence> {
    file::parse_user(text)
}

/// Returns the text of the changed `document`, which was `text`; `first` is what it begins with if
/// nothing but comments was there.
fn written(text: &str, document: &DocumentMut, first: &str) -> String {
    let is_first = text.parse::<DocumentMut>().is_ok_and(|before| before.is_empty());
    match is_first {
        // Comments alone: a first entry would be put in front of them.
        true if !text.is_empty() => format!("{}\n{first}", text.trim_end()),
        _ => document.to_string(),
    }
}

fn add_line(setting: &str, rule: &str) -> String {
    format!("{setting} = [{}]\n", Value::from(rule))
}

/// Takes the comments behind the last entry of a list away, without the end of their line: they belong
/// to that entry.
fn take_comment(list: &mut Array) -> Option<String> {
    let last = list.len().checked_sub(1)?;
    let behind = match list.trailing_comma() {
        true => list.trailing().as_str(),
        false => list.get(last)?.decor().suffix().and_then(|suffix| suffix.as_str()),
    };
    let (comment, end) = behind?.rsplit_once('\n').filter(|(text, _)| text.contains('#'))?;
    let (comment, end) = (comment.to_owned(), format!("\n{end}"));
    if !list.trailing_comma() {
        list.get_mut(last)?.decor_mut().set_suffix("");
        list.set_trailing_comma(true);
    }
    list.set_trailing(end);
    Some(comment)
}

/// Returns what stands in front of an entry, in a list whose entries have a line each.
fn own_line(list: &Array) -> Option<String> {
    let prefix = list.iter().last()?.decor().prefix()?.as_str()?;
    // Without the comment that belongs to the entry before.
    let (_, indent) = prefix.rsplit_once('\n')?;
    Some(format!("\n{indent}"))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use tenon_agent::{Origin, Rule, Verdict};

    use super::*;
    use crate::texts::Language;

    fn rule(text: &str) -> Kept {
        Kept::Allow(Rule::parse(text, Verdict::Allow, Origin::CommandLine).unwrap())
    }

    fn check(before: &str, rule: &Kept, after: &str) {
        assert_eq!(with_rule(before, rule).unwrap().as_deref(), Some(after), "{before:?}");
    }

    #[test]
    fn ends_of_lines_and_the_mark_of_an_editor_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let book = RuleBook::new(file.clone(), Vec::new());
        for (before, after) in [
            ("# a\r\nmode = 'ask' # b\r\n", "# a\r\nmode = 'ask' # b\r\nallow = [\"glob\"]\r\n"),
            ("\u{feff}mode = 'ask'\r\n", "\u{feff}mode = 'ask'\r\nallow = [\"glob\"]\r\n"),
            ("\u{feff}# a\r\n", "\u{feff}# a\r\nallow = [\"glob\"]\r\n"),
            ("mode = 'ask'\n", "mode = 'ask'\nallow = [\"glob\"]\n"),
        ] {
            std::fs::write(&file, before).unwrap();
            book.keep(&rule("glob")).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), after, "{before:?}");
            book.keep(&rule("glob")).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), after, "{before:?}");
        }
    }

    #[test]
    fn a_rule_is_added_and_everything_else_stays() {
        let hosts = rule("read(/etc/hosts)");
        check("", &hosts, "allow = [\"read(/etc/hosts)\"]\n");
        check(
            "# mine\nmode = \"ask\" # careful\n\n[network]\nca_file = 'a' # here\n",
            &hosts,
            "# mine\nmode = \"ask\" # careful\nallow = [\"read(/etc/hosts)\"]\n\n[network]\nca_file = 'a' # here\n",
        );
        check(
            "allow = ['bash(ls:*)'] # some\ndeny = []\n",
            &hosts,
            "allow = ['bash(ls:*)', \"read(/etc/hosts)\"] # some\ndeny = []\n",
        );
        check(
            "allow = [\n  # first\n  'grep', # one\n  # second\n  'glob',\n]\n",
            &hosts,
            "allow = [\n  # first\n  'grep', # one\n  # second\n  'glob',\n  \"read(/etc/hosts)\",\n]\n",
        );
        check(
            "allow = [\n  'bash(make:*)',  # B: build only\n]\n",
            &hosts,
            "allow = [\n  'bash(make:*)',  # B: build only\n  \"read(/etc/hosts)\",\n]\n",
        );
        check(
            "allow = [\n  'glob',\n  'grep' # one\n  # two\n]\n",
            &hosts,
            "allow = [\n  'glob',\n  'grep', # one\n  # two\n  \"read(/etc/hosts)\",\n]\n",
        );
        check(
            "allow = [ 'grep',  # one\n]\n",
            &hosts,
            "allow = [ 'grep',  # one\n\"read(/etc/hosts)\",\n]\n",
        );
        check(
            "net = ['a.example']",
            &Kept::Net("b.example".into()),
            "net = ['a.example', \"b.example\"]\n",
        );
        let quoted = rule(r#"bash(sudo sh -c "echo 'x\\\"")"#);
        let text = with_rule("", &quoted).unwrap().unwrap();
        assert_eq!(with_rule(&text, &quoted).unwrap(), None);
    }

    #[test]
    fn a_theme_takes_the_place_of_the_one_before_and_everything_else_stays() {
        let check = |before: &str, theme, after: Option<&str>| {
            assert_eq!(with_theme(before, theme).unwrap().as_deref(), after, "{before:?}");
        };
        check("", ThemeName::Dark, Some("theme = \"dark\"\n"));
        check(
            "# mine\ntheme = 'auto' # by day\nmode = 'ask'\n[network]\nca_file = 'a'\n",
            ThemeName::Light,
            Some("# mine\ntheme = \"light\" # by day\nmode = 'ask'\n[network]\nca_file = 'a'\n"),
        );
        check(
            "mode = 'ask'\n\n[network]\nca_file = 'a'\n",
            ThemeName::Terminal,
            Some("mode = 'ask'\ntheme = \"terminal\"\n\n[network]\nca_file = 'a'\n"),
        );
        check("# mine\n", ThemeName::Auto, Some("# mine\ntheme = \"auto\"\n"));
        check("theme = \"dark\"\n", ThemeName::Dark, None);
        for broken in ["theme = [", "theme = 'pink'", "theme = 1", "mode = 'nonsense'"] {
            assert!(with_theme(broken, ThemeName::Dark).is_err(), "{broken}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_touched() {
        for broken in ["allow = [", "allow = 'x'", "allow = [1]", "allow = {}", "mode = 'nonsense'"]
        {
            assert!(with_rule(broken, &rule("read(/a)")).is_err(), "{broken}");
        }
        let long = format!("# {}", "x".repeat(file::BYTES_MAX as usize));
        assert!(with_rule(&long, &rule("read(/a)")).is_err());
    }

    #[test]
    fn the_file_is_made_private_and_an_existing_one_keeps_its_mode_and_its_link() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let file = home.join("new/tenon/config.toml");
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        let book = RuleBook::new(file.clone(), vec![home.join("work")]);
        book.keep(&rule("read(/a)")).unwrap();
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        let dots = home.join("dots.toml");
        std::fs::write(&dots, "# mine\n").unwrap();
        std::fs::set_permissions(&dots, PermissionsExt::from_mode(0o640)).unwrap();
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&dots, &file).unwrap();
        book.keep(&rule("read(/a)")).unwrap();
        book.keep(&rule("read(/a)")).unwrap();
        assert_eq!(std::fs::read_to_string(&dots).unwrap(), "# mine\nallow = [\"read(/a)\"]\n");
        assert!(file.is_symlink() && mode(&dots) == 0o640);
        let left: Vec<_> = std::fs::read_dir(&home).unwrap().collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[test]
    fn a_file_in_the_workspace_is_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let inside = home.join("work/dots.toml");
        std::fs::create_dir(home.join("work")).unwrap();
        std::fs::write(&inside, "").unwrap();
        let file = home.join("config.toml");
        std::os::unix::fs::symlink(&inside, &file).unwrap();
        let refused = RuleBook::new(file, vec![home.join("work")]).keep(&rule("read(/a)"));
        let refused = refused.unwrap_err().say(Language::English);
        assert!(refused.contains("lies in the workspace"), "{refused}");
        assert_eq!(std::fs::read_to_string(inside).unwrap(), "");
    }

    #[test]
    fn a_broken_file_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "allow = [\n").unwrap();
        assert!(RuleBook::new(file.clone(), Vec::new()).keep(&rule("read(/a)")).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "allow = [\n");
    }
}

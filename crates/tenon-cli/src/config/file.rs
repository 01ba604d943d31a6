//! The shape of a configuration file, and what a project's file may say. Pure.
//!
//! A project's file comes with a repository, so it may only make things stricter: nothing in it
//! runs a command, moves a key, changes where code is sent or what that costs, or allows anything.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Deserializer, de::Error};
use tenon_agent::{Origin, Verdict};
use toml::Spanned;

use super::{ProviderKind, Settings, read_rule};
use crate::{
    texts::{Sentence, Text},
    values::{ModeName, NotifyName, SandboxName, ThemeName, time},
};

/// The most bytes of a configuration file: far more than anybody writes.
pub(super) const BYTES_MAX: u64 = 256 * 1024;

/// A configuration file.
#[derive(Debug, Default, Deserialize)]
pub(super) struct File {
    pub(super) model: Option<String>,
    pub(super) mode: Option<ModeName>,
    pub(super) sandbox: Option<Spanned<SandboxName>>,
    #[serde(default)]
    pub(super) net: Vec<String>,
    #[serde(default)]
    pub(super) add_dir: Vec<String>,
    #[serde(default)]
    pub(super) read_dir: Vec<String>,
    pub(super) max_steps: Option<NonZeroU32>,
    pub(super) max_tokens: Option<NonZeroU64>,
    pub(super) max_cost: Option<f64>,
    #[serde(default, deserialize_with = "time_of")]
    pub(super) max_time: Option<Duration>,
    pub(super) context_window: Option<NonZeroU32>,
    pub(super) receipts: Option<bool>,
    #[serde(default)]
    pub(super) verify: Vec<String>,
    pub(super) result_chars_max: Option<NonZeroUsize>,
    pub(super) bash_output_chars_max: Option<NonZeroUsize>,
    pub(super) disk_bytes_max: Option<NonZeroU64>,
    pub(super) processes_max: Option<NonZeroU64>,
    pub(super) memory_bytes_max: Option<NonZeroU64>,
    pub(super) file_bytes_max: Option<NonZeroU64>,
    pub(super) temporary_bytes_max: Option<NonZeroU64>,
    pub(super) project_instructions: Option<bool>,
    #[serde(default)]
    pub(super) allow: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) deny: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) environment: Vec<String>,
    pub(super) mask_secrets: Option<bool>,
    pub(super) undo: Option<bool>,
    pub(super) undo_bytes_max: Option<u64>,
    pub(super) undo_file_bytes_max: Option<u64>,
    pub(super) undo_by_comparison: Option<bool>,
    pub(super) theme: Option<ThemeName>,
    pub(super) notify: Option<NotifyName>,
    #[serde(default)]
    pub(super) network: NetworkTable,
    #[serde(default)]
    pub(super) providers: BTreeMap<String, ProviderTable>,
}

/// How the network is reached.
#[derive(Debug, Default, Deserialize)]
pub(super) struct NetworkTable {
    pub(super) ca_file: Option<PathBuf>,
    pub(super) connect_timeout_s: Option<u64>,
    pub(super) first_byte_timeout_s: Option<u64>,
    pub(super) idle_timeout_s: Option<u64>,
}

/// A provider of the user's.
#[derive(Debug, Deserialize)]
pub(super) struct ProviderTable {
    pub(super) kind: Option<ProviderKind>,
    pub(super) base_url: Option<String>,
    pub(super) key_env: Option<String>,
    pub(super) key: Option<String>,
    pub(super) model: Option<String>,
}

/// A key of a file with what a project may do with it.
struct Key {
    name: &'static str,
    of_project: OfProject,
}

/// What a project may do with a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OfProject {
    /// Nothing.
    No,
    /// Make it stricter.
    Stricter,
}

/// Every key at the top of a file.
const KEYS: &[Key] = &[
    Key { name: "model", of_project: OfProject::No },
    Key { name: "mode", of_project: OfProject::Stricter },
    Key { name: "sandbox", of_project: OfProject::No },
    Key { name: "net", of_project: OfProject::No },
    Key { name: "add_dir", of_project: OfProject::No },
    Key { name: "read_dir", of_project: OfProject::No },
    Key { name: "max_steps", of_project: OfProject::Stricter },
    Key { name: "max_tokens", of_project: OfProject::Stricter },
    Key { name: "max_cost", of_project: OfProject::Stricter },
    Key { name: "max_time", of_project: OfProject::Stricter },
    Key { name: "context_window", of_project: OfProject::No },
    Key { name: "receipts", of_project: OfProject::No },
    Key { name: "verify", of_project: OfProject::No },
    Key { name: "result_chars_max", of_project: OfProject::Stricter },
    Key { name: "bash_output_chars_max", of_project: OfProject::Stricter },
    Key { name: "disk_bytes_max", of_project: OfProject::Stricter },
    Key { name: "processes_max", of_project: OfProject::Stricter },
    Key { name: "memory_bytes_max", of_project: OfProject::Stricter },
    Key { name: "file_bytes_max", of_project: OfProject::Stricter },
    Key { name: "temporary_bytes_max", of_project: OfProject::Stricter },
    Key { name: "project_instructions", of_project: OfProject::Stricter },
    Key { name: "allow", of_project: OfProject::No },
    Key { name: "deny", of_project: OfProject::Stricter },
    Key { name: "environment", of_project: OfProject::No },
    Key { name: "mask_secrets", of_project: OfProject::No },
    Key { name: "undo", of_project: OfProject::No },
    Key { name: "undo_bytes_max", of_project: OfProject::No },
    Key { name: "undo_file_bytes_max", of_project: OfProject::No },
    Key { name: "undo_by_comparison", of_project: OfProject::No },
    Key { name: "theme", of_project: OfProject::No },
    Key { name: "notify", of_project: OfProject::No },
    Key { name: "network", of_project: OfProject::No },
    Key { name: "providers", of_project: OfProject::No },
];
const NETWORK_KEYS: [&str; 4] =
    ["ca_file", "connect_timeout_s", "first_byte_timeout_s", "idle_timeout_s"];
const PROVIDER_KEYS: [&str; 5] = ["kind", "base_url", "key_env", "key", "model"];

/// Modes that people write who want commands to run without walls.
const WITHOUT_WALLS: [&str; 3] = ["unconfined", "off", "none"];

/// Reads the text of a user's file. The notices name what is unknown in it.
pub(super) fn parse_user(text: &str) -> Result<(File, Vec<Sentence>), Sentence> {
    let (file, table) = parse(text)?;
    check_rules(text, &file.allow, Verdict::Allow)?;
    check_rules(text, &file.deny, Verdict::Deny)?;
    Ok((file, unknown_keys(&table)))
}

/// Reads the text of a project's file and makes `settings` stricter by it. The notices name what
/// is not taken from it.
pub(super) fn apply_project(
    text: &str,
    settings: &mut Settings,
) -> Result<Vec<Sentence>, Sentence> {
    let (file, table) = parse(text)?;
    check_rules(text, &file.deny, Verdict::Deny)?;
    let mut notices = unknown_keys(&table);
    let mut refuse = |key: &str, why: Text| notices.push(why.with(&[("key", &key)]));
    for key in KEYS.iter().filter(|key| key.of_project == OfProject::No) {
        if table.contains_key(key.name) {
            refuse(key.name, Text::NotOfProject);
        }
    }
    let looser = Text::LooserInProject;
    if !tighten(&mut settings.max_steps, file.max_steps) {
        refuse("max_steps", looser);
    }
    if !tighten_limit(&mut settings.max_tokens, file.max_tokens) {
        refuse("max_tokens", looser);
    }
    if !tighten_limit(&mut settings.max_cost, file.max_cost) {
        refuse("max_cost", looser);
    }
    if !tighten_limit(&mut settings.max_time, file.max_time) {
        refuse("max_time", looser);
    }
    if !tighten(&mut settings.result_chars_max, file.result_chars_max) {
        refuse("result_chars_max", looser);
    }
    if !tighten(&mut settings.bash_output_chars_max, file.bash_output_chars_max) {
        refuse("bash_output_chars_max", looser);
    }
    if !tighten(&mut settings.disk_bytes_max, file.disk_bytes_max) {
        refuse("disk_bytes_max", looser);
    }
    if !tighten(&mut settings.processes_max, file.processes_max) {
        refuse("processes_max", looser);
    }
    if !tighten(&mut settings.memory_bytes_max, file.memory_bytes_max) {
        refuse("memory_bytes_max", looser);
    }
    if !tighten(&mut settings.file_bytes_max, file.file_bytes_max) {
        refuse("file_bytes_max", looser);
    }
    if !tighten(&mut settings.temporary_bytes_max, file.temporary_bytes_max) {
        refuse("temporary_bytes_max", looser);
    }
    if !tighten(&mut settings.mode, file.mode) {
        refuse("mode", looser);
    }
    match file.project_instructions {
        Some(false) => settings.project_instructions = false,
        Some(true) if !settings.project_instructions => refuse("project_instructions", looser),
        Some(true) | None => {}
    }
    settings.deny_of_project = file.deny.into_iter().map(Spanned::into_inner).collect();
    Ok(notices)
}

/// Lowers `setting` to `wanted`; returns whether what is wanted is no raise.
fn tighten<T: Ord>(setting: &mut T, wanted: Option<T>) -> bool {
    match wanted {
        Some(wanted) if wanted > *setting => false,
        Some(wanted) => {
            *setting = wanted;
            true
        }
        None => true,
    }
}

/// The same for a setting that may have no limit.
fn tighten_limit<T: PartialOrd + Copy>(setting: &mut Option<T>, wanted: Option<T>) -> bool {
    match (wanted, *setting) {
        (Some(wanted), Some(limit)) if wanted > limit => false,
        (Some(wanted), _) => {
            *setting = Some(wanted);
            true
        }
        (None, _) => true,
    }
}

fn time_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| time(&text).map_err(D::Error::custom)).transpose()
}

fn parse(text: &str) -> Result<(File, toml::Table), Sentence> {
    // Twice, because only text has line numbers for errors and only a table knows its other keys.
    let table: toml::Table = toml::from_str(text).map_err(|error| Sentence::of_library(&error))?;
    if let Some(toml::Value::String(mode)) = table.get("mode")
        && WITHOUT_WALLS.contains(&mode.as_str())
    {
        return Err(Text::NoModeLiftsWalls.with(&[("mode", mode)]));
    }
    let file = toml::from_str(text).map_err(|error| Sentence::of_library(&error))?;
    Ok((file, table))
}

/// Sees that the entries of a list in `text` are rules; the error names the line of one that is none.
fn check_rules(text: &str, rules: &[Spanned<String>], verdict: Verdict) -> Result<(), Sentence> {
    for rule in rules {
        read_rule(rule.get_ref(), verdict, Origin::Config)
            .map_err(|why| Text::InLine.with(&[("line", &line_of(text, rule))]).with_more(why))?;
    }
    Ok(())
}

/// Returns the line of `text` that a value begins in, from 1 on.
pub(super) fn line_of<T>(text: &str, value: &Spanned<T>) -> usize {
    text.get(..value.span().start).unwrap_or_default().matches('\n').count() + 1
}

/// Returns a notice for each key that is none.
fn unknown_keys(table: &toml::Table) -> Vec<Sentence> {
    let mut unknown = Vec::new();
    for (key, value) in table {
        let inner = value.as_table();
        match key.as_str() {
            "network" => unknown.extend(unknown_in("network", inner, &NETWORK_KEYS)),
            "providers" => {
                for (name, provider) in inner.into_iter().flatten() {
                    let place = format!("providers.{name}");
                    unknown.extend(unknown_in(&place, provider.as_table(), &PROVIDER_KEYS));
                }
            }
            _ if KEYS.iter().any(|known| known.name == key) => {}
            _ => unknown.push(key.clone()),
        }
    }
    unknown.iter().map(|key| Text::NoSuchSetting.with(&[("key", key)])).collect()
}

fn unknown_in(place: &str, table: Option<&toml::Table>, known: &[&str]) -> Vec<String> {
    let keys = table.into_iter().flat_map(|table| table.keys());
    keys.filter(|key| !known.contains(&key.as_str())).map(|key| format!("{place}.{key}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Language;

    fn said(notices: &[Sentence]) -> Vec<String> {
        notices.iter().map(|notice| notice.say(Language::English)).collect()
    }

    fn notices_of(text: &str, settings: &mut Settings) -> Vec<String> {
        said(&apply_project(text, settings).unwrap())
    }

    #[test]
    fn the_list_of_keys_is_the_list_of_fields() {
        // Each key with a value that serde must accept; a field that is missing here would be
        // reported as unknown.
        let text = "model = 'a'\nmode = 'read-only'\nsandbox = 'off'\nnet = []\nadd_dir = []\nread_dir = []\nmax_steps = 1\nmax_tokens = 1\nmax_cost = 0.5\nmax_time = '10m'\n\
                    context_window = 1\nreceipts = true\nverify = []\nresult_chars_max = 1\nbash_output_chars_max = 1\ndisk_bytes_max = 1\nprocesses_max = 1\nmemory_bytes_max = 1\nfile_bytes_max = 1\ntemporary_bytes_max = 1\nproject_instructions = true\nallow = []\ndeny = []\n\
                    environment = []\nmask_secrets = true\nundo = true\nundo_bytes_max = 1\nundo_file_bytes_max = 1\nundo_by_comparison = true\ntheme = 'dark'\nnotify = 'bell'\n[network]\nca_file = 'a'\nconnect_timeout_s = 1\n\
                    first_byte_timeout_s = 1\nidle_timeout_s = 1\n[providers.a]\nkind = 'openai'\n\
                    base_url = 'b'\nkey_env = 'c'\nkey = 'd'\nmodel = 'e'";
        let (_, notices) = parse_user(text).unwrap();
        assert_eq!(said(&notices), Vec::<String>::new());
        assert_eq!(toml::from_str::<toml::Table>(text).unwrap().len(), KEYS.len());
    }

    #[test]
    fn unknown_settings_are_named() {
        let (_, notices) = parse_user("modle = 'a'\n[providers.x]\nurl = 'b'").unwrap();
        let notices = said(&notices);
        let named = |key: &str| notices.iter().any(|notice| notice.contains(&format!("`{key}`")));
        assert!(notices.len() == 2 && named("modle") && named("providers.x.url"), "{notices:?}");
    }

    #[test]
    fn what_a_project_may_not_set_is_refused_and_named() {
        let text = "model = 'scripted:evil.json'\nsandbox = 'off'\nnet = ['evil']\nadd_dir = ['/']\nread_dir = ['/']\nallow = ['bash(*)']\nenvironment = ['AWS_*']\nmask_secrets = false\n\
                    [network]\nca_file = 'evil.pem'\n[providers.openai]\nbase_url = 'http://evil'";
        let mut settings = Settings::default();
        let notices = notices_of(text, &mut settings);
        assert_eq!(settings, Settings::default());
        let keys = ["model", "sandbox", "net", "add_dir", "read_dir", "allow", "environment"];
        for key in keys.into_iter().chain(["mask_secrets", "network", "providers"]) {
            let told = notices.iter().any(|notice| notice.starts_with(&format!("`{key}` is not")));
            assert!(told, "{key}: {notices:?}");
        }
    }

    #[test]
    fn a_project_makes_things_stricter_only() {
        let mut settings = Settings {
            max_steps: NonZeroU32::new(10).unwrap(),
            mode: ModeName::Ask,
            deny: vec!["grep".into()],
            ..Settings::default()
        };
        let text = "max_steps = 20\nmax_tokens = 5\ndisk_bytes_max = 7\nprocesses_max = 8\nmemory_bytes_max = 9\nfile_bytes_max = 99999999999\ntemporary_bytes_max = 10\nmode = 'auto'\ndeny = ['bash(b)']\n\
                    project_instructions = false";
        let expected = Settings {
            max_tokens: NonZeroU64::new(5),
            disk_bytes_max: NonZeroU64::new(7).unwrap(),
            processes_max: NonZeroU64::new(8).unwrap(),
            memory_bytes_max: NonZeroU64::new(9).unwrap(),
            temporary_bytes_max: NonZeroU64::new(10).unwrap(),
            deny_of_project: vec!["bash(b)".into()],
            project_instructions: false,
            ..settings.clone()
        };
        let notices = notices_of(text, &mut settings);
        assert_eq!(settings, expected);
        assert_eq!(notices.len(), 3, "{notices:?}");
        assert_eq!(notices_of("mode = 'read-only'", &mut settings), Vec::<String>::new());
        assert_eq!(settings.mode, ModeName::ReadOnly);
    }

    #[test]
    fn a_wrong_type_is_an_error_with_its_line() {
        let error = parse_user("\nmax_steps = 'many'").unwrap_err().say(Language::English);
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn a_rule_that_is_none_is_an_error_with_its_line() {
        for text in ["allow = ['bash(ls)',\n'Bash(rm:*)']", "\ndeny = ['Bash(rm:*)']"] {
            let error = parse_user(text).unwrap_err().say(Language::English);
            let expected =
                "line 2: `Bash(rm:*)` is no rule: there is no tool `Bash`; write bash(rm:*)";
            assert_eq!(error, expected);
        }
    }
}

//! Hosts that belong together because one toolchain needs them all.
//!
//! Which they are is not known here: whoever makes the sandbox reads it from the toolchain's own
//! configuration, and only when a command could not reach one of them.

use async_trait::async_trait;
use tenon_sandbox::HostRule;

/// The hosts of a toolchain, allowed with one answer.
///
/// ```
/// use tenon_agent::HostPreset;
///
/// let hosts = vec!["index.example".parse()?, "files.example".parse()?];
/// let preset = HostPreset { name: "cargo".into(), hosts };
/// assert_eq!(preset.to_string(), "cargo (index.example, files.example)");
/// # Ok::<(), tenon_sandbox::HostError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPreset {
    /// What it is called in `net` and behind `--net`.
    pub name: String,
    /// What it opens.
    pub hosts: Vec<HostRule>,
}

/// Says which hosts belong together.
///
/// ```
/// use tenon_agent::{HostPreset, HostPresets};
/// use tenon_sandbox::HostRule;
///
/// struct One(HostPreset);
///
/// #[async_trait::async_trait]
/// impl HostPresets for One {
///     async fn preset_of(&self, host: &HostRule, _programs: &[String]) -> Option<HostPreset> {
///         self.0.hosts.contains(host).then(|| self.0.clone())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tenon_sandbox::HostError> {
/// let one = One(HostPreset { name: "npm".into(), hosts: vec!["packages.example".parse()?] });
/// assert_eq!(one.preset_of(&"packages.example".parse()?, &[]).await, Some(one.0.clone()));
/// assert_eq!(one.preset_of(&"other.example".parse()?, &[]).await, None);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait HostPresets: Send + Sync {
    /// Returns the preset that `host` is one of. Where it is one of several, it is that of the first
    /// of `programs` that has one: what the command ran that tried the host, by names without folders,
    /// as far as its line says. May take a second: a toolchain may be asked. Nobody has allowed anything
    /// yet, so no host may be reached for it.
    async fn preset_of(&self, host: &HostRule, programs: &[String]) -> Option<HostPreset>;

    /// Returns what the preset opens now that a person said yes to it: the same, unless its hosts lead
    /// to others, which may be asked.
    ///
    /// ```
    /// use tenon_agent::{HostPreset, HostPresets};
    /// use tenon_sandbox::HostRule;
    ///
    /// struct WithFiles;
    ///
    /// #[async_trait::async_trait]
    /// impl HostPresets for WithFiles {
    ///     async fn preset_of(&self, index: &HostRule, _: &[String]) -> Option<HostPreset> {
    ///         Some(HostPreset { name: "pip".into(), hosts: vec![index.clone()] })
    ///     }
    ///
    ///     async fn opened(&self, mut preset: HostPreset) -> HostPreset {
    ///         preset.hosts.extend("files.example".parse());
    ///         preset
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tenon_sandbox::HostError> {
    /// let asked_about = WithFiles.preset_of(&"index.example".parse()?, &[]).await.unwrap();
    /// assert_eq!(asked_about.to_string(), "pip (index.example)");
    /// let opened = WithFiles.opened(asked_about).await;
    /// assert_eq!(opened.to_string(), "pip (index.example, files.example)");
    /// # Ok(())
    /// # }
    /// ```
    async fn opened(&self, preset: HostPreset) -> HostPreset {
        preset
    }
}

impl std::fmt::Display for HostPreset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hosts: Vec<String> = self.hosts.iter().map(ToString::to_string).collect();
        write!(f, "{} ({})", self.name, hosts.join(", "))
    }
}

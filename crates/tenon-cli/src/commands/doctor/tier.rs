//! Which walls stand and why others cannot be had, in the session's language.
//!
//! The library that builds walls says it in English alone, for whoever uses it; a test sees that
//! the table's English is what it says. What has no row here (a step that the kernel refused) is
//! said in the library's words.

use tenon_sandbox::{Missing, SandboxError, Tier};

use crate::texts::{Language, Text};

/// Returns the name of a tier with what it is made of.
pub(super) fn name(tier: Tier, language: Language) -> &'static str {
    let text = match tier {
        Tier::A => Text::TierA,
        Tier::B => Text::TierB,
        Tier::C => Text::TierC,
        Tier::D => Text::TierD,
    };
    text.template(language)
}

/// Returns which tier cannot be had, and why.
pub(super) fn why(error: &SandboxError, language: Language) -> String {
    let why = match &error.missing {
        Missing::NamespaceCount => Text::LacksCount.template(language).to_owned(),
        Missing::AppArmor => Text::LacksAppArmor.template(language).to_owned(),
        Missing::NamespacesSwitchedOff => Text::LacksSetting.template(language).to_owned(),
        Missing::Namespaces => Text::LacksNamespaces.template(language).to_owned(),
        Missing::Proc => Text::LacksProc.template(language).to_owned(),
        Missing::OldKernel { release } => Text::LacksMounts.say(language, &[("release", release)]),
        Missing::Landlock { version: None } => Text::LacksLandlock.template(language).to_owned(),
        Missing::Landlock { version: Some(version) } => {
            Text::LacksLandlockVersion.say(language, &[("n", version)])
        }
        Missing::Seccomp => Text::LacksSeccomp.template(language).to_owned(),
        Missing::WholeFileSystem => Text::LacksFolder.template(language).to_owned(),
        Missing::Proxy => Text::LacksHosts.template(language).to_owned(),
        Missing::NoBubblewrap => Text::LacksBubblewrap.template(language).to_owned(),
        Missing::ForeignBubblewrap => Text::LacksOwnBubblewrap.template(language).to_owned(),
        Missing::Bubblewrap { said } => Text::LacksBubblewrapRun.say(language, &[("said", said)]),
        Missing::Folder { path } => Text::LacksPath.say(language, &[("path", &path.display())]),
        Missing::Helper => Text::LacksHelper.template(language).to_owned(),
        _ => return error.to_string(),
    };
    let tier = name(error.tier, language);
    Text::TierMissing.say(language, &[("tier", &tier), ("why", &why)])
}

/// Returns how to mend it, if there is a way.
pub(super) fn hint(error: &SandboxError, language: Language) -> Option<&'static str> {
    let text = match &error.missing {
        Missing::NamespaceCount => Text::MendCount,
        Missing::AppArmor => Text::MendAppArmor,
        Missing::NamespacesSwitchedOff => Text::MendCloning,
        Missing::Namespaces => Text::MendNamespaces,
        Missing::Proc => Text::MendProc,
        Missing::OldKernel { .. } => Text::MendMounts,
        Missing::Landlock { .. } => Text::MendLandlock,
        Missing::Seccomp => Text::MendSeccomp,
        Missing::WholeFileSystem => Text::MendFolder,
        Missing::Proxy => Text::MendHosts,
        Missing::NoBubblewrap => Text::MendBubblewrap,
        Missing::ForeignBubblewrap => Text::MendOwnBubblewrap,
        Missing::Bubblewrap { said } if said.contains("nknown option") => Text::MendOldBubblewrap,
        Missing::Bubblewrap { .. } => Text::MendBubblewrapRun,
        _ => return error.hint(),
    };
    Some(text.template(language))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_in_english_what_the_library_says() {
        let release = "5.4.0".to_owned();
        let missing = [
            Missing::NamespaceCount,
            Missing::AppArmor,
            Missing::NamespacesSwitchedOff,
            Missing::Namespaces,
            Missing::Proc,
            Missing::OldKernel { release },
            Missing::Landlock { version: None },
            Missing::Landlock { version: Some(1) },
            Missing::Seccomp,
            Missing::WholeFileSystem,
            Missing::Proxy,
            Missing::NoBubblewrap,
            Missing::ForeignBubblewrap,
            Missing::Bubblewrap { said: "Unknown option --bind-fd".to_owned() },
            Missing::Bubblewrap { said: "no".to_owned() },
            Missing::Folder { path: "/a".into() },
            Missing::Helper,
        ];
        for missing in missing {
            for tier in [Tier::A, Tier::B, Tier::C, Tier::D] {
                let error = SandboxError { tier, missing: missing.clone() };
                assert_eq!(why(&error, Language::English), error.to_string());
                assert_eq!(hint(&error, Language::English), error.hint());
                assert_ne!(why(&error, Language::Chinese), error.to_string());
                let chinese = hint(&error, Language::Chinese);
                assert!(chinese.is_none() || chinese != error.hint(), "{chinese:?}");
            }
        }
    }
}

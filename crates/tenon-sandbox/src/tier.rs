//! How strong the walls are.

use std::fmt;

/// How strong the walls are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Namespaces of its own, Landlock and seccomp.
    A,
    /// The same, with namespaces that bubblewrap makes: where the kernel lets no other program have
    /// them, as Ubuntu's AppArmor does.
    B,
    /// Landlock and seccomp alone: no private folders, no sockets to other machines nor to this
    /// one's own ports, protected names put back after each call.
    C,
    /// Nothing. No confined command runs.
    D,
}

/// Which tier a session wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The strongest that this machine gives. Decided once, then kept. Bubblewrap is started only
    /// if tier A cannot be had.
    Best,
    /// This one or an error.
    Exactly(Tier),
}

impl Tier {
    /// Returns what a person types for it.
    ///
    /// ```
    /// assert_eq!(tenon_sandbox::Tier::A.name(), "a");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::D => "off",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::A => "tier A (own namespaces, Landlock, seccomp)",
            Self::B => "tier B (namespaces by bubblewrap, Landlock, seccomp)",
            Self::C => "tier C (Landlock, seccomp)",
            Self::D => "tier D (no walls)",
        })
    }
}

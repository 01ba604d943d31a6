//! The machine's own list of users and their homes.

use std::path::PathBuf;

/// The list of users.
const USERS: &str = "/etc/passwd";

/// A line of the list with a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct User<'a> {
    pub(crate) name: &'a str,
    pub(crate) number: u32,
    /// Absolute.
    pub(crate) home: &'a str,
}

/// Returns the list; empty where it cannot be read.
#[expect(clippy::disallowed_methods, reason = "the machine's list of users")]
pub(crate) fn list() -> String {
    std::fs::read_to_string(USERS).unwrap_or_default()
}

/// Returns who is in a list.
pub(crate) fn listed(list: &str) -> impl Iterator<Item = User<'_>> {
    list.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let (name, number) = (*fields.first()?, fields.get(2)?.parse().ok()?);
        let home = *fields.get(5)?;
        home.starts_with('/').then_some(User { name, number, home })
    })
}

/// Returns the home, by the list, of the user with this name; of this process's user where it is empty.
pub(crate) fn home_of(name: &str) -> Option<PathBuf> {
    let (list, own) = (list(), rustix::process::geteuid().as_raw());
    let is_wanted =
        |user: &User<'_>| if name.is_empty() { user.number == own } else { user.name == name };
    listed(&list).find(is_wanted).map(|user| PathBuf::from(user.home))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_a_number_or_an_absolute_home_is_left_out() {
        let list =
            "me:x:1000:1000::/srv/me:/bin/sh\nbroken\nx:x:1002:1::relative:\ny:x:no:1::/y:\n";
        let me = User { name: "me", number: 1_000, home: "/srv/me" };
        assert_eq!(listed(list).collect::<Vec<_>>(), [me]);
        assert_eq!(home_of("no:body"), None);
    }
}

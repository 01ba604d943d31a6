//! Addresses with a password in them.

/// What opens the address of a machine.
const SCHEME: &str = "://";

/// Whether a text may have an address with a password in it.
pub(super) fn is_login(text: &str) -> bool {
    text.contains(SCHEME) && text.contains('@')
}

/// Returns a condition of `includeIf` with a pattern for any login in the place of the one in it. A name for ssh alone is no
/// secret, and most addresses have the same.
pub(super) fn without_login(condition: &str) -> String {
    let parts = condition.split_once(SCHEME);
    let parts = parts.and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?)));
    let Some((scheme, (login, rest))) = parts else { return condition.to_owned() };
    let is_name = login.chars().all(|c| c.is_ascii_alphanumeric() || "._-*".contains(c));
    match is_name && scheme.ends_with("ssh") {
        true => condition.to_owned(),
        false => format!("{scheme}{SCHEME}*@{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_has_no_login_in_it() {
        let check = |condition: &str, expected: &str| {
            assert_eq!(without_login(condition), expected, "{condition}");
        };
        let front = "hasconfig:remote.*.url:";
        for login in ["ada:tok", "tok", "ada:t/o@k", "ada:x://y"] {
            let any = format!("{front}https://*@h/**");
            check(&format!("{front}https://{login}@h/**"), &any);
        }
        check(&format!("{front}ssh://git:tok@h/**"), &format!("{front}ssh://*@h/**"));
        for same in ["ssh://git@h/**", "git@h:a/**", "https://h/**", "git+ssh://*@h/**"] {
            let same = format!("{front}{same}");
            check(&same, &same);
        }
        check("gitdir:/a@b/", "gitdir:/a@b/");
    }
}

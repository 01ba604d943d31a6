//! What comes to stand where local addresses lead that a person set.

use super::*;

const WITH_COMMIT: &str =
    "git init -q -b main . && git -c user.name=n -c user.email=e commit -q --allow-empty -m m";

/// Has a command put a link to elsewhere where an address leads.
fn check_link(setup: &str, link: &str) {
    let setup = format!("{WITH_COMMIT} && {setup}");
    let attack = format!("rm -rf '{link}' && ln -s /x '{link}'");
    let told = check_with(&setup, &attack, |root| {
        assert!(!root.join(link).is_symlink(), "{link}");
    });
    assert_eq!(told, [link], "{setup}");
}

#[test]
fn nothing_comes_to_stand_at_an_address_with_any_sign_in_it() {
    for folder in ["ven (old)", "R&D", "100%", "a!", "a$b;c\\\\d", "a:b", "\u{e9}", "a#b"] {
        let link = format!("{folder}/x");
        let setup = format!("mkdir '{folder}' && git config remote.v.url \"$PWD\"/'{link}'");
        check_link(&setup, &link);
    }
    check_link("git config remote.v.url \"file://$PWD/a%20b\"", "a b");
    check_link("git config remote.v.url \"file://$PWD/a%20b\"", "a%20b");
    check_link("git config remote.v.url ./a:b", "a:b");
    // It has no name.
    check_link("git config branch.main.remote \"$PWD/R&D\"", "R&D");
    check_link(
        "printf '[user]\\n\\tname = \\351\\n' >> .git/config && git config remote.v.url \"$PWD/v\"",
        "v",
    );
}

#[test]
fn an_address_with_any_sign_in_it_may_get_another_name_and_go() {
    let setup = format!("{WITH_COMMIT} && git remote add v \"$PWD/R&D/x\"");
    for work in ["git remote rename v w", "git remote remove v"] {
        let told = check_with(&setup, work, |root| {
            shell(root, "test \"$(git config --get-regexp remote.v)\" = ''");
        });
        assert_eq!(told, [""; 0], "{work}");
    }
    let attack = "git config remote.v.url \"$PWD/R&D/y\"";
    assert_eq!(check(&setup, attack, &[]), [".git/config"]);
}

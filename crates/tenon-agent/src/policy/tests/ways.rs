//! Folders of the session by the symbolic links through which the user came to them.

use super::{ALLOW, ASK, Action, DENY, Mode, Places, Rules, Verdict, decide, places, rules};

fn by_links() -> Places {
    let ways = [
        ("/home/user/proj", "/home/user/project"),
        ("/u", "/home/user"),
        ("/home/user/far", "/srv/shared"),
    ];
    let ways = ways.map(|(link, end)| (link.to_owned(), end.to_owned())).to_vec();
    Places { ways, ..places() }
}

fn check_by(rules: &Rules, lines: &[(&str, Verdict)]) {
    for (line, want) in lines {
        let run = Action::Run { command: (*line).to_owned() };
        let decision = decide("bash", &run, rules, Mode::Auto, &by_links());
        assert_eq!(decision.verdict, *want, "{line}: {} ({})", decision.reason, decision.rule);
    }
}

#[test]
fn a_way_of_the_user_counts_as_the_folder_that_it_leads_to() {
    check_by(
        &Rules::default(),
        &[
            ("cd ~/proj && rm -rf build", ALLOW),
            ("cd ~/proj/ && rm -rf ./build", ALLOW),
            ("cd ~/proj; rm -rf build", ALLOW),
            ("rm -rf ~/proj/build", ALLOW),
            ("rm -rf /u/proj/build /u/far/x", ALLOW),
            ("cd /u && cd far && rm -rf x", ALLOW),
            ("cd ~ && cd proj && rm -rf *.o", ALLOW),
            ("d=~/proj; cd \"$d\" && rm -rf build", ALLOW),
            ("make -C ~/proj clean && (cd ~/proj/src && rm -rf build)", ALLOW),
            ("cp a ~/proj && cd ~/proj && rm -rf build", ALLOW),
            ("mkdir -p ~/proj/build && cd ~/proj && rm -rf build", ALLOW),
            ("cd ~/proj && rm -rf *", ASK),
            ("rm -rf ~/proj/*", ASK),
            ("rm -rf ~/proj", DENY),
            ("rm -rf /u", DENY),
            ("rm -rf /u/notes", DENY),
            ("cd ~/proj && rm -rf ..", DENY),
            ("cd ~/far && rm -rf ../x", DENY),
            ("cd ~/far && cd .. && rm -rf x", DENY),
            ("rm -rf ~/far/../x", DENY),
            ("rm -rf ~/project2 ", DENY),
            ("rm -rf ~/projects/x", DENY),
        ],
    );
}

#[test]
fn what_a_line_puts_in_the_place_of_a_link_is_no_way_of_the_user() {
    check_by(
        &Rules::default(),
        &[
            ("ln -sfn ~/notes ~/proj && cd ~/proj && rm -rf x", DENY),
            ("ln -sfn ~/notes ~/proj; rm -rf ~/proj/x", DENY),
            ("rm ~/proj && mv ~/notes ~/proj && rm -rf ~/proj/x", DENY),
            ("cd ~; rm proj; ln -s notes proj; cd ~/proj; rm -rf x", DENY),
            ("cp -sT /etc ~/proj; cd ~/proj; rm -rf x", DENY),
            ("ln -s ~/notes \"$x\"; cd ~/proj && rm -rf x", DENY),
            ("ln -s ~/notes ~/mine && cd ~/mine && rm -rf x", DENY),
        ],
    );
}

#[test]
fn rules_speak_of_files_by_every_way() {
    for rule in [
        "write(src/**)",
        "write(~/project/src/**)",
        "write(~/proj/src/**)",
        "write(/u/proj/src/**)",
    ] {
        check_by(
            &rules(&[(rule, DENY)]),
            &[
                ("cd ~/proj && touch src/a", DENY),
                ("cd ~/proj/src && echo x > a", DENY),
                ("touch ~/proj/src/a", DENY),
                ("cd /u/proj/lib; rm ../src/a", DENY),
                ("touch src/a", DENY),
                ("cd ~/proj && git checkout -- .", DENY),
                ("touch ~/proj/lib/a", ALLOW),
            ],
        );
        let path = "/u/proj/src/a".to_owned();
        let write = Action::Write { path, written: None, protected: false };
        let decision =
            decide("write_file", &write, &rules(&[(rule, DENY)]), Mode::Auto, &by_links());
        assert_eq!(decision.verdict, DENY, "{rule}");
    }
    let ask = rules(&[("write(src/**)", ASK)]);
    check_by(&ask, &[("cd ~/proj && touch src/a", ASK), ("cd ~/proj && touch src/*", ASK)]);
    let line = "cd ~/proj && echo x > out/a";
    let run = Action::Run { command: line.to_owned() };
    let allowed =
        rules(&[("bash(cd:*)", ALLOW), ("bash(echo:*)", ALLOW), ("write(out/**)", ALLOW)]);
    assert_eq!(decide("bash", &run, &allowed, Mode::Ask, &by_links()).verdict, ALLOW);
    assert_eq!(decide("bash", &run, &allowed, Mode::Ask, &places()).verdict, ASK);
}

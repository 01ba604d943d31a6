//! The reader of rules, and what they do with a command.

use tenon_agent::{Action, Mode, Origin, Places, Rule, Rules, Verdict, decide};

use super::{Check, Target, shape};

/// Denied by a rule of its own in every round.
const DENIED: &str = "git push origin main";

pub(crate) const TARGET: Target = Target {
    name: "rule",
    promise: "a rule that was read is printed and read again unchanged; what it allows it would deny; \
              it never gets allowed what another rule denies",
    seeds: &[
        b"bash\nls",
        b"bash(*)\nls -l",
        b"bash(\"\"*)\nls -l",
        b"bash(git push:*)\ngit push --force",
        b"bash( git  log:* )\ngit -C x log",
        b"bash(make check)\nmake check",
        b"bash('a b' \"c\" d\\ e:*)\n'a b' c 'd e' f",
        b"bash(npm run *)\nnpm run build",
        b"bash(rm *.o)\nrm a.o",
        b"edit_file(src/**)\nsrc/main.rs",
        b"*\nsudo reboot",
        b"fetch(*.example.com)\nwiki.example.com",
        b"bash(:*)\nls",
    ],
    words: &[
        "bash",
        "bash(",
        "edit_file(",
        "*",
        "**",
        ":*",
        ")",
        "(",
        "'",
        "\"",
        "\\",
        "\\'",
        " ",
        "\t",
        "\n",
        "git push",
        "git ",
        "/usr/bin/",
        "~/",
        "./",
        "src/**",
        "?",
        "[a-z]",
        "{a,b}",
        "!",
        "a",
        "-",
        "_",
        ".",
        "$(x)",
        "`x`",
        ";",
        "&&",
        "|",
        "#",
        "\u{2028}",
        "\u{a0}",
        "汉",
        "é",
    ],
    start: || -> Check {
        let places = Places {
            roots: vec!["/home/u/project".into()],
            home: "/home/u".into(),
            cwd: "/home/u/project".into(),
            ..Places::default()
        };
        Box::new(move |input| {
            let text = String::from_utf8_lossy(input).replace('\0', "");
            let (rule, command) = text.split_once('\n').unwrap_or((&text, DENIED));
            let read = |text: &str, verdict| Rule::parse(text, verdict, Origin::Config);
            let judged = |command: &str, rules: Vec<Rule>| {
                let action = Action::Run { command: command.to_owned() };
                decide("bash", &action, &Rules::from_iter(rules), Mode::Ask, &places)
            };
            let allow = match read(rule, Verdict::Allow) {
                Ok(allow) => allow,
                Err(error) => {
                    return shape(&format!("{error:?}").split('(').next().map(str::to_owned));
                }
            };
            let printed = allow.to_string();
            assert_eq!(read(&printed, Verdict::Allow).as_ref(), Ok(&allow), "printed: {printed:?}");
            let deny = read(rule, Verdict::Deny);
            let without = judged(command, Vec::new()).verdict;
            let allowed = judged(command, vec![allow.clone()]).verdict;
            if without != Verdict::Allow && allowed == Verdict::Allow {
                let denied = judged(command, deny.into_iter().collect()).verdict;
                assert_eq!(denied, Verdict::Deny, "what {printed:?} allows, it does not deny");
            }
            if let Ok(stronger) = read("bash(git push:*)", Verdict::Deny) {
                let behind = format!("{DENIED}; {command}");
                for command in [DENIED, &behind] {
                    let both = judged(command, vec![allow.clone(), stronger.clone()]).verdict;
                    assert_eq!(both, Verdict::Deny, "{printed:?} is stronger than a denial");
                }
            }
            shape(&(
                format!("{without:?} {allowed:?}"),
                printed.matches('*').count().min(3),
                printed.matches(['\'', '"', '\\']).count().min(3),
                printed.matches(' ').count().min(3),
            ))
        })
    },
};

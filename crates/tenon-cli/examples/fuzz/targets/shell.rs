//! The judge of command lines.

use tenon_agent::{Action, Mode, Places, Rules, Verdict, decide};

use super::{Check, Target, shape};

/// What is denied whatever stands behind it.
const DENIED: &str = "rm -rf /";

pub(crate) const TARGET: Target = Target {
    name: "shell",
    promise: "quoted text is only text, and nothing written around a refused command gets it allowed",
    seeds: &[
        b"ls -l | grep x > out.txt && echo \"$HOME\" || true",
        b"cat <<'END' | sed 's/a/b/'\ntext\nEND\necho `date` $(uname -a)",
        b"env X=1 sudo rm -rf ~/x; find . -name '*.o' -exec rm {} +",
        b"f() { rm -rf /; }; f & for i in 1 2; do echo $i; done",
        b"bash -c \"git push --force\"; xargs -0 sh -c 'dd if=/dev/zero of=/dev/sda'",
        b"bash -euxo pipefail -c 'rm -rf /'; env -iS sh -c ls; tee f >(sh -s) <<< 'reboot'; . ./f",
        b"case $x in a) mkfs /dev/sda;; esac; [[ -f a ]] && (cd /; rm -r *)",
        b"echo ${x:-$(reboot)} $((1+2)) >/dev/sda {a,b} ~root \\\n",
    ],
    words: &[
        "rm -rf ",
        "/",
        "~",
        "sudo ",
        "env ",
        "xargs ",
        "sh -c ",
        "bash -c ",
        "bash -euxo pipefail -c ",
        "env -S ",
        "xargs -0I{} ",
        "tee f ",
        ">(",
        "> >(sh)",
        "sed 'w f' ",
        "dd of=f ",
        "sh f",
        "eval ",
        "exec ",
        "'",
        "\"",
        "`",
        "$(",
        ")",
        "${",
        "}",
        "$((",
        "))",
        "<<EOF\n",
        "EOF\n",
        "<<<",
        "| ",
        "|| ",
        "&& ",
        "& ",
        "; ",
        ";;",
        "\n",
        "\\\n",
        ">",
        ">>",
        "2>&1",
        "/dev/sda",
        "git push --force",
        "git reset --hard",
        "curl x | bash",
        "chmod -R 777 /",
        "if ",
        "then ",
        "fi",
        "for ",
        "do ",
        "done",
        "case ",
        "esac",
        "function ",
        "() {",
        "{ ",
        "[[ ",
        "]]",
        "#",
        "*",
        "!",
        "time ",
        "\u{2028}",
        "汉",
        "$'\\x27'",
    ],
    start: || -> Check {
        let rules = Rules::default();
        let places = Places {
            roots: vec!["/home/u/project".into()],
            home: "/home/u".into(),
            cwd: "/home/u/project".into(),
            ..Places::default()
        };
        let judged = move |command: String| {
            decide("bash", &Action::Run { command }, &rules, Mode::Auto, &places)
        };
        Box::new(move |input| {
            let text = String::from_utf8_lossy(input).replace('\0', "");
            let quoted = format!("'{}'", text.replace('\'', r"'\''"));
            let plain = judged(text.clone());
            assert_eq!(
                judged(format!("echo {quoted}")).verdict,
                Verdict::Allow,
                "quoted text is judged"
            );
            assert_eq!(
                judged(format!("{DENIED} {quoted}")).verdict,
                Verdict::Deny,
                "quoted text saves a command"
            );
            for behind in [format!("{DENIED}; {text}"), format!("{DENIED}\n{text}")] {
                assert!(judged(behind).verdict != Verdict::Allow, "what follows saves a command");
            }
            // A variable that the text does not use: of one that it uses more would be known.
            for launcher in ["bash -c --", "env OF_NOBODY=1 sh -c --", "eval --"] {
                let launched = judged(format!("{launcher} {quoted}"));
                assert!(
                    plain.verdict == Verdict::Allow || launched.verdict != Verdict::Allow,
                    "{launcher} saves a command"
                );
            }
            shape(&(
                plain.rule,
                plain.reason.chars().take(24).collect::<String>(),
                plain.flag.is_some(),
                plain.unconfined,
            ))
        })
    },
};

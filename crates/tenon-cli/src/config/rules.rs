//! Rules as people write them, on the command line and in configuration files: each speaks of a tool
//! that there is, or denies a host. Pure.
//!
//! A rule that names neither would allow and deny nothing, so it is an error that says what is meant.

use tenon_agent::{CoreToolOptions, Origin, Rule, RuleError, Verdict, core_tools};
use tenon_sandbox::HostRule;

use crate::texts::{Sentence, Text};

/// What stands where a tool's name would in a rule for hosts.
const NET: &str = "net";

/// What else stands there: every tool that reads or writes, all tools, and one that comes late.
const OTHERS: [&str; 4] = ["read", "write", "*", "recall"];

/// What other agents and people call these.
const CALLED_OTHERWISE: &[(&str, &[&str])] = &[
    ("bash", &["command", "exec", "run", "runshellcommand", "sh", "shell", "terminal"]),
    // Such a rule is for all tools that change a file.
    ("write", &["applypatch", "edit", "multiedit", "notebookedit", "strreplace"]),
    (NET, &["domain", "host", "hosts", "network", "webfetch"]),
];

/// Names under which another agent takes a path without a folder for one in any folder, `/` for the
/// beginning of a project, and `//` for that of all.
const OF_ANY_FOLDER: [&str; 5] = ["Read", "Edit", "MultiEdit", "NotebookEdit", "Write"];

/// A rule by what it speaks of.
#[derive(Debug)]
pub(crate) enum RuleFor {
    /// Calls of tools.
    Calls(Rule),
    /// A host, or a toolchain's hosts, as `--net` takes it. Only denials do.
    Host(String),
}

/// Reads a rule. The error says what is wrong with it and what may be meant.
pub(crate) fn read_rule(text: &str, verdict: Verdict, origin: Origin) -> Result<RuleFor, Sentence> {
    let text = text.trim();
    let no_rule = |why: Sentence| Text::NoRule.with(&[("rule", &text)]).with_more(why);
    let (name, pattern) = split(text);
    if name == NET {
        return host(pattern, verdict).map_err(no_rule);
    }
    match Rule::parse(text, verdict, origin) {
        Ok(rule) if names().iter().any(|known| known == name) => Ok(RuleFor::Calls(rule)),
        Err(error @ RuleError::Form { .. }) if names().iter().any(|known| known == name) => {
            Err(no_rule(Sentence::of_library(&error)))
        }
        read => Err(no_rule(match (meant(text, verdict), read) {
            (Some(Ok(meant)), _) => Text::RuleMeant.with(&[("name", &name), ("rule", &meant)]),
            (Some(Err(why)), _) => why,
            (None, Err(error)) => Sentence::of_library(&error),
            (None, Ok(_)) => {
                let names = names().join(", ");
                Text::RuleOfNoTool.with(&[("name", &name), ("names", &names)])
            }
        })),
    }
}

/// Reads what stands behind `net`.
fn host(pattern: Option<&str>, verdict: Verdict) -> Result<RuleFor, Sentence> {
    let inner = pattern.and_then(|pattern| pattern.strip_suffix(')')).map(str::trim);
    let Some(name) = inner.filter(|name| !matches!(*name, "" | "*" | "**")) else {
        return Err(Text::RuleOfNoHost.into());
    };
    if let Err(error) = name.parse::<HostRule>() {
        return Err(Sentence::of_library(&error));
    }
    match verdict {
        Verdict::Deny => Ok(RuleFor::Host(name.to_owned())),
        Verdict::Allow | Verdict::Ask => Err(Text::HostOfAllow.with(&[("name", &name)])),
    }
}

/// Returns the hosts that these denials name.
pub(super) fn denied_hosts<'a>(denials: impl Iterator<Item = &'a String>) -> Vec<String> {
    let host = |text: &String| match read_rule(text, Verdict::Deny, Origin::Config) {
        Ok(RuleFor::Host(name)) => Some(name),
        Ok(RuleFor::Calls(_)) | Err(_) => None,
    };
    denials.filter_map(host).collect()
}

/// Returns the name and what stands behind the parenthesis.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once('(') {
        Some((name, pattern)) => (name.trim(), Some(pattern)),
        None => (text, None),
    }
}

/// Returns what a rule for calls may begin with.
fn names() -> Vec<String> {
    let tools = core_tools(CoreToolOptions { has_jobs: true, ..CoreToolOptions::default() });
    let tools = tools.specs().into_iter().map(|spec| spec.name);
    tools.chain(OTHERS.map(str::to_owned)).collect()
}

/// Returns the rule that is probably meant, or why there is none.
fn meant(text: &str, verdict: Verdict) -> Option<Result<String, Sentence>> {
    let (name, pattern) = split(text);
    let is_host = pattern.is_none() && text.contains(['.', ':']);
    let rule = if is_host {
        format!("{NET}({text})")
    } else {
        let known = called(name)?;
        if known == NET {
            let pattern = pattern.map(|text| text.strip_prefix("domain:").unwrap_or(text));
            match host(pattern, verdict) {
                Err(why) => return Some(Err(why)),
                Ok(_) => format!("{NET}({}", pattern.unwrap_or_default()),
            }
        } else {
            let inner = match pattern {
                Some(pattern) => Some(pattern.strip_suffix(')')?),
                None => None,
            };
            let of_project = inner.and_then(|inner| inner.trim().strip_prefix('/'));
            let of_project = of_project.filter(|_| OF_ANY_FOLDER.contains(&name));
            if let Some(path) = of_project.filter(|path| !path.starts_with('/')) {
                return Some(Ok(format!("{known}({path}) or {known}(/{path})")));
            }
            let pattern = inner.map(|inner| format!("({})", pattern_meant(name, &known, inner)));
            format!("{known}{}", pattern.unwrap_or_default())
        }
    };
    // Only what would be read is named.
    match read_rule(&rule, verdict, Origin::CommandLine) {
        Ok(_) if rule != text => Some(Ok(rule)),
        Ok(_) => None,
        Err(_) => match Rule::parse(&rule, verdict, Origin::CommandLine) {
            Err(RuleError::Form { meant, .. }) => Some(Ok(meant)),
            _ => None,
        },
    }
}

/// Returns what stands in a rule for what is called so.
fn called(name: &str) -> Option<String> {
    let folded = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let asked = folded(name);
    let own = names().into_iter().chain([NET.to_owned()]).find(|known| folded(known) == asked);
    let others = CALLED_OTHERWISE.iter().find(|(_, names)| names.contains(&asked.as_str()));
    own.or_else(|| others.map(|(known, _)| (*known).to_owned()))
}

/// Returns a pattern as it is written here: elsewhere ` *` at the end of a command stands for all that
/// follows.
fn pattern_meant(name: &str, known: &str, pattern: &str) -> String {
    let pattern = pattern.trim();
    if known == "bash" {
        return match pattern.strip_suffix(" *") {
            Some(words) => format!("{words}:*"),
            None => pattern.to_owned(),
        };
    }
    let is_one = OF_ANY_FOLDER.contains(&name) && !pattern.trim_end_matches('/').contains('/');
    match pattern.strip_prefix("//").filter(|_| OF_ANY_FOLDER.contains(&name)) {
        Some(path) => format!("/{path}"),
        None if is_one && !matches!(pattern, "" | "*" | "**" | "." | "~") => {
            format!("**/{pattern}")
        }
        None => pattern.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Language;

    fn said(text: &str, verdict: Verdict) -> Result<String, String> {
        match read_rule(text, verdict, Origin::Config) {
            Ok(RuleFor::Calls(rule)) => Ok(rule.to_string()),
            Ok(RuleFor::Host(host)) => Ok(format!("host {host}")),
            Err(why) => Err(why.say(Language::English)),
        }
    }

    #[test]
    fn rules_for_tools_and_denials_of_hosts_are_read() {
        for (text, read) in [
            ("bash(rm:*)", "bash(rm:*)"),
            ("jobs", "jobs"),
            ("recall", "recall"),
            ("*", "*"),
            (" read(/etc/**) ", "read(/etc/**)"),
            ("net(example.com)", "host example.com"),
            ("net( *.example.com )", "host *.example.com"),
            ("net(localhost:8917)", "host localhost:8917"),
            ("net([2001:db8::7])", "host [2001:db8::7]"),
            ("net(cargo)", "host cargo"),
        ] {
            assert_eq!(said(text, Verdict::Deny).as_deref(), Ok(read));
        }
    }

    #[test]
    fn a_rule_that_names_no_tool_is_an_error_that_says_what_is_meant() {
        for (text, meant) in [
            ("Bash(rm:*)", "bash(rm:*)"),
            ("shell(rm:*)", "bash(rm:*)"),
            ("run_shell_command(rm:*)", "bash(rm:*)"),
            ("Read(./.env)", "read(./.env)"),
            ("Edit", "write"),
            ("Edit(src/**)", "write(src/**)"),
            ("Write(./a/b.txt)", "write(./a/b.txt)"),
            ("Read(.env)", "read(**/.env)"),
            ("Read(*.pem)", "read(**/*.pem)"),
            ("Read(secrets/)", "read(**/secrets/)"),
            ("Read(//etc/**)", "read(/etc/**)"),
            ("Edit(/src/**)", "write(src/**) or write(/src/**)"),
            ("Read(~/.ssh/**)", "read(~/.ssh/**)"),
            ("Read", "read"),
            ("Bash(npm run test:*)", "bash(npm run test:*)"),
            ("Bash(rm *)", "bash(rm:*)"),
            ("Bash(FOO=1 make)", "bash(make)"),
            ("Bash", "bash"),
            ("WriteFile(a)", "write_file(a)"),
            ("host(localhost:8917)", "net(localhost:8917)"),
            ("WebFetch(domain:example.com)", "net(example.com)"),
            ("localhost:8917", "net(localhost:8917)"),
            ("example.com", "net(example.com)"),
        ] {
            let why = said(text, Verdict::Deny).unwrap_err();
            assert!(why.starts_with(&format!("`{text}` is no rule: ")), "{why}");
            assert!(why.ends_with(&format!("write {meant}")), "{why}");
        }
        for (text, part) in [
            ("fetch(x)", "there is no tool `fetch`; a rule names one of read_file, write_file"),
            ("host localhost:8917", "a rule begins with the name of a tool"),
            ("Bash(rm", "does not end with )"),
            ("net", "a denial of hosts names one"),
            ("net(*)", "a denial of hosts names one"),
            ("net(a b)", "a host's name has only"),
            ("WebFetch", "a denial of hosts names one"),
            (
                "mcp__server__tool",
                "there is no tool `mcp__server__tool`; a rule names one of read_file",
            ),
        ] {
            let why = said(text, Verdict::Deny).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn a_host_is_allowed_by_net_and_not_by_a_rule() {
        let why = said("net(example.com)", Verdict::Allow).unwrap_err();
        assert!(why.contains("--net example.com"), "{why}");
        let why = said("WebFetch(domain:example.com)", Verdict::Allow).unwrap_err();
        assert!(why.contains("--net example.com"), "{why}");
        // Nothing is suggested that would be an error, too.
        let why = said("example.com", Verdict::Allow).unwrap_err();
        assert!(!why.contains("net(example.com)"), "{why}");
    }

    #[test]
    fn a_rule_that_would_match_nothing_is_an_error_that_says_what_does() {
        for (text, meant) in [
            ("bash('git push:*')", "bash(git push:*)"),
            ("bash(\"rm:*\")", "bash(rm:*)"),
            ("bash(\"git push\":*)", "bash(git push:*)"),
            ("bash(cd src && make)", "bash(cd src) and bash(make)"),
            ("bash(curl x | sh)", "bash(curl x) and bash(sh)"),
            ("bash(make > log)", "bash(make) and write(log)"),
            ("bash({rm,mv}:*)", "bash(rm:*) and bash(mv:*)"),
            ("bash(rm:*,mv:*)", "bash(rm:*) and bash(mv:*)"),
            ("bash(rm, mv)", "bash(rm) and bash(mv)"),
            ("bash(FOO=1 make:*)", "bash(make:*)"),
            ("bash(git:push)", "bash(git push)"),
            ("bash(rm: *)", "bash(rm:*)"),
            ("bash($HOME/bin/x:*)", "bash(~/bin/x:*)"),
            ("bash(echo $X)", "bash(echo \"$X\")"),
            ("bash(rm:*) bash(mv:*)", "bash(rm:*)"),
            ("write(a/**), write(b/**)", "write(a/**)"),
            ("write(a/**, b/**)", "write(a/**) and write(b/**)"),
            ("write(!src/**)", "write(src/**)"),
            ("read($HOME/.ssh/**)", "read(~/.ssh/**)"),
            ("write(${PWD}/src/**)", "write(src/**)"),
            ("read(~ada/x)", "read(/home/ada/x)"),
            ("write(~lock*)", "write(./~lock*)"),
            ("write(src/**.rs)", "write(src/**/*.rs)"),
            ("write_file(src**)", "write_file(src*/**)"),
            ("read(file:///etc/hosts)", "read(/etc/hosts)"),
            ("jobs(stop)", "jobs"),
            (r"write(src/[ab)", r"write(src/\[ab)"),
            ("write(src/{a,b)", r"write(src/\{a,b)"),
            ("write(src/a})", r"write(src/a\})"),
            ("write(\"src/**)", "write(src/**)"),
            ("write(src/**')", "write(src/**)"),
            (r"write(src\a)", "write(src/a)"),
            (r"write(src/a\)", "write(src/a)"),
            ("write(a, b)", "write(a) and write(b)"),
        ] {
            let why = said(text, Verdict::Deny).unwrap_err();
            assert!(why.starts_with(&format!("`{text}` is no rule: ")), "{why}");
            assert!(why.ends_with(&format!("; write {meant}")), "{why}");
            for meant in meant.split(" and ") {
                assert_eq!(said(meant, Verdict::Deny).map(|_| ()), Ok(()), "{text}: {meant}");
            }
        }
        for verdict in [Verdict::Deny, Verdict::Allow] {
            let why = said("write(a )", verdict).unwrap_err();
            assert!(why.ends_with(r#"; write write(a) or write("a ")"#), "{why}");
            assert_eq!(said(r#"write("a ")"#, verdict).map(|_| ()), Ok(()));
        }
        // An empty variable of a script allows nothing.
        let empty = [("bash()", "bash"), ("bash(:*)", "bash"), ("*( )", "*"), ("write()", "write")];
        for (text, meant) in empty {
            let why = said(text, Verdict::Allow).unwrap_err();
            assert!(why.ends_with(&format!("; write {meant}")), "{why}");
            assert!(said(text, Verdict::Deny).is_ok(), "{text}");
        }
        let why = said("write(src/[a-z]*)", Verdict::Allow).unwrap_err();
        assert!(why.ends_with(r"; write write(src/\[a-z]*)"), "{why}");
        for text in [
            r"write(\**/x)",
            r"write(src/\[ab)",
            r"write(a\\b)",
            r"write(a\, b)",
            "write(src/)",
            "write(\"src/**\")",
            "write(don't)",
            "write(src/[a-z]*)",
            "write(src/[id]/**)",
            "bash(find . -exec rm {} \\;)",
        ] {
            assert!(said(text, Verdict::Deny).is_ok(), "{text}");
        }
    }
}

//! What a command line would do to protected files that it names, said before it runs.
//!
//! The walls look at what it did (`protected.rs`), whatever it named; nothing is decided by this.

use tenon_sandbox::{EntryKind, Workspace};

use super::{WRITE_FILE, protected::is_for_rules, text_file::write_action};
use crate::policy::{
    Action, Decision, Leaves, Mode, NamedWrite, Places, Rules, Verdict, WriteKind, decide,
    in_one_line, named_writes,
};

/// Returns what becomes of what a command line inside walls writes to the protected files that its words
/// name, once each: asked about when it is over, or refused where no rule opens them to commands.
/// Nothing of files that rules let it write, of folders, and of what its words do not say.
///
/// ```
/// use tenon_agent::{Mode, Places, Rules, Verdict, protected_writes};
/// use tenon_sandbox::Workspace;
///
/// # let folder = std::env::temp_dir().join(format!("tenon-example-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let workspace = Workspace::open(&folder)?;
/// let root = workspace.root().display().to_string();
/// let places = Places { roots: vec![root.clone()], cwd: root, ..Places::default() };
/// let rules = Rules::default();
/// let verdicts = |line: &str| -> Vec<Verdict> {
///     let found = protected_writes(line, &workspace, &rules, Mode::Auto, &places);
///     found.into_iter().map(|decision| decision.verdict).collect()
/// };
/// assert_eq!(verdicts("echo 'use nix' > .envrc"), [Verdict::Ask]);
/// assert_eq!(verdicts("echo make | tee .git/hooks/pre-commit"), [Verdict::Deny]);
/// assert_eq!(verdicts("echo a > notes.txt"), []);
/// # std::fs::remove_dir(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn protected_writes(
    line: &str,
    workspace: &Workspace,
    rules: &Rules,
    mode: Mode,
    places: &Places,
) -> Vec<Decision> {
    let mut seen = Vec::new();
    let foreseen = |write: NamedWrite| {
        let decision = of_write(&write, workspace, rules, mode, places)?;
        let is_new = !seen.contains(&decision.reason);
        seen.push(decision.reason.clone());
        is_new.then_some(decision)
    };
    named_writes(line, places).into_iter().filter_map(foreseen).collect()
}

fn of_write(
    write: &NamedWrite,
    workspace: &Workspace,
    rules: &Rules,
    mode: Mode,
    places: &Places,
) -> Option<Decision> {
    // Links lead where the command writes.
    let mut place = workspace.locate(&write.path).ok()?;
    let is_folder = place.kind == Some(EntryKind::Directory);
    match (&write.inside, write.kind) {
        (Some(inside), _) if is_folder => place = workspace.locate(inside).ok()?,
        (_, WriteKind::Made) => return None,
        (_, WriteKind::Perhaps) if is_folder || place.kind.is_none() => return None,
        (_, WriteKind::Changed | WriteKind::Removed) if is_folder => return None,
        _ => {}
    }
    let is_there = place.kind.is_some();
    let path = place.absolute.to_str().filter(|_| place.protected && !place.in_toolchain)?;
    let action = write_action(path, workspace);
    let Action::Write { path: shown, .. } = &action else { return None };
    let shown = match write.kind {
        WriteKind::Filled => format!("{}/…", in_one_line(shown)),
        _ => in_one_line(shown),
    };
    let decision = decide(WRITE_FILE, &action, rules, mode, places);
    if decision.verdict == Verdict::Deny {
        return Some(decision);
    }
    if write.kind == WriteKind::Removed {
        let reason =
            format!("`{shown}` is protected: the command cannot remove it, or it is put back");
        return is_there.then(|| Decision { reason, ..closed(decision) });
    }
    if !is_for_rules(path, &action, workspace) {
        let reason = format!(
            "`{shown}` is protected, and no rule opens it to commands: they cannot write it, or what they \
             write is put back"
        );
        return Some(Decision { reason, ..closed(decision) });
    }
    let reason = match decision.verdict {
        _ if write.kind == WriteKind::Filled => {
            // Only rules for the names that are written would let it stay.
            let reason = format!(
                "`{shown}` is protected: what the command writes there is put back, and you are asked \
                 whether it stays"
            );
            let decision = Decision { verdict: Verdict::Ask, ..closed(decision) };
            return Some(Decision { reason, ..decision });
        }
        Verdict::Allow => return None,
        Verdict::Ask if is_there => format!(
            "`{shown}` is protected: the command cannot write it, or what it writes is put back and you are \
             asked whether it stays"
        ),
        Verdict::Ask | Verdict::Deny => format!(
            "`{shown}` is protected: what the command writes there is put back, and you are asked whether \
             it stays"
        ),
    };
    Some(Decision { reason, ..decision })
}

/// The same decision as of something that nobody is asked about.
fn closed(decision: Decision) -> Decision {
    Decision {
        verdict: Verdict::Deny,
        rule: "built-in: protected file".into(),
        flag: None,
        lifted_by: Vec::new(),
        always: None,
        leaves: Some(Leaves::ProtectedFile),
        ..decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        policy::{Origin, Rule},
        tools::testing::Bench,
    };

    #[test]
    fn what_becomes_of_a_protected_file_depends_on_its_name_and_the_rules() {
        let bench = Bench::new();
        let workspace = &bench.context.workspace;
        let root = workspace.root().display().to_string();
        let places = Places { roots: vec![root.clone()], cwd: root, ..Places::default() };
        let check = |line: &str, rule: Option<(&str, Verdict)>, expected: &[(Verdict, &str)]| {
            let rules = rule.map(|(rule, verdict)| Rule::parse(rule, verdict, Origin::Config));
            let rules: Rules = rules.into_iter().map(Result::unwrap).collect();
            let found = protected_writes(line, workspace, &rules, Mode::Auto, &places);
            let found: Vec<_> = found.iter().map(|it| (it.verdict, it.reason.as_str())).collect();
            assert_eq!(found.len(), expected.len(), "{line}: {found:?}");
            for ((verdict, reason), (known, start)) in found.into_iter().zip(expected) {
                assert!(verdict == *known && reason.starts_with(start), "{line}: {reason}");
            }
        };
        let ask = (Verdict::Ask, "`.envrc` is protected: what the command writes");
        check("cat > .envrc; tee .envrc", None, &[ask]);
        bench.put(".envrc", "");
        let there = [(Verdict::Ask, "`.envrc` is protected: the command cannot")];
        check("cat > .envrc", None, &there);
        check("cat > .envrc", Some(("write_file(.envrc)", Verdict::Allow)), &[]);
        let denied = [(Verdict::Deny, "the rule write(.envrc) forbids it")];
        check("tee .envrc", Some(("write(.envrc)", Verdict::Deny)), &denied);
        let closed = |path: &str| format!("`{path}` is protected, and no rule opens it");
        for path in [".git/config", ".tenon/config.toml"] {
            check(&format!("tee {path}"), None, &[(Verdict::Deny, &closed(path))]);
        }
        std::os::unix::fs::symlink(".envrc", bench.root().join("link")).unwrap();
        check("echo >> link; tee .envrc", None, &there);
        check("cat .envrc > notes.txt; cd $x && echo > .envrc", None, &[]);
        bench.put("a", "");
        check("cp .envrc backup.env; touch -r .envrc a; sed -i s/x/.envrc/ a", None, &[]);
        bench.put("sub/x", "");
        check("cp .envrc sub", None, &[(Verdict::Ask, "`sub/.envrc` is protected: what")]);
        let filled = (Verdict::Ask, "`.vscode/…` is protected: what the command writes");
        check("mkdir .vscode && tar xf a -C .vscode; unzip a -d .vscode", None, &[filled]);
        check("tar xf a; git apply a", None, &[]);
        let removed = (Verdict::Deny, "`.envrc` is protected: the command cannot remove it");
        check("mv .envrc a; rm .envrc; rm .mcp.json", None, &[removed]);
        let in_one_line = (Verdict::Ask, "`.idea/a␊b` is protected: what the command");
        check("tee '.idea/a\nb'", None, &[in_one_line]);
    }
}

//! What people are told of commands in the background, in lines, known secrets by name.

use tenon_agent::Sandbox;
use tenon_model::visible;
use tenon_sandbox::JobStatus;

use crate::{
    masked::masked,
    texts::{Language, Text, summary, translated},
};

/// The most characters of a command in a line about it.
const SCRIPT_CHARS_MAX: usize = 60;

/// Returns what runs, in one line for the end of a turn; nothing if nothing runs.
pub(crate) fn running(jobs: &[JobStatus], language: Language) -> Option<String> {
    in_one_line(jobs, Text::JobRunning, Text::JobsRunning, language)
}

/// Returns what a program of the person's own runs beside, in one line; nothing if nothing runs. What was written at
/// protected names until now is put back.
pub(crate) fn beside(sandbox: &Sandbox, language: Language) -> Option<String> {
    let (runs, jobs) = (sandbox.runs_beside(), sandbox.jobs().running());
    let named = in_one_line(&jobs, Text::BesideJobs, Text::BesideJobs, language);
    named.or_else(|| runs.then(|| format!("{}\n", Text::BesideCommand.template(language))))
}

/// Returns what was ended with the session, in one line, what each of them had changed, and what was put
/// back then.
pub(crate) fn ended(jobs: &[JobStatus], language: Language) -> Option<String> {
    let mut said = in_one_line(jobs, Text::JobEnded, Text::JobsEnded, language)?;
    for job in jobs {
        let Some(end) = &job.end else { continue };
        let changes = end.changes.as_ref().map(|changes| masked(changes.summary()));
        if let Some(changes) = changes.filter(|changes| !changes.is_empty()) {
            said.push_str(&format!("{}: {}\n", job.id, visible(&summary(&changes, language))));
        }
        said.extend(
            end.protected
                .iter()
                .map(|change| format!("{}\n", visible(&translated(&change.to_string(), language)))),
        );
    }
    Some(said)
}

/// Returns a line for each job that runs.
pub(crate) fn list(jobs: &[JobStatus], language: Language) -> String {
    if jobs.is_empty() {
        return format!("{}\n", Text::NoJobs.template(language));
    }
    let line = |job: &JobStatus| {
        let time = Text::Seconds.say(language, &[("s", &job.duration.as_secs())]);
        format!("{} ({time})\n", named(job))
    };
    jobs.iter().map(line).collect()
}

fn in_one_line(jobs: &[JobStatus], one: Text, several: Text, language: Language) -> Option<String> {
    let text = match jobs {
        [] => return None,
        [_] => one,
        _ => several,
    };
    let named: Vec<String> = jobs.iter().map(named).collect();
    let said = text.say(language, &[("n", &jobs.len()), ("jobs", &named.join(", "))]);
    Some(format!("{said}\n"))
}

fn named(job: &JobStatus) -> String {
    // Masked before it is cut, so that no cut goes through a value.
    let script = masked(job.script.split_whitespace().collect::<Vec<_>>().join(" "));
    let cut: String = visible(&script).chars().take(SCRIPT_CHARS_MAX).collect();
    let dots = if script.chars().nth(SCRIPT_CHARS_MAX).is_some() { "…" } else { "" };
    format!("{} {cut}{dots}", job.id)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenon_sandbox::JobId;

    use super::*;

    #[test]
    fn jobs_are_told_in_one_line_and_listed_in_several() {
        let job = |id, script: &str| JobStatus {
            id: JobId(id),
            script: script.into(),
            duration: Duration::from_secs(7),
            end: None,
        };
        let jobs = [job(1, "npm\n run dev\u{1b}[2J"), job(3, &"x".repeat(70))];
        let said = running(&jobs[..1], Language::English).unwrap();
        assert_eq!(said, "1 job is running in the background: 1 npm run dev␛[2J\n");
        let said = ended(&jobs, Language::English).unwrap();
        let expected = format!(
            "2 jobs were still running and were ended: 1 npm run dev␛[2J, 3 {}…\n",
            "x".repeat(60)
        );
        assert_eq!(said, expected);
        let said = list(&jobs[..1], Language::Chinese);
        assert_eq!(said, "1 npm run dev␛[2J (7 秒)\n");
        assert_eq!(running(&[], Language::English), None);
    }
}

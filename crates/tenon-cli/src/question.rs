//! The plain question: what exactly would run, why it is asked, what would stop asking.
//!
//! What was typed before the question stood there is no answer to it and is thrown away. Enter
//! alone is no yes.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{QueueSelector, tcflush},
};
use tenon_agent::{Answer, Question};
use tenon_model::visible;

use crate::{
    screen::Screen,
    texts::{Language, Text},
};

/// The longest answer that is read; a terminal gives at most 4,096 bytes of a line.
const ANSWER_BYTES_MAX: usize = 4_096;
/// How often it is looked whether there is an answer: a person does not notice the wait.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// Returns whether a person can be asked on `screen`: both ends are terminals.
pub(crate) fn can_ask(screen: &Screen) -> bool {
    io::stdin().is_terminal() && screen.sink().is_terminal()
}

/// Asks until there is a yes or a no. Dropping the future takes the question back.
pub(crate) async fn ask(question: &Question, screen: &Screen) -> Answer {
    let language = screen.language();
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    screen.say(&wording(question, language));
    loop {
        match read_line().await {
            Ok(Some(line)) => match parse(&line).filter(|answer| is_offered(answer, question)) {
                Some(answer) => return answer,
                None => screen.say(Text::AskAgain.template(language)),
            },
            // Ctrl-D is no yes either.
            Ok(None) => {
                screen.say("\n");
                return Answer::Deny(None);
            }
            Err(_) => return Answer::Nobody,
        }
    }
}

fn wording(question: &Question, language: Language) -> String {
    let mut said = match question.tool.as_str() {
        "bash" => Text::AskRun.template(language).to_owned(),
        "host" => Text::AskReach.template(language).to_owned(),
        tool => Text::AskUse.say(language, &[("tool", &visible(tool))]),
    };
    said.push('\n');
    for line in visible(&question.subject).lines() {
        said.push_str(&format!("    {line}\n"));
    }
    let decision = &question.decision;
    let reason = decision.reason.trim_end_matches('.');
    let (reason, rule) = (visible(reason), visible(&decision.rule));
    said.push_str(&Text::AskWhy.say(language, &[("reason", &reason), ("rule", &rule)]));
    said.push('\n');
    if decision.unconfined {
        said.push_str(Text::AskUnconfined.template(language));
        said.push('\n');
    }
    if let Some(flag) = &decision.flag {
        said.push_str(&Text::AskFlag.say(language, &[("flag", &visible(flag))]));
        said.push('\n');
    }
    if is_offered(&Answer::AllowForSession, question) {
        let rules: Vec<_> = decision.lifted_by.iter().map(ToString::to_string).collect();
        let rules = visible(&rules.join(", ")).into_owned();
        said.push_str(&Text::AskSession.say(language, &[("rules", &rules)]));
        said.push('\n');
    }
    let prompt = if question.tool == "host" { Text::AskReachPrompt } else { Text::AskPrompt };
    said + prompt.template(language)
}

/// A yes for the session needs rules that say what it is for; a way out of the walls is given once.
fn is_offered(answer: &Answer, question: &Question) -> bool {
    let lasting = !question.decision.lifted_by.is_empty() && !question.decision.unconfined;
    *answer != Answer::AllowForSession || lasting
}

/// Returns what `line` answers, if it does.
fn parse(line: &str) -> Option<Answer> {
    let line = line.trim();
    let (word, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let words = words.trim();
    match word.to_lowercase().as_str() {
        "y" | "yes" | "是" if words.is_empty() => Some(Answer::Allow),
        "s" | "session" | "会话" if words.is_empty() => Some(Answer::AllowForSession),
        "n" | "no" | "否" if words.is_empty() => Some(Answer::Deny(None)),
        "n" | "no" | "否" => Some(Answer::Deny(Some(words.to_owned()))),
        _ => None,
    }
}

/// Reads one line from the terminal; `None` at the end of input.
///
/// Looks again and again instead of waiting in a thread, which would go on reading, and take the
/// next line from the prompt, after the question was taken back.
async fn read_line() -> io::Result<Option<String>> {
    let stdin = io::stdin();
    // A terminal is readable once a whole line is there, so the read below does not wait.
    while !is_readable(&stdin)? {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let mut bytes = vec![0; ANSWER_BYTES_MAX];
    let read = rustix::io::read(&stdin, &mut bytes)?;
    bytes.truncate(read);
    Ok((read > 0).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

fn is_readable(stdin: &io::Stdin) -> io::Result<bool> {
    let mut polled = [PollFd::new(stdin, PollFlags::IN)];
    Ok(poll(&mut polled, Some(&Timespec::default()))? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        let no = |words: &str| Some(Answer::Deny(Some(words.to_owned())));
        let cases = [
            ("y\n", Some(Answer::Allow)),
            (" YES ", Some(Answer::Allow)),
            ("是", Some(Answer::Allow)),
            ("n", Some(Answer::Deny(None))),
            ("no use npm instead", no("use npm instead")),
            ("n 用 npm", no("用 npm")),
            ("\n", None),
            ("", None),
            ("s", Some(Answer::AllowForSession)),
            ("s please", None),
            ("y but only once", None),
            ("yy", None),
            ("q", None),
        ];
        for (line, expected) in cases {
            assert_eq!(parse(line), expected, "{line:?}");
        }
    }
}

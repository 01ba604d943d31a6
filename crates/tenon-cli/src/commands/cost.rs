//! `tenon cost ID`: the cache ledger.

use jiff::tz::TimeZone;
use serde::Serialize;
use tenon_agent::{Prefix, RequestCost, Spending, list_sessions, read_session, request_costs};
use tenon_model::{Usage, visible};

use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    json,
    print::print,
    render::measure::width,
    resume::unreadable,
    texts::{Language, Text, translated},
    which_session::{find, timestamp},
};

/// Show what each request of a session cost, and what the provider's cache held of it
#[derive(Debug, clap::Args)]
pub(crate) struct Cost {
    /// The session's id or its beginning, its name, or `last`, the newest
    #[arg(value_name = "ID")]
    id: String,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Ledger<'a> {
    session: &'a str,
    requests: Vec<Row>,
    usage: Usage,
    /// US dollars; null if the price of a request is not known.
    cost: Option<f64>,
}

#[derive(Serialize)]
struct Row {
    time: String,
    model: String,
    /// Null if no reply came.
    usage: Option<Usage>,
    cost: Option<f64>,
    /// `first`, `kept`, `broken` or `missed`.
    prefix: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_by: Option<String>,
    /// Tokens that the cache had before the prefix was broken, and that were billed again.
    #[serde(skip_serializing_if = "Option::is_none")]
    rebilled_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed_tokens: Option<u64>,
}

impl Cost {
    pub(super) fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let folder = config.folders.sessions();
        let sessions = list_sessions(&folder).map_err(unreadable)?;
        let id = &find(&self.id, &sessions)?.id;
        let requests = request_costs(&read_session(&folder, id).map_err(unreadable)?);
        let spending = Spending::of(&requests);
        let (usage, cost) = (spending.usage(), spending.cost());
        if self.json {
            let requests = requests.iter().map(row).collect();
            let json = json::pretty(&Ledger { session: id, requests, usage, cost })?;
            print(&(json + "\n"))?;
        } else {
            print(&table(&requests, &usage, cost, config.look().language))?;
        }
        Ok(ExitStatus::Finished)
    }
}

fn table(requests: &[RequestCost], usage: &Usage, cost: Option<f64>, language: Language) -> String {
    let [when, new, cached, written, out] =
        [Text::CostTime, Text::CostNew, Text::CostCached, Text::CostWritten, Text::CostOut]
            .map(|text| text.template(language));
    let mut text = columns(["", when, new, cached, written, out, "USD"], "");
    for (number, request) in requests.iter().enumerate() {
        let time = timestamp(request.time_ms).to_zoned(TimeZone::system()).strftime("%H:%M:%S");
        let number = (number + 1).to_string();
        let time = time.to_string();
        let said = said(&request.prefix, language);
        text.push_str(&match &request.usage {
            Some(used) => tokens([&number, &time], used, request.cost, &said),
            None => {
                let none = Text::CostNoReply.template(language);
                columns([&number, &time, "-", "-", "-", "-", "-"], &format!("{none} {said}"))
            }
        });
    }
    text + &tokens([Text::CostAll.template(language), ""], usage, cost, "")
}

fn tokens(first: [&str; 2], usage: &Usage, cost: Option<f64>, said: &str) -> String {
    let [number, time] = first;
    let counts = [usage.input, usage.cache_read, usage.cache_write, usage.output];
    let [new, cached, written, out] = counts.map(|count| count.to_string());
    let cost = cost.map_or_else(|| "?".to_owned(), |cost| format!("{cost:.4}"));
    columns([number, time, &new, &cached, &written, &out, &cost], said)
}

fn columns(cells: [&str; 7], said: &str) -> String {
    let [number, time, numbers @ ..] = cells;
    let mut line = format!("{}{number}  {time}{}", blanks(number, 4), blanks(time, 8));
    for (cell, columns) in numbers.into_iter().zip([9, 9, 9, 7, 9]) {
        line.push_str(&format!("  {}{cell}", blanks(cell, columns)));
    }
    format!("{}\n", visible(format!("{line}  {said}").trim_end()))
}

/// Returns what fills `cell` up to so many columns; a Chinese character takes two.
fn blanks(cell: &str, columns: usize) -> String {
    " ".repeat(columns.saturating_sub(width(cell)))
}

fn said(prefix: &Prefix, language: Language) -> String {
    match prefix {
        Prefix::First | Prefix::Kept => String::new(),
        Prefix::Broken { by, tokens: 0 } => translated(by, language).into_owned(),
        Prefix::Broken { by, tokens } => {
            let why = translated(by, language);
            Text::CostRebilled.say(language, &[("why", &why), ("tokens", tokens)])
        }
        Prefix::Missed { tokens, after_ms } => {
            let seconds = after_ms.div_ceil(1_000);
            Text::CostMissedAfter.say(language, &[("tokens", tokens), ("s", &seconds)])
        }
    }
}

fn row(request: &RequestCost) -> Row {
    let (prefix, broken_by, rebilled_tokens, missed_tokens) = match &request.prefix {
        Prefix::First => ("first", None, None, None),
        Prefix::Kept => ("kept", None, None, None),
        Prefix::Broken { by, tokens } => ("broken", Some(by.clone()), Some(*tokens), None),
        Prefix::Missed { tokens, .. } => ("missed", None, None, Some(*tokens)),
    };
    Row {
        time: timestamp(request.time_ms).to_string(),
        model: request.model.clone(),
        usage: request.usage,
        cost: request.cost,
        prefix,
        broken_by,
        rebilled_tokens,
        missed_tokens,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_stands_under_its_name() {
        let usage = Usage { input: 11, cache_read: 2_222, cache_write: 333, output: 44_444 };
        let prefix = Prefix::Broken { by: "the tools changed".into(), tokens: 300 };
        let (time_ms, model) = (0, "x/a".to_owned());
        let request = RequestCost { time_ms, model, usage: Some(usage), cost: Some(0.5), prefix };
        let all = Usage { input: 12, cache_read: 2_223, cache_write: 334, output: 44_445 };
        let text = table(std::slice::from_ref(&request), &all, Some(0.75), Language::English);
        let lines: Vec<&str> = text.lines().collect();
        // Cells are at the right of their columns; what is said stands behind the last one.
        let cell = |line: usize, name: &str| {
            let end = lines[0].find(&format!(" {name}")).unwrap() + name.len() + 1;
            lines[line][..end].rsplit(' ').next().unwrap().to_owned()
        };
        let names = ["new", "cached", "written", "out", "USD"];
        let row = |line| names.map(|name| cell(line, name));
        assert_eq!(row(1), ["11", "2222", "333", "44444", "0.5000"], "{text}");
        assert_eq!(row(2), ["12", "2223", "334", "44445", "0.7500"], "{text}");
        assert!(lines[1].ends_with("  the tools changed (300 tokens billed again)"), "{text}");
        let json = serde_json::to_value(super::row(&request)).unwrap();
        let expected = serde_json::json!({"prefix": "broken", "broken_by": "the tools changed", "rebilled_tokens": 300,
            "usage": {"input": 11, "cache_read": 2_222, "cache_write": 333, "output": 44_444},
            "model": "x/a", "cost": 0.5, "time": "1970-01-01T00:00:00Z"});
        assert_eq!(json, expected);
    }

    #[test]
    fn each_request_is_a_line_and_what_went_wrong_stands_behind_it() {
        let usage = |input, cache_read| Usage { input, cache_read, cache_write: 7, output: 3 };
        let request = |usage, cost, prefix| RequestCost {
            time_ms: 0,
            model: "x/a".into(),
            usage,
            cost,
            prefix,
        };
        let by = "the tools changed".to_owned();
        let requests = [
            request(Some(usage(100, 0)), Some(0.5), Prefix::First),
            request(Some(usage(5, 100)), Some(0.25), Prefix::Broken { by, tokens: 107 }),
            request(None, None, Prefix::Kept),
            request(Some(usage(5, 0)), None, Prefix::Missed { tokens: 107, after_ms: 400_000 }),
        ];
        let text = table(&requests, &usage(110, 100), None, Language::English);
        let ends =
            ["USD", "0.5000", "changed (107 tokens billed again)", "no reply", "after 400 s", "?"];
        for (line, end) in text.lines().zip(ends) {
            assert!(line.ends_with(end), "{end}: {text}");
        }
        assert_eq!(text.lines().count(), ends.len());
        let chinese = table(&requests, &usage(110, 100), None, Language::Chinese);
        assert!(chinese.contains("没有回复\n") && chinese.ends_with("?\n"), "{chinese}");
        let right = |line: &str| line.find("  USD").map(|at| width(&line[..at]));
        let edges: Vec<_> =
            [&text, &chinese].map(|text| text.lines().next().and_then(right)).into();
        assert_eq!(edges[0], edges[1], "{chinese}");
        let unanswered = Spending::of(&requests[2..3]).cost();
        let text = table(&requests[2..3], &Usage::default(), unanswered, Language::English);
        assert!(text.ends_with(" 0.0000\n") && Spending::of(&requests).cost().is_none(), "{text}");
    }
}

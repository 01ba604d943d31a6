//! `tenon cost ID`: the cache ledger.

use jiff::tz::TimeZone;
use serde::Serialize;
use tenon_agent::{Prefix, RequestCost, list_sessions, read_session, request_costs};
use tenon_model::{Usage, visible};

use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    print::print,
    resume::unreadable,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    missed_tokens: Option<u64>,
}

impl Cost {
    pub(super) fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let folder = config.folders.sessions();
        let sessions = list_sessions(&folder).map_err(unreadable)?;
        let id = &find(&self.id, &sessions)?.id;
        let requests = request_costs(&read_session(&folder, id).map_err(unreadable)?);
        let mut usage = Usage::default();
        requests.iter().filter_map(|request| request.usage).for_each(|used| usage += used);
        let answered = requests.iter().filter(|request| request.usage.is_some());
        let cost: Option<f64> = answered.map(|request| request.cost).sum();
        let cost = cost.filter(|_| !requests.is_empty());
        if self.json {
            let requests = requests.iter().map(row).collect();
            let json = serde_json::to_string_pretty(&Ledger { session: id, requests, usage, cost })
                .map_err(|error| CliError::failed("not JSON").with_source(error))?;
            print(&(json + "\n"))?;
        } else {
            print(&table(&requests, &usage, cost))?;
        }
        Ok(ExitStatus::Finished)
    }
}

fn table(requests: &[RequestCost], usage: &Usage, cost: Option<f64>) -> String {
    let mut text = columns(["", "time", "new", "cached", "written", "out", "USD"], "");
    for (number, request) in requests.iter().enumerate() {
        let time = timestamp(request.time_ms).to_zoned(TimeZone::system()).strftime("%H:%M:%S");
        let number = (number + 1).to_string();
        let time = time.to_string();
        let said = said(&request.prefix);
        text.push_str(&match &request.usage {
            Some(used) => tokens([&number, &time], used, request.cost, &said),
            None => columns([&number, &time, "-", "-", "-", "-", "-"], &format!("no reply {said}")),
        });
    }
    text + &tokens(["all", ""], usage, cost, "")
}

fn tokens(first: [&str; 2], usage: &Usage, cost: Option<f64>, said: &str) -> String {
    let [number, time] = first;
    let counts = [usage.input, usage.cache_read, usage.cache_write, usage.output];
    let [new, cached, written, out] = counts.map(|count| count.to_string());
    let cost = cost.map_or_else(|| "?".to_owned(), |cost| format!("{cost:.4}"));
    columns([number, time, &new, &cached, &written, &out, &cost], said)
}

fn columns(cells: [&str; 7], said: &str) -> String {
    let [number, time, new, cached, written, out, cost] = cells;
    let line = format!(
        "{number:>4}  {time:<8}  {new:>9}  {cached:>9}  {written:>9}  {out:>7}  {cost:>9}  {said}"
    );
    format!("{}\n", visible(line.trim_end()))
}

fn said(prefix: &Prefix) -> String {
    match prefix {
        Prefix::First | Prefix::Kept => String::new(),
        Prefix::Broken { by } => by.clone(),
        Prefix::Missed { tokens, after_ms } => format!(
            "the provider's cache was missed: {tokens} tokens, after {} s",
            after_ms.div_ceil(1_000)
        ),
    }
}

fn row(request: &RequestCost) -> Row {
    let (prefix, broken_by, missed_tokens) = match &request.prefix {
        Prefix::First => ("first", None, None),
        Prefix::Kept => ("kept", None, None),
        Prefix::Broken { by } => ("broken", Some(by.clone()), None),
        Prefix::Missed { tokens, .. } => ("missed", None, Some(*tokens)),
    };
    Row {
        time: timestamp(request.time_ms).to_string(),
        model: request.model.clone(),
        usage: request.usage,
        cost: request.cost,
        prefix,
        broken_by,
        missed_tokens,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            request(Some(usage(5, 100)), Some(0.25), Prefix::Broken { by }),
            request(None, None, Prefix::Kept),
            request(Some(usage(5, 0)), None, Prefix::Missed { tokens: 107, after_ms: 400_000 }),
        ];
        let text = table(&requests, &usage(110, 100), None);
        let ends = ["USD", "0.5000", "the tools changed", "no reply", "after 400 s", "?"];
        for (line, end) in text.lines().zip(ends) {
            assert!(line.ends_with(end), "{end}: {text}");
        }
        assert_eq!(text.lines().count(), ends.len());
    }
}

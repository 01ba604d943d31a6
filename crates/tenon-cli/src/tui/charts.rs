//! What fills the model's window, and what a session cost, as rows. Pure.

use tenon_agent::{Prefix, RequestCost, Spending, WindowUse};

use super::line::{Line, Wrap};
use crate::{
    render::{Meaning, grouped, measure, money},
    texts::{Language, Text, translated},
};

/// Columns of the longest bar.
const BAR_COLUMNS_MAX: usize = 40;
/// Requests whose cache was lost that are named; `tenon cost` has all.
const LOSSES_MAX: usize = 5;

/// Draws how much of the window each part takes.
pub(crate) fn window(now: &WindowUse, columns: usize, language: Language) -> Vec<Line> {
    let percent = |tokens: u64| tokens * 100 / now.window.max(1);
    let (used, window) = (grouped(now.used()), grouped(now.window));
    let values: [(&str, &dyn std::fmt::Display); 3] =
        [("used", &used), ("window", &window), ("n", &percent(now.used()))];
    let none = Line::default();
    let head = Line::of(Meaning::Name, &Text::ContextHead.say(language, &values));
    let mut rows = head.wrapped(columns, Wrap::Words, &none, &none);
    let parts = [
        (Text::PartSystem, now.system),
        (Text::PartTools, now.tools),
        (Text::PartInstructions, now.instructions),
        (Text::PartPrompts, now.prompts),
        (Text::PartReplies, now.replies),
        (Text::PartResults, now.results),
        (Text::PartFree, now.free()),
    ];
    let names = parts.iter().map(|(name, _)| measure::width(name.template(language)));
    let name_columns = names.max().unwrap_or(0);
    let counts = parts.map(|(_, tokens)| grouped(tokens));
    let count_columns = counts.iter().map(String::len).max().unwrap_or(0);
    let bar_columns = columns.saturating_sub(name_columns + count_columns + 9).min(BAR_COLUMNS_MAX);
    for ((name, tokens), count) in parts.iter().zip(&counts) {
        let name = name.template(language);
        let space = " ".repeat(name_columns - measure::width(name));
        let mut row = Line::plain(&format!("{name}{space}  "));
        row.push(Meaning::Name, &format!("{count:>count_columns$}"));
        row.push(Meaning::Aside, &format!(" {:>3} % ", percent(*tokens)));
        let filled = bar_length(*tokens, now.window, bar_columns);
        row.push(Meaning::Hint, &"█".repeat(filled));
        rows.push(row.cut(columns));
    }
    rows
}

/// Returns the columns of a bar; what there is has at least one.
fn bar_length(tokens: u64, window: u64, columns: usize) -> usize {
    if tokens == 0 {
        return 0;
    }
    let all = u128::try_from(columns).unwrap_or(0);
    let length = u128::from(tokens) * all / u128::from(window.max(1));
    usize::try_from(length).unwrap_or(columns).clamp(1, columns.max(1))
}

/// Draws what the requests of a session cost, and what became of the provider's cache.
pub(crate) fn costs(requests: &[RequestCost], columns: usize, language: Language) -> Vec<Line> {
    let spending = Spending::of(requests);
    if requests.is_empty() {
        return vec![Line::plain(Text::NoRequests.template(language))];
    }
    let cost = spending.cost().map_or_else(|| Text::NoPrice.template(language).to_owned(), money);
    let head = Text::CostHead.say(language, &[("n", &requests.len()), ("cost", &cost)]);
    let usage = spending.usage();
    let counts = [usage.input, usage.cache_read, usage.cache_write, usage.output].map(grouped);
    let [new, cached, written, out] = &counts;
    let tokens = Text::CostTokens
        .say(language, &[("new", new), ("cached", cached), ("written", written), ("out", out)]);
    let mut lines = vec![Line::of(Meaning::Name, &head), Line::plain(&tokens)];
    let losses: Vec<Line> = requests
        .iter()
        .enumerate()
        .filter_map(|(place, request)| loss(place + 1, request, language))
        .collect();
    let more = losses.len().saturating_sub(LOSSES_MAX);
    lines.extend(losses.into_iter().skip(more));
    if more > 0 {
        let said = Text::MoreFiles.say(language, &[("n", &more)]);
        lines.push(Line::of(Meaning::Aside, &said));
    }
    let none = Line::default();
    lines.iter().flat_map(|line| line.wrapped(columns, Wrap::Words, &none, &none)).collect()
}

/// Returns why the provider's cache did not hold what was sent before, if it did not.
fn loss(number: usize, request: &RequestCost, language: Language) -> Option<Line> {
    let why = match &request.prefix {
        Prefix::First | Prefix::Kept => return None,
        Prefix::Broken { by, tokens: 0 } => translated(by, language).into_owned(),
        Prefix::Broken { by, tokens } => {
            let (why, tokens) = (translated(by, language), grouped(*tokens));
            Text::CostRebilled.say(language, &[("why", &why), ("tokens", &tokens)])
        }
        Prefix::Missed { tokens, .. } => {
            Text::CostMissed.say(language, &[("tokens", &grouped(*tokens))])
        }
    };
    let said = Text::CostBroken.say(language, &[("n", &number), ("why", &why)]);
    Some(Line::of(Meaning::Warning, &said))
}

#[cfg(test)]
mod tests {
    use tenon_model::Usage;

    use super::*;

    fn text(rows: &[Line]) -> String {
        rows.iter().map(|row| row.text() + "\n").collect()
    }

    #[test]
    fn the_bars_fit_the_screen_and_nothing_that_is_there_has_none() {
        let now = WindowUse {
            system: 420,
            tools: 1_150,
            instructions: 0,
            prompts: 9,
            replies: 20_000,
            results: 78_421,
            window: 200_000,
        };
        for language in [Language::English, Language::Chinese] {
            for columns in [24, 40, 80, 200] {
                let rows = window(&now, columns, language);
                assert!(rows.iter().all(|row| row.width() <= columns), "{}", text(&rows));
            }
        }
        insta::assert_snapshot!("window_40", text(&window(&now, 40, Language::English)));
        insta::assert_snapshot!("window_80", text(&window(&now, 80, Language::Chinese)));
        let full = WindowUse { results: 300, window: 100, ..WindowUse::default() };
        assert!(text(&window(&full, 40, Language::English)).contains("300 300 % ███"));
    }

    #[test]
    fn costs_are_summed_up_and_what_the_cache_lost_is_named() {
        let request = |prefix, cost, cache_read| RequestCost {
            time_ms: 0,
            model: "m".into(),
            usage: Some(Usage { input: 1_000, output: 20, cache_read, cache_write: 5 }),
            cost,
            prefix,
        };
        let by = "the model changed from a/b to c/d".to_owned();
        let requests = [
            request(Prefix::First, Some(0.25), 0),
            request(Prefix::Kept, Some(0.25), 900),
            request(Prefix::Broken { by, tokens: 1_005 }, Some(0.5), 0),
            request(Prefix::Missed { tokens: 4_096, after_ms: 400_000 }, Some(0.0), 0),
        ];
        insta::assert_snapshot!("costs_80", text(&costs(&requests, 80, Language::English)));
        insta::assert_snapshot!("costs_40", text(&costs(&requests, 40, Language::Chinese)));
        let unknown = text(&costs(&[request(Prefix::First, None, 0)], 80, Language::English));
        assert!(unknown.contains("not known"), "{unknown}");
        assert_eq!(text(&costs(&[], 80, Language::English)), "Nothing was asked of a model yet.\n");
    }
}

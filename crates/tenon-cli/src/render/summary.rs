//! The sentences of a turn: what is waited for, and at its end how it ended, what it used, what to do
//! about it.

use tenon_agent::{Compaction, EndReason, Receipt, Unproven, Verification};
use tenon_model::{Usage, visible};
use unicode_width::UnicodeWidthStr;

use super::{
    line::Line,
    measure,
    style::{Meaning, Style},
};
use crate::texts::{Language, Text, translated};

/// What stands between the parts of a line.
const BETWEEN: &str = " · ";

/// Columns in which less of what is waited for would say nothing.
const WAITING_COLUMNS_LEAST: usize = 4;

/// What a turn used.
pub(super) struct Used {
    pub reason: EndReason,
    pub usage: Usage,
    pub cost: Option<f64>,
    pub steps: u32,
    pub duration_ms: u64,
    pub without_walls: bool,
}

/// Returns in one row what is waited for; `text` is safe to print. That there are no walls is never cut off.
pub(super) fn waited_for(text: &str, without_walls: bool, style: &Style) -> Line {
    // The last column stays free: a full line would wrap, and only half of it be erased.
    let columns = style.width.saturating_sub(1);
    if !without_walls {
        return Line::of(Meaning::Aside, &measure::cut(text, columns).text);
    }
    let mark = Line::of(Meaning::Error, style.say(Text::StatusUnconfined));
    let room = columns.saturating_sub(BETWEEN.width() + mark.width());
    if room < WAITING_COLUMNS_LEAST {
        return mark.cut(columns);
    }
    let text = measure::cut(text, room).text;
    let mut line = Line::of(Meaning::Aside, &format!("{text}{BETWEEN}"));
    line.append(&mark);
    line
}

/// Returns how the turn ended, steps, tokens in, cached and out, time, cost where it is known, and
/// whether there were no walls: one line, or as many as a narrow terminal needs.
pub(super) fn used(used: &Used, style: &Style) -> String {
    let language = style.language;
    let (meaning, word) = match used.reason {
        EndReason::Finished => (Meaning::Done, Text::Done),
        EndReason::ProviderFailed | EndReason::LogFailed => (Meaning::Error, Text::Failed),
        _ => (Meaning::Warning, Text::Stopped),
    };
    let steps = Text::Steps.say(language, &[("n", &used.steps)]);
    let text = if used.usage.cache_read > 0 { Text::TokensCached } else { Text::Tokens };
    let tokens = text.say(
        language,
        &[
            ("input", &grouped(used.usage.input_all())),
            ("cached", &grouped(used.usage.cache_read)),
            ("output", &grouped(used.usage.output)),
        ],
    );
    let time = duration(used.duration_ms, style);
    let mut line = Line::of(meaning, style.say(word));
    let mut drawn = String::new();
    let asides = [steps, tokens, time].into_iter().chain(used.cost.map(money));
    let no_walls = used.without_walls.then(|| style.say(Text::StatusUnconfined).to_owned());
    let parts = asides.map(|part| (Meaning::Aside, part));
    for (meaning, part) in parts.chain(no_walls.map(|said| (Meaning::Error, said))) {
        // A terminal would break a word where its row ends.
        if style.redraws && line.width() + BETWEEN.width() + part.width() > style.width {
            drawn.push_str(&format!("{}\n", line.paint(style)));
            line = Line::of(meaning, &part);
        } else {
            line.push(Meaning::Aside, BETWEEN);
            line.push(meaning, &part);
        }
    }
    format!("{drawn}{}\n", line.paint(style))
}

/// Returns a failure as a sentence and what to do about it.
pub(crate) fn failure(message: &str, hint: Option<&str>, style: &Style) -> String {
    let label = style.paint(Meaning::Error, style.say(Text::ErrorLabel));
    let translated = |said| translated(said, style.language);
    let mut said = format!("{label} {}\n", visible(&translated(message.trim_end())));
    said.push_str(&hint.map(|hint| hint_line(&translated(hint), style)).unwrap_or_default());
    said
}

/// Returns what a person must not lose sight of while commands are not confined.
pub(crate) fn unconfined(style: &Style) -> String {
    format!("{}\n", style.paint(Meaning::Error, style.say(Text::Unconfined)))
}

/// Returns why a turn ended before its task did, as a sentence with a hint; empty if it finished
/// or if the failure is told elsewhere.
pub(super) fn ending(reason: EndReason, style: &Style) -> String {
    let (sentence, hint) = match reason {
        EndReason::Finished | EndReason::ProviderFailed | EndReason::LogFailed => {
            return String::new();
        }
        EndReason::OutputLimit => (Text::EndOutputLimit, Some(Text::HintOutputLimit)),
        EndReason::Refusal => (Text::EndRefusal, None),
        EndReason::StepLimit => (Text::EndStepLimit, Some(Text::HintStepLimit)),
        EndReason::CostLimit => (Text::EndCostLimit, Some(Text::HintCostLimit)),
        EndReason::TimeLimit => (Text::EndTimeLimit, Some(Text::HintTimeLimit)),
        EndReason::TokenLimit => (Text::EndTokenLimit, Some(Text::HintTokenLimit)),
        EndReason::Cancelled => (Text::EndCancelled, None),
        EndReason::LoopGuard => (Text::EndLoopGuard, Some(Text::HintLoopGuard)),
    };
    let label = style.paint(Meaning::Warning, style.say(Text::Warning));
    let mut said = format!("{label} {}\n", style.say(sentence));
    said.push_str(&hint.map(|hint| hint_line(style.say(hint), style)).unwrap_or_default());
    said
}

/// Returns whether what was changed was checked, and by what, in one line.
pub(super) fn stamp(receipt: &Receipt, style: &Style) -> String {
    let (meaning, word) = match receipt.state {
        Verification::Verified => (Meaning::Done, Text::Verified),
        // Nothing to be warned of at every turn of a project that has none.
        Verification::Unverified if receipt.reason == Some(Unproven::NoCheckKnown) => {
            (Meaning::Aside, Text::Unverified)
        }
        Verification::Unverified => (Meaning::Warning, Text::Unverified),
        Verification::Failed => (Meaning::Error, Text::CheckFailed),
    };
    let reason = receipt.reason.as_ref().map(|reason| unproven(reason, style.language));
    let runs: Vec<String> = receipt
        .checks
        .iter()
        .map(|run| {
            let time = duration(run.duration_ms, style);
            let command = visible(&run.command);
            let values: [(&str, &dyn std::fmt::Display); 3] =
                [("command", &command), ("code", &run.exit_code), ("time", &time)];
            Text::CheckRan.say(style.language, &values)
        })
        .chain(reason)
        .collect();
    let rest = match runs.is_empty() {
        true => style.say(Text::NoCheckRan).to_owned(),
        false => runs.join(" · "),
    };
    format!(
        "{}\n",
        style.paint(meaning, style.say(word)) + &style.paint(Meaning::Aside, &format!(" · {rest}"))
    )
}

/// Returns why checks prove nothing.
fn unproven(reason: &Unproven, language: Language) -> String {
    match reason {
        Unproven::StaleCache { folder, file } => {
            let (folder, file) = (visible(folder), visible(file));
            Text::StaleCache.say(language, &[("folder", &folder), ("file", &file)])
        }
        Unproven::TooManyEntries { entries_max } => {
            Text::TooManyEntries.say(language, &[("n", &grouped(*entries_max as u64))])
        }
        Unproven::ChangedMeanwhile { file } => {
            Text::ChangedMeanwhile.say(language, &[("file", &visible(file))])
        }
        Unproven::NotToldApart { file } => {
            Text::NotToldApart.say(language, &[("file", &visible(file))])
        }
        Unproven::NoCheckKnown => Text::NoCheckKnown.template(language).to_owned(),
        _ => Text::NotLookedAt.template(language).to_owned(),
    }
}

/// Returns what was done to make the conversation shorter, in one sentence.
pub(super) fn compacted(compaction: &Compaction, language: Language) -> String {
    let before = grouped(compaction.tokens_before);
    let after = grouped(compaction.tokens_after);
    let cut = match compaction.prompts_cut {
        0 => String::new(),
        cut => Text::PromptsCut.say(language, &[("n", &cut)]),
    };
    let values: [(&str, &dyn std::fmt::Display); 6] = [
        ("results", &compaction.results.len()),
        ("messages", &compaction.replaced),
        ("prompts", &compaction.prompts_kept),
        ("cut", &cut),
        ("before", &before),
        ("after", &after),
    ];
    let text = match (compaction.replaced, compaction.has_summary()) {
        (0, _) => Text::ResultsLeftOut,
        (_, true) => Text::SummedUp,
        (_, false) => Text::CallsListed,
    };
    text.say(language, &values)
}

/// Returns a duration for people: `0.3 s`, `12.0 s`, `2 min 5 s`.
pub(crate) fn duration(duration_ms: u64, style: &Style) -> String {
    let seconds = duration_ms / 1000;
    if seconds < 60 {
        let tenths = format!("{}.{}", seconds, duration_ms % 1000 / 100);
        return Text::Seconds.say(style.language, &[("s", &tenths)]);
    }
    Text::Minutes.say(style.language, &[("m", &(seconds / 60)), ("s", &(seconds % 60))])
}

fn hint_line(hint: &str, style: &Style) -> String {
    let label = style.paint(Meaning::Hint, style.say(Text::Hint));
    format!("{label} {}\n", visible(hint.trim_end()))
}

/// Returns US dollars: cents for large sums, more places for small ones.
pub(crate) fn money(dollars: f64) -> String {
    if dollars >= 1.0 { format!("${dollars:.2}") } else { format!("${dollars:.4}") }
}

/// Returns `n` with a comma after every three digits.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut said = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            said.push(',');
        }
        said.push(digit);
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: Style = Style {
        width: 80,
        colour: false,
        redraws: false,
        language: Language::English,
        theme: crate::render::Theme::Terminal,
    };

    #[test]
    fn that_there_are_no_walls_is_said_in_red() {
        let said = unconfined(&Style { colour: true, ..STYLE });
        assert!(said.starts_with("\u{1b}[31mCommands run without walls"), "{said:?}");
    }

    #[test]
    fn numbers_are_for_people() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")];
        for (n, expected) in cases {
            assert_eq!(grouped(n), expected);
        }
        let cases = [(0, "0.0 s"), (349, "0.3 s"), (59_999, "59.9 s"), (125_000, "2 min 5 s")];
        for (ms, expected) in cases {
            assert_eq!(duration(ms, &STYLE), expected);
        }
        assert_eq!((money(12.345), money(0.00123)), ("$12.35".into(), "$0.0012".into()));
    }

    #[test]
    fn spec_38_the_end_shows_tokens_in_out_cached_time_and_cost() {
        let usage = Usage { input: 1_000, output: 56, cache_read: 2_000, cache_write: 500 };
        let mut turn = Used {
            reason: EndReason::Finished,
            usage,
            cost: Some(0.0123),
            steps: 3,
            duration_ms: 4_200,
            without_walls: false,
        };
        assert_eq!(
            used(&turn, &STYLE),
            "done · 3 steps · 3,500 tokens in (2,000 cached), 56 out · 4.2 s · $0.0123\n"
        );
        turn = Used { cost: None, usage: Usage::default(), steps: 1, ..turn };
        assert_eq!(used(&turn, &STYLE), "done · 1 step · 0 tokens in, 0 out · 4.2 s\n");
        let chinese = Style { language: Language::Chinese, ..STYLE };
        assert_eq!(used(&turn, &chinese), "完成 · 1 步 · 输入 0 个词元，输出 0 个 · 4.2 秒\n");
    }
}

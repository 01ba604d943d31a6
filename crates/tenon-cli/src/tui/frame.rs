//! The live part of the screen: what is being written and run, what waits, the question, the
//! composer, what is offered, the status line. Pure. It is always lower than the screen.

use std::time::Instant;

use tenon_agent::Delivery;

use super::{
    app::App,
    composer::complete::{Item, Offer},
    line::{Line, Wrap},
    surface::{Caret, Frame, Size},
};
use crate::{masked::masked, render::Meaning, texts::Text};

/// What stands before the text that is being written.
const PROMPT: &str = "> ";
/// Columns that it takes.
const PROMPT_COLUMNS: usize = 2;
/// Rows of waiting prompts.
const QUEUED_MAX: usize = 5;
/// A screen of fewer rows spares those that are not needed.
const LOW_SCREEN_ROWS: usize = 12;
/// Columns of the widest offered name beside which its description stands.
const NAME_COLUMNS: usize = 14;

/// Draws the live part for a screen of `size`.
pub(crate) fn frame(app: &App, size: Size, now: Instant) -> Frame {
    let columns = size.columns.max(8);
    let room = size.rows.saturating_sub(1).max(1);
    let words = app.approval.as_ref().and_then(|(approval, _)| approval.words());
    let (composer, caret) = match (words, &app.picker) {
        (Some(words), _) => words_to_model(app, words, columns),
        (None, Some(picker)) => {
            // The status line stands beneath it.
            let (rows, caret) = picker.draw(columns, room.saturating_sub(1), app.language);
            (rows, Some(caret))
        }
        // Nothing is sent while a question stands there, and a low screen has better use for the row.
        (None, None) if app.approval.is_some() && room < LOW_SCREEN_ROWS => (Vec::new(), None),
        (None, None) => composer(app, columns, (room / 3).max(1)),
    };
    let mut below = Vec::new();
    below.extend(app.composer.offer().map(|offer| offered(offer, columns)).unwrap_or_default());
    let (waiting, since) = app.waiting();
    below.push(app.transcript.facts.draw(&waiting, since, now, columns, app.language));
    let fixed = composer.len() + below.len();
    let mut above = app.transcript.live(columns, |call| app.waits(call));
    if let Some((command, tail)) = &app.own {
        above.push(Line::default());
        above.push(Line::of(Meaning::Name, &format!("! {command}")).cut(columns));
        above.extend(tail.draw("│ ", columns));
    }
    above.push(Line::default());
    above.extend(queued(app, columns));
    if let Some((approval, _)) = &app.approval {
        let rows_max = room.saturating_sub(fixed + usize::from(room >= LOW_SCREEN_ROWS));
        above.extend(approval.draw(columns, rows_max, app.language));
    }
    if let Some(conflict) = &app.conflict {
        above.extend(conflict.draw(columns, app.language));
    }
    if !above.last().is_some_and(Line::is_empty) && room >= LOW_SCREEN_ROWS {
        above.push(Line::default());
    }
    // The end of what is written matters more than its beginning.
    let excess = (above.len() + fixed).saturating_sub(room);
    above.drain(..excess.min(above.len()));
    let first = above.len();
    let mut rows = above;
    rows.extend(composer);
    rows.extend(below);
    rows.truncate(room);
    let hides = app.approval.as_ref().is_some_and(|(approval, _)| approval.words().is_none())
        || app.conflict.is_some();
    let caret = caret.filter(|_| !hides).map(|caret| Caret { row: first + caret.row, ..caret });
    let caret = caret.filter(|caret| caret.row < rows.len());
    Frame { rows, caret }
}

/// The prompts that wait, each with what for.
fn queued(app: &App, columns: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    let waiting = app.queue.waiting();
    for waits in waiting.iter().take(QUEUED_MAX) {
        let label = match waits.delivery {
            Delivery::NextStep => Text::QueuedForStep,
            Delivery::AfterTurn => Text::QueuedForLater,
        };
        let mut line = Line::of(Meaning::Warning, label.template(app.language));
        line.push(Meaning::Aside, &format!(" {}", waits.prompt.text));
        rows.push(line.cut(columns));
    }
    let more = waiting.len().saturating_sub(QUEUED_MAX);
    if more > 0 {
        let said = Text::QueuedMore.say(app.language, &[("n", &more)]);
        rows.push(Line::of(Meaning::Aside, &said).cut(columns));
    }
    if !rows.is_empty() {
        let said = Text::QueuedTakeBack.template(app.language);
        rows.push(Line::of(Meaning::Aside, said).cut(columns));
    }
    rows
}

/// The text that is being written, as many rows around the caret as there is room for.
fn composer(app: &App, columns: usize, rows_max: usize) -> (Vec<Line>, Option<Caret>) {
    if let Some((words, found)) = app.composer.search() {
        return search(app, words, found, columns);
    }
    let layout = app.composer.layout(columns.saturating_sub(PROMPT_COLUMNS));
    let (caret_row, before) = &layout.caret;
    let first = (caret_row + 1).saturating_sub(rows_max);
    let rows = layout.rows.iter().enumerate().skip(first).take(rows_max);
    let lead = |place: usize| match place {
        0 => Line::of(Meaning::Name, PROMPT),
        _ => Line::plain("  "),
    };
    let drawn = rows
        .map(|(place, row)| {
            let mut line = lead(place);
            line.push(Meaning::Plain, row);
            line
        })
        .collect();
    let mut line = lead(*caret_row);
    line.push(Meaning::Plain, before);
    (drawn, Some(Caret { row: caret_row - first, before: line }))
}

fn search(app: &App, words: &str, found: &str, columns: usize) -> (Vec<Line>, Option<Caret>) {
    let label = Text::SearchHistory.template(app.language);
    let mut before = Line::of(Meaning::Hint, label);
    before.push(Meaning::Plain, &format!(" {words}"));
    let mut line = before.clone();
    line.push(Meaning::Aside, &format!(" · {found}"));
    (vec![line.cut(columns)], Some(Caret { row: 0, before: before.cut(columns) }))
}

fn words_to_model(app: &App, words: &str, columns: usize) -> (Vec<Line>, Option<Caret>) {
    let lead = Line::of(Meaning::Hint, Text::WordsPrompt.template(app.language));
    let rest = Line::plain("  ");
    // The caret needs a column behind the last character.
    let rows = Line::plain(words).wrapped(columns.saturating_sub(1), Wrap::Anywhere, &lead, &rest);
    let caret = rows.last().map(|last| Caret { row: rows.len() - 1, before: last.clone() });
    (rows, caret)
}

fn offered(offer: &Offer, columns: usize) -> Vec<Line> {
    use super::composer::complete::ROWS_MAX;
    let first = (offer.chosen + 1).saturating_sub(ROWS_MAX);
    let row = |(place, item): (usize, &Item)| {
        // Without colours the sign alone says which is chosen.
        let mut line = Line::plain(if place == offer.chosen { "› " } else { "  " });
        // What is taken is the name as it is.
        let name = match item.about {
            "" => masked(item.text.as_str()),
            _ => format!("{:<NAME_COLUMNS$}", item.text),
        };
        line.push(if place == offer.chosen { Meaning::Chosen } else { Meaning::Hint }, &name);
        if !item.about.is_empty() {
            line.push(Meaning::Aside, &format!(" {}", item.about));
        }
        line.cut(columns)
    };
    offer.items.iter().enumerate().skip(first).take(ROWS_MAX).map(row).collect()
}

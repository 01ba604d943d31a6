//! Tables: columns as wide as what is in them, narrower ones where the screen is.

use unicode_width::UnicodeWidthStr;

use super::{
    super::{
        Meaning,
        line::{Line, Wrap},
    },
    inline::inline,
};

/// Narrower columns are not readable; the table is then drawn as a list of its cells.
const COLUMN_MIN: usize = 6;
/// What stands between columns.
const BETWEEN: &str = " │ ";

/// The rows of a table that are not drawn yet, each as it was written.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    rows: Vec<String>,
    /// How the rows above were drawn, if some were.
    shape: Option<Shape>,
}

/// How the rows of a table are drawn.
#[derive(Debug, Clone)]
enum Shape {
    /// In columns of these widths.
    Columns(Vec<usize>),
    /// Cell beneath cell, led by the names of the columns.
    List(Vec<String>),
}

impl Table {
    /// Adds a row.
    pub(super) fn push(&mut self, row: &str) {
        self.rows.push(row.trim().to_owned());
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.iter().map(String::len).sum()
    }

    /// Draws the rows; those that come later will stand beneath them in the same columns.
    pub(super) fn draw(&mut self, columns: usize) -> Vec<Line> {
        let rows = std::mem::take(&mut self.rows);
        let has_head = self.shape.is_none() && rows.get(1).is_some_and(|row| is_divider(row));
        let cells: Vec<Vec<String>> =
            rows.iter().filter(|row| !is_divider(row)).map(|row| split(row)).collect();
        let shape = self.shape.take().unwrap_or_else(|| {
            let head = cells.first().filter(|_| has_head);
            match widths(&cells, columns) {
                Some(widths) => Shape::Columns(widths),
                None => Shape::List(head.cloned().unwrap_or_default()),
            }
        });
        let drawn = match &shape {
            Shape::Columns(widths) => in_columns(&cells, widths, has_head),
            Shape::List(head) => {
                as_list(cells.get(usize::from(has_head)..).unwrap_or_default(), head, columns)
            }
        };
        self.shape = Some(shape);
        drawn
    }
}

fn in_columns(cells: &[Vec<String>], widths: &[usize], has_head: bool) -> Vec<Line> {
    let mut drawn = Vec::new();
    for (place, row) in cells.iter().enumerate() {
        let is_head = has_head && place == 0;
        drawn.extend(draw_row(row, widths, if is_head { Meaning::Name } else { Meaning::Plain }));
        if is_head {
            let lines: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            drawn.push(Line::of(Meaning::Aside, &lines.join("─┼─")));
        }
    }
    drawn
}

fn draw_row(row: &[String], widths: &[usize], meaning: Meaning) -> Vec<Line> {
    let none = Line::default();
    let columns: Vec<Vec<Line>> = widths
        .iter()
        .enumerate()
        .map(|(place, width)| {
            let text = row.get(place).map(String::as_str).unwrap_or_default();
            let lines = inline(text, meaning);
            lines.iter().flat_map(|line| line.wrapped(*width, Wrap::Words, &none, &none)).collect()
        })
        .collect();
    let height = columns.iter().map(Vec::len).max().unwrap_or(0);
    (0..height)
        .map(|level| {
            let mut line = Line::default();
            for (place, (column, width)) in columns.iter().zip(widths).enumerate() {
                if place > 0 {
                    line.push(Meaning::Aside, BETWEEN);
                }
                let cell = column.get(level).unwrap_or(&none);
                line.append(cell);
                if place + 1 < widths.len() {
                    line.push(Meaning::Plain, &" ".repeat(width.saturating_sub(cell.width())));
                }
            }
            line
        })
        .collect()
}

/// Returns the columns' widths, or nothing if they do not fit.
fn widths(cells: &[Vec<String>], columns: usize) -> Option<Vec<usize>> {
    let count = cells.iter().map(Vec::len).max().unwrap_or(0);
    let room = columns.checked_sub(BETWEEN.width() * count.saturating_sub(1))?;
    let natural = |place: usize| {
        let widths = cells
            .iter()
            .filter_map(|row| row.get(place))
            .map(|cell| inline(cell, Meaning::Plain).iter().map(Line::width).max().unwrap_or(0));
        widths.max().unwrap_or(0).max(1)
    };
    let mut widths: Vec<usize> = (0..count).map(natural).collect();
    if widths.iter().map(|width| (*width).min(COLUMN_MIN)).sum::<usize>() > room {
        return None;
    }
    while widths.iter().sum::<usize>() > room {
        let widest = widths.iter_mut().max()?;
        *widest -= 1;
    }
    Some(widths)
}

fn as_list(cells: &[Vec<String>], head: &[String], columns: usize) -> Vec<Line> {
    let none = Line::default();
    let mut drawn = Vec::new();
    for row in cells {
        for (place, cell) in row.iter().enumerate() {
            let mut line = Line::default();
            if let Some(name) = head.get(place) {
                line.push(Meaning::Name, &format!("{name}: "));
            }
            inline(cell, Meaning::Plain).iter().for_each(|cell| line.append(cell));
            drawn.extend(line.wrapped(columns, Wrap::Words, &none, &none));
        }
        drawn.push(Line::default());
    }
    drawn.pop();
    drawn
}

pub(super) fn is_divider(row: &str) -> bool {
    row.contains('-') && row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

/// Returns the cells of a row; `\|` is no edge.
pub(super) fn split(row: &str) -> Vec<String> {
    let inner = row.trim().strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for character in inner.chars() {
        match character {
            '|' if !escaped => cells.push(String::new()),
            _ => {
                if let Some(last) = cells.last_mut() {
                    if character == '|' {
                        last.pop();
                    }
                    last.push(character);
                }
            }
        }
        escaped = character == '\\' && !escaped;
    }
    if cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rows: &[&str], columns: usize) -> Vec<String> {
        let mut table = Table::default();
        rows.iter().for_each(|row| table.push(row));
        table.draw(columns).iter().map(|row| row.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn rows_that_come_later_stand_in_the_same_columns() {
        for (columns, expected) in [(40, "longer │ x"), (10, "long:")] {
            let mut table = Table::default();
            ["|long|b|c|", "|-|-|-|", "|longer|d|e|"].iter().for_each(|row| table.push(row));
            table.draw(columns);
            table.push("|longer|x|y|");
            let drawn = table.draw(columns);
            assert!(drawn[0].text().starts_with(expected), "{drawn:?}");
        }
    }

    #[test]
    fn columns_stand_beneath_each_other_in_every_script() {
        let rows = ["| name | 意思 |", "|---|:--|", "| `a\\|b` | 汉字 |", "| c | d |"];
        assert_eq!(drawn(&rows, 40), ["name │ 意思", "─────┼─────", "a|b  │ 汉字", "c    │ d"]);
    }

    #[test]
    fn a_narrow_screen_breaks_cells_and_a_narrower_one_makes_a_list() {
        let rows = ["| key | what it does |", "|---|---|", "| x | takes a character away |"];
        assert_eq!(
            drawn(&rows, 18),
            [
                "key │ what it does",
                "────┼─────────────",
                "x   │ takes a",
                "    │ character",
                "    │ away"
            ]
        );
        assert_eq!(
            drawn(&rows, 10),
            ["key: x", "what it", "does:", "takes a", "character", "away"]
        );
    }
}

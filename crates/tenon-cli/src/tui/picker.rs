//! A list to choose from, with a search and a preview of what is chosen. Pure: keys in, rows out.
//!
//! It stands in the place of the composer. Esc leaves it. Enter takes what is chosen, but not before the
//! list was on the screen for a while, nor right behind another Enter: a held key chooses nothing.

use std::time::Instant;

use super::{
    guard::QuietSince,
    keyboard::{KeyCode, KeyEvent, KeyModifiers},
    line::{Line, Wrap},
    surface::Caret,
};
use crate::{
    render::{Meaning, measure},
    texts::{Language, Text},
};

/// Rows of the preview, where there is room.
const PREVIEW_ROWS_MAX: usize = 8;
/// Rows of the list that the preview leaves in any case, where there are so many.
const LIST_ROWS_MIN: usize = 4;
/// Rows of the list; more are scrolled to.
const LIST_ROWS_MAX: usize = 12;
/// Columns that are left for what is said beside a name, or nothing is.
const ABOUT_COLUMNS_MIN: usize = 10;
/// A page of keys that move by pages.
const PAGE: usize = 8;

/// One thing to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub name: String,
    /// What is said beside it, in the same row.
    pub about: String,
    /// What is shown beneath the list while it is chosen; `None` if that is not known yet.
    pub preview: Option<Vec<String>>,
    pub pick: Pick,
}

/// What is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pick {
    /// A model by its name.
    Model(String),
    /// A session by its id.
    Session(String),
    /// An earlier prompt.
    Prompt(Earlier),
    /// What goes back to before an earlier prompt.
    Back(Back, Earlier),
}

/// A prompt of this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Earlier {
    pub text: String,
    /// How many turns are left by going back before it.
    pub turns: u32,
    /// The step that followed it.
    pub step: u32,
}

/// What goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Back {
    Both,
    Conversation,
    Files,
}

/// What became of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Stays,
    Left,
    Picked(Pick),
}

/// A list that is shown.
#[derive(Debug)]
pub(crate) struct Picker {
    title: Text,
    items: Vec<Item>,
    words: String,
    /// The places of the items that fit the words.
    fitting: Vec<usize>,
    /// Which of those is chosen.
    chosen: usize,
    /// But for keys that are no Enter.
    quiet_since: QuietSince,
}

impl Picker {
    /// Returns a list that nobody has seen, with the item at `chosen` chosen.
    pub(crate) fn new(title: Text, items: Vec<Item>, chosen: usize) -> Self {
        let fitting = (0..items.len()).collect();
        let (words, quiet_since) = (String::new(), QuietSince::default());
        Self { title, items, words, fitting, chosen, quiet_since }
    }

    /// Takes in that the list is on the screen, written out by `now`.
    pub(crate) fn shown(&mut self, now: Instant) {
        self.quiet_since.shown(now);
    }

    /// Takes in that something else has the screen.
    pub(crate) fn hidden(&mut self) {
        self.quiet_since.hidden();
    }

    /// Does what `key` says.
    pub(crate) fn press(&mut self, key: KeyEvent, now: Instant) -> Outcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let last = self.fitting.len().saturating_sub(1);
        match key.code {
            KeyCode::Esc => return Outcome::Left,
            KeyCode::Char('c' | 'd' | 'g') if control => return Outcome::Left,
            KeyCode::Enter => {
                if self.quiet_since.entered(now)
                    && let Some(item) = self.item()
                {
                    return Outcome::Picked(item.pick.clone());
                }
            }
            KeyCode::Up => self.chosen = self.chosen.checked_sub(1).unwrap_or(last),
            KeyCode::Char('p') if control => {
                self.chosen = self.chosen.checked_sub(1).unwrap_or(last)
            }
            KeyCode::Down => self.step_down(last),
            KeyCode::Char('n') if control => self.step_down(last),
            KeyCode::PageUp => self.chosen = self.chosen.saturating_sub(PAGE),
            KeyCode::PageDown => self.chosen = (self.chosen + PAGE).min(last),
            KeyCode::Home => self.chosen = 0,
            KeyCode::End => self.chosen = last,
            KeyCode::Backspace => {
                self.words.pop();
                self.search();
            }
            KeyCode::Char('u' | 'w') if control => {
                self.words.clear();
                self.search();
            }
            KeyCode::Char(letter) if !control && !key.modifiers.contains(KeyModifiers::ALT) => {
                self.words.push(letter);
                self.search();
            }
            _ => {}
        }
        Outcome::Stays
    }

    /// Takes in a pasted block as words to search for.
    pub(crate) fn paste(&mut self, text: &str) {
        self.words.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c }));
        self.search();
    }

    /// Returns the chosen session if its preview is not known yet.
    pub(crate) fn wants_preview(&self) -> Option<&str> {
        match self.item()? {
            Item { preview: None, pick: Pick::Session(id), .. } => Some(id),
            _ => None,
        }
    }

    /// Takes in the preview of a session.
    pub(crate) fn set_preview(&mut self, session: &str, preview: Vec<String>) {
        let is_it = |item: &&mut Item| matches!(&item.pick, Pick::Session(id) if id == session);
        if let Some(item) = self.items.iter_mut().find(is_it) {
            item.preview = Some(preview);
        }
    }

    /// Draws it for a screen of `columns`, in at most `rows_max` rows.
    pub(crate) fn draw(
        &self,
        columns: usize,
        rows_max: usize,
        language: Language,
    ) -> (Vec<Line>, Caret) {
        let mut head = Line::of(Meaning::Name, self.title.template(language));
        head.push(Meaning::Aside, &format!(" {}/{}", self.fitting.len(), self.items.len()));
        let mut before = Line::of(Meaning::Hint, Text::SearchHistory.template(language));
        before.push(Meaning::Plain, &format!(" {}", self.words));
        // The caret needs a column behind the last character.
        let before = before.cut(columns.saturating_sub(1));
        let mut rows = vec![head.cut(columns), before.clone()];
        let keys = Line::of(Meaning::Aside, Text::PickKeys.template(language)).cut(columns);
        let room = rows_max.saturating_sub(rows.len() + 1);
        let mut preview = self.preview(columns);
        let list_rows = self.fitting.len().clamp(1, LIST_ROWS_MAX);
        let for_preview = room.saturating_sub(list_rows.min(LIST_ROWS_MIN));
        preview.truncate(for_preview);
        rows.extend(self.list(columns, list_rows.min(room - preview.len()).max(1), language));
        rows.extend(preview);
        rows.push(keys);
        (rows, Caret { row: 1, before })
    }

    fn list(&self, columns: usize, rows_max: usize, language: Language) -> Vec<Line> {
        if self.fitting.is_empty() {
            return vec![Line::of(Meaning::Aside, Text::PickNone.template(language)).cut(columns)];
        }
        let names = self.items.iter().map(|item| measure::width(&item.name));
        let name_columns = names.max().unwrap_or(0).min(columns.saturating_sub(2));
        let first = (self.chosen + 1).saturating_sub(rows_max);
        let fitting = self.fitting.iter().enumerate().skip(first).take(rows_max);
        let drawn = fitting.filter_map(|(place, item)| {
            let item = self.items.get(*item)?;
            let is_chosen = place == self.chosen;
            // Without colours the sign alone says which is chosen.
            let mut line = Line::plain(if is_chosen { "› " } else { "  " });
            let space = name_columns.saturating_sub(measure::width(&item.name));
            let name = format!("{}{}", item.name, " ".repeat(space));
            line.push(if is_chosen { Meaning::Chosen } else { Meaning::Hint }, &name);
            if columns.saturating_sub(line.width()) >= ABOUT_COLUMNS_MIN {
                line.push(Meaning::Aside, &format!("  {}", item.about));
            }
            Some(line.cut(columns))
        });
        drawn.collect()
    }

    fn preview(&self, columns: usize) -> Vec<Line> {
        let lead = Line::of(Meaning::Aside, "│ ");
        let lines = match self.item() {
            None => return Vec::new(),
            Some(Item { preview: None, .. }) => return vec![Line::of(Meaning::Aside, "│ …")],
            Some(Item { preview: Some(lines), .. }) => lines,
        };
        let mut rows = Vec::new();
        for line in lines {
            let line = Line::plain(line);
            rows.extend(line.wrapped(columns, Wrap::Words, &lead, &lead));
            if rows.len() > PREVIEW_ROWS_MAX {
                break;
            }
        }
        if rows.len() > PREVIEW_ROWS_MAX {
            rows.truncate(PREVIEW_ROWS_MAX - 1);
            rows.push(Line::of(Meaning::Aside, "│ …"));
        }
        rows
    }

    fn item(&self) -> Option<&Item> {
        self.items.get(*self.fitting.get(self.chosen)?)
    }

    fn step_down(&mut self, last: usize) {
        self.chosen = if self.chosen >= last { 0 } else { self.chosen + 1 };
    }

    /// Finds the items that have all the words, in any case of letters.
    fn search(&mut self) {
        let words: Vec<String> = self.words.split_whitespace().map(str::to_lowercase).collect();
        let fits = |item: &Item| {
            let preview = item.preview.as_deref().unwrap_or_default().join("\n");
            let text = format!("{}\n{}\n{preview}", item.name, item.about).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let all = self.items.iter().enumerate();
        self.fitting = all.filter(|(_, item)| fits(item)).map(|(place, _)| place).collect();
        self.chosen = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const COLUMNS: usize = 40;

    fn item(name: &str, about: &str, preview: Option<&str>) -> Item {
        let preview = preview.map(|text| text.lines().map(str::to_owned).collect());
        let (name, about) = (name.to_owned(), about.to_owned());
        Item { pick: Pick::Session(name.clone()), name, about, preview }
    }

    fn picker(now: Instant) -> Picker {
        let items = vec![
            item(
                "11-21 09:30",
                "Sort the list of files",
                Some("> Sort the list of files\n> again"),
            ),
            item("11-20 18:02", "为什么测试失败？请看看编译器的输出并修复它", None),
            item("11-19 07:45", "[docs] Write about 👍🏽 emoji", Some("> Write about emoji")),
        ];
        let mut picker = Picker::new(Text::PickSession, items, 0);
        picker.shown(now);
        picker
    }

    fn text(picker: &Picker, columns: usize, rows: usize, language: Language) -> String {
        let (rows, _) = picker.draw(columns, rows, language);
        assert!(rows.iter().all(|row| row.width() <= columns));
        rows.iter().map(|row| row.text().trim_end().to_owned() + "\n").collect()
    }

    fn later(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    #[test]
    fn it_is_drawn_on_narrow_and_wide_screens() {
        let picker = picker(Instant::now());
        insta::assert_snapshot!("picker_40", text(&picker, 40, 20, Language::Chinese));
        insta::assert_snapshot!("picker_80", text(&picker, 80, 20, Language::English));
        for (columns, rows) in [(20, 5), (8, 3), (40, 6), (200, 60)] {
            let drawn = text(&picker, columns, rows, Language::English);
            assert!(drawn.lines().count() <= rows.max(4), "{columns}×{rows}:\n{drawn}");
        }
    }

    #[test]
    fn keys_move_search_take_and_leave() {
        let start = Instant::now();
        let mut picker = picker(start);
        let mut press = |code: KeyCode, ms| picker.press(code.into(), later(start, ms));
        let picked = |id: &str| Outcome::Picked(Pick::Session(id.to_owned()));
        assert_eq!(press(KeyCode::Down, 10), Outcome::Stays);
        assert_eq!(press(KeyCode::Enter, 500), picked("11-20 18:02"));
        assert_eq!(press(KeyCode::Up, 600), Outcome::Stays);
        assert_eq!(press(KeyCode::Up, 610), Outcome::Stays);
        assert_eq!(press(KeyCode::Enter, 1_000), picked("11-19 07:45"));
        for letter in "SORT lis".chars() {
            assert_eq!(press(KeyCode::Char(letter), 1_100), Outcome::Stays);
        }
        assert_eq!(press(KeyCode::Enter, 2_000), picked("11-21 09:30"));
        assert_eq!(press(KeyCode::Char('x'), 2_100), Outcome::Stays);
        assert_eq!(press(KeyCode::Enter, 3_000), Outcome::Stays, "nothing fits");
        assert_eq!(press(KeyCode::Esc, 3_100), Outcome::Left);
    }

    #[test]
    fn a_held_enter_takes_nothing() {
        let start = Instant::now();
        let mut picker = picker(start);
        for press in 0..100 {
            let outcome = picker.press(KeyCode::Enter.into(), later(start, press * 33));
            assert_eq!(outcome, Outcome::Stays, "{press}");
        }
    }

    #[test]
    fn a_preview_is_asked_for_once_it_is_looked_at_and_searched_when_it_is_there() {
        let start = Instant::now();
        let mut picker = picker(start);
        assert_eq!(picker.wants_preview(), None);
        picker.press(KeyCode::Down.into(), start);
        assert_eq!(picker.wants_preview(), Some("11-20 18:02"));
        assert!(text(&picker, COLUMNS, 20, Language::English).contains("│ …"));
        picker.set_preview("11-20 18:02", vec!["> needle".to_owned()]);
        assert_eq!(picker.wants_preview(), None);
        picker.paste("need\nless");
        assert!(text(&picker, COLUMNS, 20, Language::English).contains("0/3"));
        picker.press(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL), start);
        picker.paste("NEEDLE");
        assert!(text(&picker, COLUMNS, 20, Language::English).contains("1/3"));
    }
}

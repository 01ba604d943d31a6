//! What a question says, in rows, and what of it is left out where there is no room. Pure.

use super::line::Line;
use crate::{
    render::Meaning,
    texts::{Language, Text},
};

/// The sections that are left out first where there is no room, each with the rows that it keeps: what
/// is written, parts that nothing is asked about, what would be run, why, the head, the other parts.
const LEFT_OUT: [(usize, usize); 6] = [(4, 0), (3, 0), (2, 1), (5, 0), (0, 0), (1, 0)];
/// What is asked, in rows.
#[derive(Debug, Clone)]
pub(super) struct Sections {
    pub head: Vec<Line>,
    pub subject: Vec<Line>,
    /// Rows of the subject are missing already.
    pub is_cut: bool,
    /// The parts of a command line, each with whether the question is about it.
    pub parts: Vec<(bool, Vec<Line>)>,
    /// What would be written.
    pub preview: Vec<Line>,
    /// Rows of that are missing already.
    pub is_preview_cut: bool,
    /// Whether it is not shown what would be done while some of that is missing.
    pub needs_preview: bool,
    pub why: Vec<Line>,
}

impl Sections {
    pub(super) fn rows(&self) -> usize {
        let parts: usize = self.parts.iter().map(|(_, rows)| rows.len()).sum();
        let others = [&self.head, &self.subject, &self.preview, &self.why];
        parts + others.into_iter().map(Vec::len).sum::<usize>()
    }

    /// Returns the rows in their order if there is room for all, and whether they show what would be
    /// done. Else the parts that the question is about come first.
    pub(super) fn within(
        self,
        room: usize,
        columns: usize,
        language: Language,
    ) -> (Vec<Line>, bool) {
        let asked = self.rows();
        let (mut marked, mut parts) = (Vec::new(), Vec::new());
        for (is_asked_about, rows) in self.parts {
            let is_first = is_asked_about && asked > room;
            if is_first { marked.extend(rows) } else { parts.extend(rows) }
        }
        let (told, written) = (marked.len() + self.subject.len(), self.preview.len());
        let is_cut = self.is_cut || self.needs_preview && self.is_preview_cut;
        let mut sections = [self.head, marked, self.subject, parts, self.preview, self.why];
        if asked <= room {
            return (sections.concat(), !is_cut);
        }
        // A row says how many are left out, where there is one to spare.
        let says = usize::from(room > 1);
        let mut excess = asked + says - room;
        for (place, rows_min) in LEFT_OUT {
            let Some(rows) = sections.get_mut(place) else { continue };
            let taken = excess.min(rows.len().saturating_sub(rows_min));
            rows.truncate(rows.len() - taken);
            excess -= taken;
        }
        let [_, marked, subject, _, preview, _] = &sections;
        let is_cut = is_cut || self.needs_preview && preview.len() < written;
        let shows_all = !is_cut && marked.len() + subject.len() == told;
        let left: usize = sections.iter().map(Vec::len).sum();
        let said = Text::AskMoreRows.say(language, &[("n", &(asked - left))]);
        let said = Line::of(Meaning::Warning, &said).cut(columns);
        let mut rows = sections.concat();
        rows.extend(vec![said; says]);
        (rows, shows_all)
    }
}

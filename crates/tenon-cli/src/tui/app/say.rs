//! What a command says that the screen knows by itself.

use super::App;
use crate::{
    render::Meaning,
    texts::Text,
    tui::{
        commands::COMMANDS,
        line::{Line, Wrap},
    },
};

/// Columns of the names of commands.
const NAME_COLUMNS: usize = 13;

impl App {
    pub(super) fn say_help(&mut self) {
        let columns = self.transcript.style().width;
        let (none, rest) = (Line::default(), Line::plain(&" ".repeat(NAME_COLUMNS)));
        let mut lines = Vec::new();
        for command in COMMANDS {
            let name = Line::of(Meaning::Hint, &format!("{:<NAME_COLUMNS$}", command.name));
            let about = Line::plain(command.about.template(self.language));
            lines.extend(about.wrapped(columns, Wrap::Words, &name, &rest));
        }
        lines.push(Line::default());
        for line in Text::HelpComposer.template(self.language).lines() {
            lines.extend(Line::plain(line).wrapped(columns, Wrap::Words, &none, &none));
        }
        self.transcript.say(&lines);
    }

    pub(super) fn say_tools(&mut self) {
        let lines: Vec<Line> = self
            .tools
            .iter()
            .map(|tool| {
                let first = tool.description.lines().next().unwrap_or_default();
                let sentence = first.split_inclusive(". ").next().unwrap_or_default();
                let mut line = Line::of(Meaning::Name, &format!("{:<12}", tool.name));
                line.push(Meaning::Plain, sentence.trim_end());
                line.cut(self.transcript.style().width)
            })
            .collect();
        self.transcript.say(&lines);
    }
}

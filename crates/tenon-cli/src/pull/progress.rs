//! How far a fetch is, on standard error: a bar on a terminal, a line every tenth elsewhere.

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use crate::{
    render::measure::width,
    texts::{Language, Text},
};

/// The bar's width in columns; with its figures it fits 80.
const BAR_COLUMNS: u64 = 24;
/// The whole line is overwritten each time; it fits 80.
const BAR_LINE_COLUMNS: usize = 78;
/// A bar that changes more often cannot be read.
const REDRAW_EVERY: Duration = Duration::from_millis(100);

/// Where progress is shown.
pub(crate) struct Progress {
    look: Look,
    language: Language,
    doing: Text,
    unit: Unit,
    total: u64,
    started: Option<(Instant, u64)>,
    drawn: Option<Instant>,
    tenths: u64,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Megabytes,
    #[cfg(feature = "local")]
    Tokens,
}

#[derive(Debug, PartialEq, Eq)]
enum Look {
    Bar,
    Lines,
    #[cfg(test)]
    Silent,
}

impl Progress {
    /// Returns the progress of a file that has `total` bytes.
    pub(crate) fn of_file(total: u64, language: Language) -> Self {
        Self::with(Text::ProgressFetching, Unit::Megabytes, total, language)
    }

    /// Returns the progress of a model that reads `total` tokens ahead of time.
    #[cfg(feature = "local")]
    pub(crate) fn of_prefix(total: u64, language: Language) -> Self {
        Self::with(Text::ProgressPreparing, Unit::Tokens, total, language)
    }

    #[cfg(test)]
    pub(crate) fn silent() -> Self {
        Self { look: Look::Silent, ..Self::of_file(1, Language::English) }
    }

    fn with(doing: Text, unit: Unit, total: u64, language: Language) -> Self {
        let look = if io::stderr().is_terminal() { Look::Bar } else { Look::Lines };
        let total = total.max(1);
        Self { look, language, doing, unit, total, started: None, drawn: None, tenths: 0 }
    }

    /// Shows that `bytes` of what was there already were checked.
    pub(crate) fn check(&mut self, bytes: u64) {
        self.started = None;
        self.show(Text::ProgressChecking, bytes);
    }

    /// Shows that so many bytes or tokens are done.
    pub(crate) fn at(&mut self, bytes: u64) {
        self.started.get_or_insert((Instant::now(), bytes));
        self.show(self.doing, bytes);
    }

    /// Says a sentence on a line of its own.
    pub(crate) fn say(&mut self, text: Text, values: &[(&str, &dyn Display)]) {
        if self.drawn.take().is_some() {
            print("\n");
        }
        #[cfg(test)]
        if self.look == Look::Silent {
            return;
        }
        print(&format!("{}\n", text.say(self.language, values)));
    }

    /// Ends the bar.
    pub(crate) fn finish(&mut self) {
        if self.drawn.take().is_some() {
            print("\n");
        }
    }

    fn show(&mut self, doing: Text, bytes: u64) {
        match self.look {
            Look::Bar => {
                let due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW_EVERY);
                if due || bytes == self.total {
                    self.drawn = Some(Instant::now());
                    let bar = self.bar(doing, bytes, self.rate(bytes));
                    let blanks = " ".repeat(BAR_LINE_COLUMNS.saturating_sub(width(&bar)));
                    print(&format!("\r{bar}{blanks}"));
                }
            }
            Look::Lines => {
                let tenths = bytes * 10 / self.total;
                if tenths > self.tenths {
                    self.tenths = tenths;
                    let all = self.unit.shown(self.total, self.language);
                    let values: [(&str, &dyn Display); 3] = [
                        ("doing", &doing.template(self.language)),
                        ("n", &(tenths * 10)),
                        ("all", &all),
                    ];
                    print(&format!("{}\n", Text::ProgressLine.say(self.language, &values)));
                }
            }
            #[cfg(test)]
            Look::Silent => {}
        }
    }

    /// Returns bytes a second since the fetch began.
    fn rate(&self, bytes: u64) -> Option<u64> {
        let (at, from) = self.started?;
        let ms = u64::try_from(at.elapsed().as_millis()).ok().filter(|ms| *ms >= 1_000)?;
        Some(bytes.saturating_sub(from) * 1_000 / ms)
    }

    fn bar(&self, doing: Text, bytes: u64, rate: Option<u64>) -> String {
        let (language, total) = (self.language, self.total);
        let done = (bytes * BAR_COLUMNS / total) as usize;
        let bar = format!("{}{}", "#".repeat(done), ".".repeat(BAR_COLUMNS as usize - done));
        let (doing, percent) = (doing.template(language), bytes * 100 / total);
        let all = self.unit.shown(total, language);
        let values: [(&str, &dyn Display); 4] =
            [("doing", &doing), ("bar", &bar), ("n", &percent), ("all", &all)];
        let mut bar = Text::ProgressBar.say(language, &values);
        if let Some(rate) = rate.filter(|rate| *rate > 0) {
            let seconds = total.saturating_sub(bytes) / rate;
            let time = format!("{}:{:02}", seconds / 60, seconds % 60);
            let rate = self.unit.shown(rate, language);
            bar.push_str(&Text::ProgressLeft.say(language, &[("rate", &rate), ("time", &time)]));
        }
        bar
    }
}

impl Unit {
    fn shown(self, count: u64, language: Language) -> String {
        let (text, count) = match self {
            Self::Megabytes => (Text::ProgressMegabytes, count / 1_000_000),
            #[cfg(feature = "local")]
            Self::Tokens => (Text::ProgressTokens, count),
        };
        text.say(language, &[("n", &count)])
    }
}

fn print(text: &str) {
    let mut out = io::stderr().lock();
    // Progress that cannot be shown is not worth stopping for.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fits_its_line() {
        let total = 1_117_320_768;
        let progress = |language| Progress::of_file(total, language);
        let (english, chinese) = (progress(Language::English), progress(Language::Chinese));
        let bar = |bytes, rate| english.bar(Text::ProgressFetching, bytes, rate);
        assert_eq!(
            bar(total / 2, Some(25_000_000)),
            "fetching [############............] 50 % of 1117 MB, 25 MB/s, 0:22 left"
        );
        assert!(bar(0, Some(1_000)).len() <= 78);
        let longest = chinese.bar(Text::ProgressFetching, 0, Some(1_000));
        assert!(width(&longest) <= BAR_LINE_COLUMNS, "{longest}");
        assert_eq!(bar(0, None).matches('.').count(), 24);
    }
}

//! How far a fetch is, on standard error: a bar on a terminal, a line every tenth elsewhere.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// The bar's width in columns; with its figures it fits 80.
const BAR_COLUMNS: u64 = 24;
/// A bar that changes more often cannot be read.
const REDRAW_EVERY: Duration = Duration::from_millis(100);

/// Where progress is shown.
pub(crate) struct Progress {
    look: Look,
    doing: &'static str,
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
    pub(crate) fn of_file(total: u64) -> Self {
        Self::with("fetching", Unit::Megabytes, total)
    }

    /// Returns the progress of a model that reads `total` tokens ahead of time.
    #[cfg(feature = "local")]
    pub(crate) fn of_prefix(total: u64) -> Self {
        Self::with("preparing", Unit::Tokens, total)
    }

    #[cfg(test)]
    pub(crate) fn silent() -> Self {
        Self { look: Look::Silent, ..Self::of_file(1) }
    }

    fn with(doing: &'static str, unit: Unit, total: u64) -> Self {
        let look = if io::stderr().is_terminal() { Look::Bar } else { Look::Lines };
        let total = total.max(1);
        Self { look, doing, unit, total, started: None, drawn: None, tenths: 0 }
    }

    /// Shows that `bytes` of what was there already were checked.
    pub(crate) fn check(&mut self, bytes: u64) {
        self.started = None;
        self.show("checking", bytes);
    }

    /// Shows that so many bytes or tokens are done.
    pub(crate) fn at(&mut self, bytes: u64) {
        self.started.get_or_insert((Instant::now(), bytes));
        self.show(self.doing, bytes);
    }

    /// Says a sentence on a line of its own.
    pub(crate) fn say(&mut self, sentence: &str) {
        if self.drawn.take().is_some() {
            print("\n");
        }
        #[cfg(test)]
        if self.look == Look::Silent {
            return;
        }
        print(&format!("{sentence}\n"));
    }

    /// Ends the bar.
    pub(crate) fn finish(&mut self) {
        if self.drawn.take().is_some() {
            print("\n");
        }
    }

    fn show(&mut self, doing: &str, bytes: u64) {
        match self.look {
            Look::Bar => {
                let due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW_EVERY);
                if due || bytes == self.total {
                    self.drawn = Some(Instant::now());
                    let bar = bar(doing, self.unit, bytes, self.total, self.rate(bytes));
                    print(&format!("\r{bar:<78}"));
                }
            }
            Look::Lines => {
                let tenths = bytes * 10 / self.total;
                if tenths > self.tenths {
                    self.tenths = tenths;
                    let total = self.unit.shown(self.total);
                    print(&format!("{doing}: {} % of {total}\n", tenths * 10));
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
}

fn bar(doing: &str, unit: Unit, bytes: u64, total: u64, rate: Option<u64>) -> String {
    let done = (bytes * BAR_COLUMNS / total) as usize;
    let (done, left) = ("#".repeat(done), ".".repeat(BAR_COLUMNS as usize - done));
    let (percent, all) = (bytes * 100 / total, unit.shown(total));
    let mut bar = format!("{doing} [{done}{left}] {percent} % of {all}");
    if let Some(rate) = rate.filter(|rate| *rate > 0) {
        let seconds = total.saturating_sub(bytes) / rate;
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        bar.push_str(&format!(", {}/s, {minutes}:{seconds:02} left", unit.shown(rate)));
    }
    bar
}

impl Unit {
    fn shown(self, count: u64) -> String {
        match self {
            Self::Megabytes => format!("{} MB", count / 1_000_000),
            #[cfg(feature = "local")]
            Self::Tokens => format!("{count} tokens"),
        }
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
        let bar = |bytes, rate| bar("fetching", Unit::Megabytes, bytes, total, rate);
        assert_eq!(
            bar(total / 2, Some(25_000_000)),
            "fetching [############............] 50 % of 1117 MB, 25 MB/s, 0:22 left"
        );
        assert!(bar(0, Some(1_000)).len() <= 78);
        assert_eq!(bar(0, None).matches('.').count(), 24);
    }
}

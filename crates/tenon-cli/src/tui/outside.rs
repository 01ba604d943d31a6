//! What the terminal tells besides keys: its background, from which the colours follow, and whether
//! its window has the focus; and what is told the person while it has not. Pure: bytes in and out.
//!
//! The background is asked for once, after the first frame, and nothing waits for the answer. Device
//! Attributes are asked for behind it, which every terminal answers: after that no answer comes.

use std::time::{Duration, Instant};

use tenon_model::visible;

use super::keyboard::Event;
use crate::{
    masked::masked,
    render::{Theme, measure},
    values::{NotifyName, ThemeName},
};

/// OSC 11 with a question mark, and Primary Device Attributes (ECMA-48 and xterm's ctlseqs).
const QUESTION: &str = "\u{1b}]11;?\u{1b}\\\u{1b}[c";
/// Focus events (DEC private mode 1004); the terminal is given back without them.
const TELL_FOCUS: &str = "\u{1b}[?1004h";
/// Without a word about the focus, who has not typed for so long is taken to look elsewhere.
const AWAY_AFTER: Duration = Duration::from_secs(10);
/// Columns of a notification.
const NOTICE_COLUMNS: usize = 120;
/// Terminals that understand the question, by the beginning of `TERM`. Others could print it: the
/// console of Linux does.
const ASKED: [&str; 14] = [
    "xterm",
    "tmux",
    "screen",
    "alacritty",
    "foot",
    "rxvt-unicode",
    "st-",
    "wezterm",
    "ghostty",
    "contour",
    "konsole",
    "vte",
    "gnome",
    "mlterm",
];
/// Terminals with the 256 colours of xterm whose name in `TERM` does not say so.
const COLOURFUL: [&str; 6] =
    ["xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour"];

/// How a terminal takes a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Desktop {
    /// OSC 9, from iTerm2.
    Osc9,
    /// OSC 777, from rxvt-unicode.
    Osc777,
}

/// The terminal, as its variables name it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    desktop: Desktop,
    is_in_tmux: bool,
    is_asked: bool,
    has_256_colours: bool,
}

/// What is known of the terminal, and what the person wants of it.
#[derive(Debug, Clone)]
pub(crate) struct Outside {
    terminal: Terminal,
    wanted: ThemeName,
    notify: NotifyName,
    /// The name of the folder that is worked in.
    folder: String,
    /// What follows from the terminal's answer.
    found: Theme,
    was_asked: bool,
    is_pending: bool,
    has_focus: Option<bool>,
    last_key: Instant,
}

/// What an event was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Something for others.
    No(Event),
    /// Something that is known now.
    Yes,
    /// The colours that are painted with from now on.
    Theme(Theme),
}

impl Terminal {
    /// Returns what follows from the variables of the environment.
    pub(crate) fn of<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Self {
        let term = variable("TERM").unwrap_or_default();
        let begins = |names: &[&str]| names.iter().any(|name| term.starts_with(name));
        let is_set = |name: &str| variable(name).is_some();
        let speaks_777 =
            is_set("VTE_VERSION") || is_set("KONSOLE_VERSION") || begins(&["rxvt", "foot"]);
        Self {
            desktop: if speaks_777 { Desktop::Osc777 } else { Desktop::Osc9 },
            is_in_tmux: is_set("TMUX"),
            // `screen` is also what tmux calls itself; GNU screen has no answer of its own.
            is_asked: begins(&ASKED) && (is_set("TMUX") || !is_set("STY")),
            has_256_colours: term.contains("256color")
                || term.contains("direct")
                || begins(&COLOURFUL)
                || is_set("COLORTERM"),
        }
    }

    /// Returns the colours that are wanted, as far as they are known without asking.
    pub(crate) fn theme(&self, wanted: ThemeName) -> Theme {
        match wanted {
            ThemeName::Dark if self.has_256_colours => Theme::Dark,
            ThemeName::Light if self.has_256_colours => Theme::Light,
            _ => Theme::Terminal,
        }
    }
}

impl Outside {
    pub(crate) fn new(
        terminal: Terminal,
        wanted: ThemeName,
        notify: NotifyName,
        folder: &str,
    ) -> Self {
        Self {
            terminal,
            wanted,
            notify,
            folder: visible(&masked(folder)).into_owned(),
            found: Theme::Terminal,
            was_asked: false,
            is_pending: false,
            has_focus: None,
            last_key: Instant::now(),
        }
    }

    /// Returns what the terminal is to be told whenever it is taken over.
    pub(crate) fn modes(&self) -> &'static str {
        if self.notify == NotifyName::Off { "" } else { TELL_FOCUS }
    }

    /// Returns what asks for the background, once and where it is wanted.
    pub(crate) fn question(&mut self) -> &'static str {
        let is_wanted = self.wanted == ThemeName::Auto && self.terminal.has_256_colours;
        if !is_wanted || !self.terminal.is_asked || self.was_asked {
            return "";
        }
        (self.was_asked, self.is_pending) = (true, true);
        QUESTION
    }

    /// Returns whether an answer may still come; who gets the terminal next must not find it.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Takes in that no answer is waited for any more.
    pub(crate) fn give_up(&mut self) {
        self.is_pending = false;
    }

    /// Takes in an event.
    pub(crate) fn take_in(&mut self, event: Event, now: Instant) -> Told {
        match event {
            Event::Background(parts) => {
                self.found = by_background(parts);
                Told::Theme(self.theme())
            }
            Event::Attributes => {
                self.is_pending = false;
                Told::Yes
            }
            Event::Focus(has_focus) => {
                self.has_focus = Some(has_focus);
                Told::Yes
            }
            other => {
                self.last_key = now;
                Told::No(other)
            }
        }
    }

    /// Chooses other colours and returns them.
    pub(crate) fn choose(&mut self, wanted: ThemeName) -> Theme {
        self.wanted = wanted;
        self.theme()
    }

    /// Returns what tells the person `said`; nothing while the person is there.
    pub(crate) fn notice(&self, said: &str, now: Instant) -> String {
        let is_here = match self.has_focus {
            Some(has_focus) => has_focus,
            None => now.duration_since(self.last_key) < AWAY_AFTER,
        };
        match self.notify {
            _ if is_here => String::new(),
            NotifyName::Off => String::new(),
            NotifyName::Bell => "\u{7}".to_owned(),
            NotifyName::Desktop => self.desktop(said),
        }
    }

    fn theme(&self) -> Theme {
        match self.wanted {
            ThemeName::Auto if self.terminal.has_256_colours => self.found,
            wanted => self.terminal.theme(wanted),
        }
    }

    fn desktop(&self, said: &str) -> String {
        // A semicolon would end a field, and a number in front of one is a command of OSC 9.
        let clean = |text: &str| visible(text).replace(['\n', '\t'], " ").replace(';', ",");
        let body = measure::cut(&clean(&format!("{}: {said}", self.folder)), NOTICE_COLUMNS).text;
        let sequence = match self.terminal.desktop {
            Desktop::Osc9 => format!("\u{1b}]9;tenon · {body}\u{1b}\\"),
            Desktop::Osc777 => format!("\u{1b}]777;notify;tenon;{body}\u{1b}\\"),
        };
        if !self.terminal.is_in_tmux {
            return sequence;
        }
        // tmux passes on what stands in such an envelope, if `allow-passthrough` is on.
        format!("\u{1b}Ptmux;{}\u{1b}\\", sequence.replace('\u{1b}', "\u{1b}\u{1b}"))
    }
}

/// Returns the colours for a background of red, green and blue: by how light a person sees it
/// (ITU-R BT.601, as every terminal program reckons it).
fn by_background([red, green, blue]: [u8; 3]) -> Theme {
    let lightness = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
    if lightness > 127_500 { Theme::Light } else { Theme::Dark }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variables<'a> = &'a [(&'a str, &'static str)];

    fn terminal(variables: Variables<'_>) -> Terminal {
        Terminal::of(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
        })
    }

    fn outside(variables: Variables<'_>, wanted: ThemeName) -> Outside {
        Outside::new(terminal(variables), wanted, NotifyName::Desktop, "my;work\u{1b}")
    }

    #[test]
    fn only_terminals_that_understand_the_question_are_asked_and_only_once() {
        let cases: [(Variables<'_>, ThemeName, bool); 9] = [
            (&[("TERM", "xterm-256color")], ThemeName::Auto, true),
            (&[("TERM", "xterm-kitty")], ThemeName::Auto, true),
            (&[("TERM", "tmux-256color")], ThemeName::Auto, true),
            (&[("TERM", "screen-256color"), ("TMUX", "x")], ThemeName::Auto, true),
            (&[("TERM", "screen-256color"), ("STY", "x")], ThemeName::Auto, false),
            (&[("TERM", "linux"), ("COLORTERM", "truecolor")], ThemeName::Auto, false),
            (&[("TERM", "vt220"), ("COLORTERM", "truecolor")], ThemeName::Auto, false),
            (&[("TERM", "xterm")], ThemeName::Auto, false),
            (&[("TERM", "xterm-256color")], ThemeName::Dark, false),
        ];
        for (variables, wanted, is_asked) in cases {
            let mut outside = outside(variables, wanted);
            assert_eq!(outside.question() == QUESTION, is_asked, "{variables:?}");
            assert_eq!(outside.is_pending(), is_asked);
            assert_eq!(outside.question(), "");
        }
    }

    #[test]
    fn the_colours_follow_the_answer_whenever_it_comes() {
        let now = Instant::now();
        let mut outside = outside(&[("TERM", "xterm-256color")], ThemeName::Auto);
        outside.question();
        let light = Event::Background([253, 246, 227]);
        assert_eq!(outside.take_in(light, now), Told::Theme(Theme::Light));
        assert!(outside.is_pending());
        assert_eq!(outside.take_in(Event::Attributes, now), Told::Yes);
        assert!(!outside.is_pending());
        assert_eq!(outside.choose(ThemeName::Dark), Theme::Dark);
        assert_eq!(outside.choose(ThemeName::Terminal), Theme::Terminal);
        assert_eq!(outside.choose(ThemeName::Auto), Theme::Light);
        let paste = Event::Paste(String::new());
        assert_eq!(outside.take_in(paste.clone(), now), Told::No(paste));
    }

    #[test]
    fn a_terminal_with_few_colours_keeps_its_own() {
        assert_eq!(terminal(&[("TERM", "xterm")]).theme(ThemeName::Light), Theme::Terminal);
        assert_eq!(terminal(&[("TERM", "foot")]).theme(ThemeName::Light), Theme::Light);
    }

    #[test]
    fn who_is_there_is_not_told_and_nothing_of_a_name_reaches_the_terminal() {
        let now = Instant::now();
        let later = now + AWAY_AFTER;
        let mut outside = outside(&[("TERM", "xterm-256color")], ThemeName::Auto);
        outside.last_key = now;
        assert_eq!(outside.notice("done", now), "");
        assert_eq!(outside.notice("done", later), "\u{1b}]9;tenon · my,work␛: done\u{1b}\\");
        outside.take_in(Event::Focus(true), now);
        assert_eq!(outside.notice("done", later), "");
        outside.take_in(Event::Focus(false), now);
        assert!(!outside.notice("done", now).is_empty());
        outside.notify = NotifyName::Bell;
        assert_eq!(outside.notice("done", now), "\u{7}");
        outside.notify = NotifyName::Off;
        assert_eq!((outside.notice("done", now), outside.modes()), (String::new(), ""));
        outside.notify = NotifyName::Desktop;
        outside.terminal = terminal(&[("TERM", "foot"), ("TMUX", "x")]);
        let expected =
            "\u{1b}Ptmux;\u{1b}\u{1b}]777;notify;tenon;my,work␛: a,b c\u{1b}\u{1b}\\\u{1b}\\";
        assert_eq!(outside.notice("a;b\nc", now), expected);
    }
}

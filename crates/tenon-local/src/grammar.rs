//! The grammar of one reply: which bytes may come next, and which must.
//!
//! It only forbids: the model's own choice stands wherever the grammar has no objection. It
//! works on bytes because tokens end in the middle of tags and characters. Cheap to copy, so
//! that a token is tried on a copy. Pure.

/// Attribute values longer than this are no path and no pattern.
const ATTRIBUTE_BYTES_MAX: u16 = 400;

/// Where in a block the reply stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grammar {
    place: Place,
}

/// Which blocks may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// All seven.
    All,
    /// Only an edit.
    Edits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the opening tag, of which the first bytes are written; some of the openings match.
    Opening { matching: u8, written: u8 },
    /// In an attribute, `bytes` long so far; it is followed by what `Next` says.
    Attribute { bytes: u16, next: Next },
    /// In fixed text, of which the first bytes are written.
    Fixed { text: &'static str, written: u8, then: Then },
    /// In free text that ends with `closing`, of which the last `matched` bytes stand there.
    Body { closing: &'static str, matched: u8, some: bool, then: Then },
    /// The block is complete.
    Done,
}

/// What follows an attribute's closing quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// `/>`, and the block is complete.
    End,
    /// The same, but the attribute may be empty.
    EndOrEmpty,
    /// `>`, and the file's text.
    Content,
    /// `>`, and the text to replace.
    Old,
    /// ` path="`.
    Path,
}

/// What follows fixed or free text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Content,
    Old,
    BetweenOldAndNew,
    New,
    AfterNew,
    Path,
    Done,
}

const OPENINGS: [&str; 7] = [
    "<bash>",
    "<read_file path=\"",
    "<write_file path=\"",
    "<edit_file path=\"",
    "<grep pattern=\"",
    "<glob pattern=\"",
    "<answer>",
];
const EDIT: u8 = 1 << 3;
const ALL: u8 = 0x7f;

impl Grammar {
    /// Returns the grammar before the first byte of a reply.
    pub fn new(allowed: Allowed) -> Self {
        let matching = match allowed {
            Allowed::All => ALL,
            Allowed::Edits => EDIT,
        };
        Self { place: Place::Opening { matching, written: 0 } }
    }

    /// Returns whether the block is complete.
    pub fn is_done(&self) -> bool {
        self.place == Place::Done
    }

    /// Returns whether the reply is an answer's text now, which people may see as it comes.
    pub fn in_answer(&self) -> bool {
        matches!(self.place, Place::Body { closing: "</answer>", .. })
    }

    /// Returns, within free text, its closing tag and how many bytes of that are written.
    pub(crate) fn closing(&self) -> Option<(&'static str, usize)> {
        match self.place {
            Place::Body { closing, matched, .. } => Some((closing, usize::from(matched))),
            _ => None,
        }
    }

    /// Returns whether text is written that often repeats what was read.
    pub fn in_code(&self) -> bool {
        matches!(self.place, Place::Body { closing: "</old>" | "</new>" | "</write_file>", .. })
    }

    /// Takes `bytes`, or returns nothing where one of them is forbidden.
    #[must_use]
    pub fn after(mut self, bytes: &[u8]) -> Option<Self> {
        for byte in bytes {
            self.place = self.place.after(*byte)?;
        }
        Some(self)
    }

    /// Returns the text that must come next; empty where there is a choice.
    pub fn forced(&self) -> String {
        let mut forced = String::new();
        let mut place = self.place;
        while let Some(byte) = place.only_byte() {
            forced.push(char::from(byte));
            match place.after(byte) {
                Some(next) => place = next,
                None => break,
            }
        }
        forced
    }
}

impl Place {
    /// Returns the only byte that may come, if there is only one. Always ASCII.
    fn only_byte(self) -> Option<u8> {
        match self {
            Self::Opening { matching, written } => {
                let mut next = OPENINGS
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| matching & (1 << at) != 0)
                    .filter_map(|(_, opening)| opening.as_bytes().get(usize::from(written)));
                let first = next.next().copied()?;
                next.all(|byte| *byte == first).then_some(first)
            }
            Self::Fixed { text, written, .. } => text.as_bytes().get(usize::from(written)).copied(),
            _ => None,
        }
    }

    fn after(self, byte: u8) -> Option<Self> {
        match self {
            Self::Opening { matching, written } => opening(matching, written, byte),
            Self::Attribute { bytes: 0, next } if byte == b'"' && next != Next::EndOrEmpty => None,
            Self::Attribute { next, .. } if byte == b'"' => Some(match next {
                Next::End | Next::EndOrEmpty => fixed("/>", Then::Done),
                Next::Content => fixed(">", Then::Content),
                Next::Old => fixed(">\n<old>", Then::Old),
                Next::Path => fixed(" path=\"", Then::Path),
            }),
            Self::Attribute { bytes, next } => {
                let bytes = bytes + 1;
                let right = bytes <= ATTRIBUTE_BYTES_MAX && byte != b'\n' && byte != b'\r';
                right.then_some(Self::Attribute { bytes, next })
            }
            Self::Fixed { text, written, then } => {
                let expected = text.as_bytes().get(usize::from(written))?;
                let written = written + 1;
                if *expected != byte {
                    None
                } else if usize::from(written) == text.len() {
                    Some(then.place())
                } else {
                    Some(Self::Fixed { text, written, then })
                }
            }
            Self::Body { closing, matched, some, then } => {
                // `<` stands only at the start of a closing tag, so a mismatch begins anew at most.
                let before = matched;
                let matched = match closing.as_bytes().get(usize::from(matched)) {
                    Some(expected) if *expected == byte => matched + 1,
                    _ => u8::from(byte == b'<'),
                };
                if usize::from(matched) == closing.len() {
                    return some.then(|| then.place());
                }
                // Blanks are no command and no answer; the closing tag itself is no text.
                let some = some
                    || matched == 0 && !byte.is_ascii_whitespace()
                    || before > 0 && matched <= before;
                Some(Self::Body { closing, matched, some, then })
            }
            Self::Done => None,
        }
    }
}

impl Then {
    fn place(self) -> Place {
        match self {
            Self::Content => body("</write_file>", MayBeEmpty::Yes, Self::Done),
            Self::Old => body("</old>", MayBeEmpty::No, Self::BetweenOldAndNew),
            Self::BetweenOldAndNew => fixed("\n<new>", Self::New),
            Self::New => body("</new>", MayBeEmpty::Yes, Self::AfterNew),
            Self::AfterNew => fixed("\n</edit_file>", Self::Done),
            Self::Path => Place::Attribute { bytes: 0, next: Next::EndOrEmpty },
            Self::Done => Place::Done,
        }
    }
}

#[derive(PartialEq)]
enum MayBeEmpty {
    Yes,
    No,
}

fn body(closing: &'static str, empty: MayBeEmpty, then: Then) -> Place {
    Place::Body { closing, matched: 0, some: empty == MayBeEmpty::Yes, then }
}

fn fixed(text: &'static str, then: Then) -> Place {
    Place::Fixed { text, written: 0, then }
}

fn opening(matching: u8, written: u8, byte: u8) -> Option<Place> {
    let mut still = 0;
    for (at, opening) in OPENINGS.iter().enumerate() {
        if matching & (1 << at) == 0 || opening.as_bytes().get(usize::from(written)) != Some(&byte)
        {
            continue;
        }
        if opening.len() == usize::from(written) + 1 {
            return Some(match at {
                0 => body("</bash>", MayBeEmpty::No, Then::Done),
                1 | 5 => Place::Attribute { bytes: 0, next: Next::End },
                2 => Place::Attribute { bytes: 0, next: Next::Content },
                3 => Place::Attribute { bytes: 0, next: Next::Old },
                4 => Place::Attribute { bytes: 0, next: Next::Path },
                _ => body("</answer>", MayBeEmpty::No, Then::Done),
            });
        }
        still |= 1 << at;
    }
    (still != 0).then_some(Place::Opening { matching: still, written: written + 1 })
}

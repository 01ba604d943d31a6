//! Changes inputs: bits, bytes, pieces, words, lengths, numbers. The same seed gives the same
//! inputs as long as the targets behave the same.

/// Inputs grow no longer than this; what is longer only takes time.
const INPUT_BYTES_MAX: usize = 8 * 1024;
/// Numbers at the edges of the types that parsers use.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "255",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "1e308",
    "1e999",
    "0.5",
    "-0",
];
const BYTES: &[u8] = b"\0\n\r\t \"'\\/.,:;{}[]()<>=#$&|`~*?!-%\x1b\x7f\x80\xc3\xe6\xf0\xff";

/// Makes new inputs from known ones.
pub(crate) struct Mutator {
    state: u64,
    words: &'static [&'static str],
}

impl Mutator {
    pub(crate) fn new(seed: u64, words: &'static [&'static str]) -> Self {
        Self { state: seed, words }
    }

    /// Returns one of `corpus` with one to eight changes.
    pub(crate) fn next(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.pick(corpus).cloned().unwrap_or_default();
        for _ in 0..1 << self.below(4) {
            self.change(&mut input, corpus);
        }
        input.truncate(INPUT_BYTES_MAX);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let (start, end) = self.range(input.len());
        match self.below(12) {
            0 => {
                let bit = 1 << self.below(8);
                input.iter_mut().skip(start).take(1).for_each(|byte| *byte ^= bit);
            }
            1 => {
                let byte = self.byte();
                input.iter_mut().skip(start).take(1).for_each(|place| *place = byte);
            }
            2 => input.insert(start, self.byte()),
            3 => drop(input.drain(start..end)),
            4 => input.truncate(start),
            5 => {
                let piece = input.get(start..end).unwrap_or_default().to_vec();
                let times = 1 << self.below(8);
                let room = INPUT_BYTES_MAX.saturating_sub(input.len());
                let more: Vec<u8> = piece.repeat(times).into_iter().take(room).collect();
                input.splice(end..end, more);
            }
            6 => {
                let (from, to) = self.range(input.len());
                let piece = input.get(from..to).unwrap_or_default().to_vec();
                input.splice(start..end, piece);
            }
            7 => {
                let other = self.pick(corpus).cloned().unwrap_or_default();
                let (from, to) = self.range(other.len());
                input.splice(start..end, other.get(from..to).unwrap_or_default().to_vec());
            }
            8 => {
                let number = self.pick(NUMBERS).copied().unwrap_or_default();
                let digits = |byte: &u8| byte.is_ascii_digit();
                let from = input.iter().skip(start).position(digits).map_or(start, |at| start + at);
                let length = input.iter().skip(from).take_while(|byte| digits(byte)).count();
                input.splice(from..from + length, number.bytes());
            }
            9 => {
                let word = self.pick(self.words).copied().unwrap_or_default();
                input.splice(start..end, word.bytes());
            }
            _ => {
                let word = self.pick(self.words).copied().unwrap_or_default();
                input.splice(start..start, word.bytes());
            }
        }
    }

    /// A short range within `0..=length`; long ones are rarer.
    fn range(&mut self, length: usize) -> (usize, usize) {
        let start = self.below(length + 1);
        let longest = 1 << self.below(10);
        (start, length.min(start + self.below(longest + 1)))
    }

    fn byte(&mut self) -> u8 {
        let any = self.below(256) as u8;
        if self.below(2) == 0 { any } else { self.pick(BYTES).copied().unwrap_or(any) }
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// A number below `bound`, or 0; splitmix64 (Steele, Lea, Flood 2014).
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) as usize).checked_rem(bound).unwrap_or(0)
    }
}

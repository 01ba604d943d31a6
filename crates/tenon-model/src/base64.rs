//! Base64 (RFC 4648, section 4): in which providers take pictures, and terminals text for their
//! clipboard.

const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns `bytes` in base64, padded.
pub fn encode(bytes: &[u8]) -> String {
    let sign = |bits: u32| SIGNS.get((bits & 63) as usize).copied().map_or('=', char::from);
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    let (groups, rest) = bytes.as_chunks::<3>();
    for [first, second, third] in groups {
        let bits = u32::from(*first) << 16 | u32::from(*second) << 8 | u32::from(*third);
        text.extend([sign(bits >> 18), sign(bits >> 12), sign(bits >> 6), sign(bits)]);
    }
    match rest {
        [first] => {
            let bits = u32::from(*first) << 16;
            text.extend([sign(bits >> 18), sign(bits >> 12), '=', '=']);
        }
        [first, second] => {
            let bits = u32::from(*first) << 16 | u32::from(*second) << 8;
            text.extend([sign(bits >> 18), sign(bits >> 12), sign(bits >> 6), '=']);
        }
        _ => {}
    }
    text
}

/// Returns the bytes that padded base64 stands for; `None` if it is none.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    if !text.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let signs = text.as_bytes().get(..text.len() - padding)?;
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in signs.chunks(4) {
        let mut bits = 0;
        for place in 0..4 {
            bits = bits << 6 | u32::from(group.get(place).map_or(Some(0), |sign| value(*sign))?);
        }
        let [_, first, second, third] = bits.to_be_bytes();
        bytes.extend([first, second, third].into_iter().take(group.len() - 1));
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_vectors_of_the_rfc_hold() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (text, expected) in cases {
            assert_eq!(encode(text.as_bytes()), expected);
            assert_eq!(decode(expected).as_deref(), Some(text.as_bytes()));
        }
        for wrong in ["Z", "Zg=", "Zg", "Z===", "Zm9v\n", "Zm-v", "=Zg=", "Zg==Zg=="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
    }
}

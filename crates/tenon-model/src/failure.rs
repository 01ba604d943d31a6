//! What a server's refusal means: status and words in, [`ProviderError`] out. Pure.

use serde_json::Value;

use crate::{
    provider::{ProviderError, ProviderErrorKind},
    text::visible,
};

/// How much of a server's own words stands in an error: a sentence or two.
const WORDS_CHARACTERS_MAX: usize = 500;

/// Words by which servers say that a conversation is too long for the model.
const TOO_LONG: [&str; 12] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "exceed context limit",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "exceed_context_size",
    "range of input length",
    "exceeds the maximum number of tokens",
];

/// Words by which servers say that credit is used up.
const NO_CREDIT: [&str; 7] = [
    "insufficient_quota",
    "exceeded your current quota",
    "credit balance is too low",
    "billing_error",
    "insufficient balance",
    "insufficient_user_quota",
    "insufficient credits",
];

/// Whom an error speaks of.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// Host and port.
    pub(crate) host: String,
    /// The environment variable that usually holds the key, for hints.
    pub(crate) key_variable: &'static str,
}

impl Server {
    /// Returns the error for a reply with `status` and `body`.
    pub(crate) fn refused(&self, status: u16, body: &[u8]) -> ProviderError {
        let text = String::from_utf8_lossy(body);
        let (words, codes) = match serde_json::from_str::<Value>(&text) {
            Ok(value) => words_of(&value),
            // A page for people says less than the status.
            Err(_) if text.trim_start().starts_with('<') => Default::default(),
            Err(_) => (text.into_owned(), String::new()),
        };
        let kind = by_words(&words, &codes).filter(|_| status != 401).unwrap_or(by_status(status));
        let said = if words.trim().is_empty() { "(no reason given)".to_owned() } else { words };
        self.error(kind, &format!("{} answered {status}: {}", self.host, one_line(&said)))
    }

    /// Returns the error for an error object in the middle of a reply. `value` is the object that
    /// has the `error` member, or the error itself.
    pub(crate) fn broke_off(&self, value: &Value) -> ProviderError {
        let (words, codes) = words_of(value);
        let status = codes.split(' ').find_map(|code| code.parse::<u16>().ok());
        let kind = by_words(&words, &codes)
            .or_else(|| by_codes(&codes))
            .or_else(|| status.filter(|code| *code >= 400).map(by_status))
            .unwrap_or(ProviderErrorKind::Server);
        let said = if words.trim().is_empty() { &codes } else { &words };
        self.error(kind, &format!("{} reported an error: {}", self.host, one_line(said)))
    }

    /// Returns the error for a reply that is not the protocol.
    pub(crate) fn not_understood(&self, what: &str) -> ProviderError {
        ProviderError::new(
            ProviderErrorKind::Protocol,
            format!("{} sent {}", self.host, one_line(what)),
        )
        .with_hint("check that the base URL points to the API and not to a web page")
    }

    /// Returns the error for a reply, or an event of one, that is larger than what is read.
    pub(crate) fn too_large(&self, what: &str) -> ProviderError {
        ProviderError::new(ProviderErrorKind::Protocol, format!("{} sent {what}", self.host))
            .with_hint(
                "no model says so much at once: see the server's own log, and check the base URL",
            )
    }

    /// Returns the error for a stream that ended before the reply did.
    pub(crate) fn ended_early(&self) -> ProviderError {
        ProviderError::new(
            ProviderErrorKind::Dropped,
            format!("{} ended the stream in the middle of the reply", self.host),
        )
    }

    /// Returns the error for an event of a stream that cannot be read: it was cut or garbled on its way.
    /// Of the first one, whole, it is also told that it is not of the interface `api`.
    pub(crate) fn unread(
        &self,
        error: &serde_json::Error,
        api: &str,
        has_begun: bool,
    ) -> ProviderError {
        let kind = ProviderErrorKind::Dropped;
        if has_begun || error.is_eof() {
            let said = format!("{} sent a broken event in the middle of the reply", self.host);
            return ProviderError::new(kind, said);
        }
        let error = self.not_understood(&format!("an event that is not of {api}: {error}"));
        ProviderError { kind, ..error }
    }

    /// Returns the error for a stream that ended without anything in it.
    pub(crate) fn said_nothing(&self) -> ProviderError {
        ProviderError::new(
            ProviderErrorKind::Dropped,
            format!("{} ended the stream without a reply", self.host),
        )
        .with_hint(
            "some servers do so when the conversation is longer than their context: see the server's own log",
        )
    }

    fn error(&self, kind: ProviderErrorKind, sentence: &str) -> ProviderError {
        let error = ProviderError::new(kind, sentence);
        let hint = match kind {
            ProviderErrorKind::Unauthorized => {
                return error.with_hint(format!("check the key in {}", self.key_variable));
            }
            ProviderErrorKind::Forbidden => "the key may not use this model or this address",
            ProviderErrorKind::NotFound => "check the model's name and the base URL",
            ProviderErrorKind::ContextTooLong => "start a new session or shorten this one",
            ProviderErrorKind::QuotaExhausted => "add credit, or choose another provider",
            ProviderErrorKind::RateLimited => "wait a while, or choose another model",
            ProviderErrorKind::Overloaded => "try again later, or choose another model",
            _ => return error,
        };
        error.with_hint(hint)
    }
}

impl ProviderError {
    /// Returns how many tokens the model's window has, if the server said so when the conversation
    /// was too long for it: `maximum context length is 8192 tokens`, `215000 tokens > 200000
    /// maximum`, `context size (4096 tokens)`, and the other forms that servers are known to use.
    ///
    /// ```
    /// use tenon_model::{ProviderError, ProviderErrorKind};
    ///
    /// let words = "prompt is too long: 215000 tokens > 200000 maximum";
    /// let error = ProviderError::new(ProviderErrorKind::ContextTooLong, words);
    /// assert_eq!(error.context_window_tokens(), Some(200_000));
    /// ```
    pub fn context_window_tokens(&self) -> Option<u32> {
        match self.kind {
            ProviderErrorKind::ContextTooLong => window_in(&self.message),
            _ => None,
        }
    }
}

/// Returns the sentence for people, and type and code joined by blanks.
fn words_of(value: &Value) -> (String, String) {
    let error = match value.get("error") {
        Some(Value::Null) | None => value,
        Some(error) => error,
    };
    if let Value::String(words) = error {
        return (words.clone(), String::new());
    }
    let detail = error.get("detail");
    let words = [error.get("message"), error.get("msg"), detail, value.get("message")]
        .into_iter()
        .flatten()
        .find(|words| !words.is_null());
    let words = match words {
        Some(Value::String(words)) => words.clone(),
        Some(other) => other.to_string(),
        None if error.as_object().is_none_or(|object| object.is_empty()) => String::new(),
        None => error.to_string(),
    };
    let codes: Vec<String> = ["type", "code", "status"]
        .iter()
        .filter_map(|name| match error.get(*name)? {
            Value::String(code) => Some(code.clone()),
            Value::Number(code) => Some(code.to_string()),
            _ => None,
        })
        .collect();
    (words, codes.join(" "))
}

fn by_words(words: &str, codes: &str) -> Option<ProviderErrorKind> {
    let all = format!("{codes} {words}").to_lowercase();
    let any = |signs: &[&str]| signs.iter().any(|sign| all.contains(sign));
    if any(&NO_CREDIT) {
        Some(ProviderErrorKind::QuotaExhausted)
    } else if any(&TOO_LONG) {
        Some(ProviderErrorKind::ContextTooLong)
    } else {
        None
    }
}

fn by_codes(codes: &str) -> Option<ProviderErrorKind> {
    let known = [
        ("overloaded", ProviderErrorKind::Overloaded),
        ("rate_limit", ProviderErrorKind::RateLimited),
        ("authentication", ProviderErrorKind::Unauthorized),
        ("permission", ProviderErrorKind::Forbidden),
        ("not_found", ProviderErrorKind::NotFound),
        ("invalid_request", ProviderErrorKind::BadRequest),
    ];
    let codes = codes.to_lowercase();
    known.into_iter().find(|(sign, _)| codes.contains(sign)).map(|(_, kind)| kind)
}

fn by_status(status: u16) -> ProviderErrorKind {
    match status {
        401 => ProviderErrorKind::Unauthorized,
        402 => ProviderErrorKind::QuotaExhausted,
        403 => ProviderErrorKind::Forbidden,
        404 => ProviderErrorKind::NotFound,
        408 => ProviderErrorKind::Stalled,
        413 => ProviderErrorKind::ContextTooLong,
        429 => ProviderErrorKind::RateLimited,
        503 | 529 => ProviderErrorKind::Overloaded,
        400..=499 => ProviderErrorKind::BadRequest,
        _ => ProviderErrorKind::Server,
    }
}

/// Words behind which servers write the size of the window, nearest to the number last.
const WINDOW_FOLLOWS: [&str; 8] = [
    "maximum context length is",
    "context window of",
    "context size (",
    "context length of",
    "maximum number of tokens allowed (",
    "tokens >",
    "context window is",
    "n_ctx",
];

/// The smallest window that is believed, in tokens; smaller numbers count something else.
const WINDOW_TOKENS_MIN: u32 = 256;

/// Returns the size of the window in `words`.
fn window_in(words: &str) -> Option<u32> {
    let words = words.to_lowercase();
    let numbers = |text: &str| -> Vec<u32> {
        let parts = text.split(|c: char| !c.is_ascii_digit() && c != ',');
        parts.filter_map(|part| part.replace(',', "").parse().ok()).collect()
    };
    let believed = |number: &u32| *number >= WINDOW_TOKENS_MIN;
    // `length and max_tokens exceed context limit: 188240 + 21333 > 200000`, and Qwen's range
    // `[1, 30720]`: the number stands last.
    if let Some((_, rest)) = words.split_once("range of input length should be [") {
        let range = rest.split(']').next().unwrap_or_default();
        return range.split(',').next_back().and_then(|last| numbers(last).pop());
    }
    if let Some((_, rest)) = words.split_once("context limit:") {
        return rest.split_once('>').and_then(|(_, last)| numbers(last).into_iter().find(believed));
    }
    WINDOW_FOLLOWS.iter().find_map(|sign| {
        let (_, rest) = words.split_once(sign)?;
        numbers(rest).into_iter().next().filter(believed)
    })
}

/// Returns the words on one line, bounded and made visible.
fn one_line(words: &str) -> String {
    let joined = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = visible(&joined);
    match shown.char_indices().nth(WORDS_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ProviderErrorKind as Kind;

    fn server() -> Server {
        Server { host: "host".into(), key_variable: "KEY" }
    }

    #[test]
    fn a_refusal_keeps_the_servers_words_and_gets_its_kind() {
        let cases = [
            (
                401,
                r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
                Kind::Unauthorized,
                "invalid x-api-key",
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 215000 tokens > 200000 maximum"}}"#,
                Kind::ContextTooLong,
                "prompt is too long: 215000 tokens > 200000 maximum",
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#,
                Kind::ContextTooLong,
                "This model's maximum context length is 8192 tokens.",
            ),
            (
                500,
                r#"{"error":{"message":"Requested tokens (2048) exceed context window of 512"}}"#,
                Kind::ContextTooLong,
                "Requested tokens (2048) exceed context window of 512",
            ),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}"#,
                Kind::QuotaExhausted,
                "You exceeded your current quota",
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
                Kind::QuotaExhausted,
                "Your credit balance is too low",
            ),
            (
                402,
                r#"{"error":{"message":"Insufficient Balance"}}"#,
                Kind::QuotaExhausted,
                "Insufficient Balance",
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit reached. Add billing"}}"#,
                Kind::RateLimited,
                "Rate limit reached. Add billing",
            ),
            (
                529,
                r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Kind::Overloaded,
                "Overloaded",
            ),
            (404, r#"{"error":"model 'x' not found"}"#, Kind::NotFound, "model 'x' not found"),
            (
                422,
                r#"{"detail":[{"msg":"field required"}]}"#,
                Kind::BadRequest,
                r#"[{"msg":"field required"}]"#,
            ),
            (
                400,
                r#"{"object":"error","message":"bad tools","code":400}"#,
                Kind::BadRequest,
                "bad tools",
            ),
            (502, "<html><h1>Bad Gateway</h1></html>", Kind::Server, "(no reason given)"),
            (403, "no\n\x1b[31mentry", Kind::Forbidden, "no ␛[31mentry"),
            (500, "", Kind::Server, "(no reason given)"),
        ];
        for (status, body, kind, words) in cases {
            let error = server().refused(status, body.as_bytes());
            assert_eq!(error.message, format!("host answered {status}: {words}"));
            assert_eq!(error.kind, kind, "{body}");
        }
        let hint = server().refused(401, b"").hint;
        assert_eq!(hint.as_deref(), Some("check the key in KEY"));
        assert_eq!(
            server().refused(500, "x".repeat(9_000).as_bytes()).message.chars().count(),
            520
        );
    }

    #[test]
    fn the_window_is_read_from_what_servers_say() {
        let cases = [
            ("prompt is too long: 215000 tokens > 200000 maximum", Some(200_000)),
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9000 \
                 tokens (808 in the messages, 8192 in the completion).",
                Some(8_192),
            ),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, \
                 decrease input length",
                Some(200_000),
            ),
            ("Requested tokens (2048) exceed context window of 512", Some(512)),
            ("the request exceeds the available context size (4096 tokens)", Some(4_096)),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed \
                 (1048576).",
                Some(1_048_576),
            ),
            ("Range of input length should be [1, 30720]", Some(30_720)),
            ("maximum context length is 131,072 tokens", Some(131_072)),
            ("Your input exceeds the context window of this model.", None),
            ("too long", None),
        ];
        for (words, expected) in cases {
            assert_eq!(window_in(words), expected, "{words}");
        }
    }

    #[test]
    fn an_error_in_mid_reply_gets_its_kind_from_its_codes() {
        let cases = [
            (
                json!({"error": {"type": "overloaded_error", "message": "Overloaded"}}),
                Kind::Overloaded,
            ),
            (json!({"error": {"type": "api_error", "message": "Internal"}}), Kind::Server),
            (json!({"error": {"code": 429, "message": "slow down"}}), Kind::RateLimited),
            (json!({"error": {"code": "502", "message": "upstream"}}), Kind::Server),
            (json!({"error": "something broke"}), Kind::Server),
            (
                json!({"error": {"code": "context_length_exceeded", "message": "x"}}),
                Kind::ContextTooLong,
            ),
            (
                json!({"object": "error", "message": "bad", "type": "invalid_request_error"}),
                Kind::BadRequest,
            ),
        ];
        for (value, kind) in cases {
            assert_eq!(server().broke_off(&value).kind, kind, "{value}");
        }
    }
}

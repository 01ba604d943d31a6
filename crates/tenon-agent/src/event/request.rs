//! What a request is besides what the model reads.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a request is sent, besides what is in it.
///
/// ```
/// use tenon_agent::RequestForm;
///
/// let form = RequestForm { output_tokens_max: 8_192, is_limited: false, wire: None, body: None };
/// assert_eq!(serde_json::to_string(&form)?, r#"{"output_tokens_max":8192}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestForm {
    /// The largest reply that is asked for, in tokens.
    pub output_tokens_max: u32,
    /// Whether that is less than model and window allow, by a limit of the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_limited: bool,
    /// How its body is written, as [`tenon_model::written_again`] takes it; missing for models that are
    /// sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Value>,
    /// Hash of the body; missing if it has images, whose bytes no log has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

//! Base URLs as people write them. Pure.

use reqwest::Url;

use super::configuration;
use crate::provider::ProviderError;

/// Returns the address of an endpoint, `path` being its words after the version
/// (`chat/completions`).
///
/// `base` may lack its scheme (`localhost:11434`), end in slashes, hold a version (`/v1`, and
/// `/api/paas/v4` or `/v1beta/openai` as others have it) or be the whole address; where it has no
/// version, `/v1` is put in.
pub(crate) fn endpoint(base: &str, path: &str) -> Result<Url, ProviderError> {
    let base = base.trim();
    let mut url = parse(base)?;
    let mut segments: Vec<&str> =
        url.path().split('/').filter(|segment| !segment.is_empty()).collect();
    let whole = segments.join("/");
    if !(whole == path || whole.ends_with(&format!("/{path}"))) {
        if !segments.iter().any(|segment| is_version(segment)) {
            segments.push("v1");
        }
        segments.push(path);
    }
    let path = segments.join("/");
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url)
}

/// Returns host and port as they are shown: no user, no password, no query.
pub(crate) fn display_host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns whether `url` points to this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = host.strip_suffix('.').unwrap_or(host);
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn parse(base: &str) -> Result<Url, ProviderError> {
    let wrong = |words: &str| {
        // What stands before an @ may be a password.
        let shown = base.rsplit('@').next().unwrap_or_default();
        configuration(format!("The base URL {shown:?} {words}"))
            .with_hint("a base URL looks like https://host/v1 or http://localhost:11434")
    };
    let url = if base.contains("://") {
        Url::parse(base)
    } else {
        let plain = Url::parse(&format!("http://{base}"));
        match &plain {
            Ok(url) if is_loopback(url) => plain,
            _ => Url::parse(&format!("https://{base}")),
        }
    };
    let url = url.map_err(|error| wrong(&format!("is not a URL: {error}")))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(wrong(&format!("has the scheme {scheme:?}"))),
    }
}

/// `v1`, `v4`, `v1beta`.
fn is_version(segment: &str) -> bool {
    let mut characters = segment.chars();
    characters.next() == Some('v') && characters.next().is_some_and(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_understood_as_people_write_them() {
        let chat = [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com", "https://api.openai.com/v1/chat/completions"),
            ("api.deepseek.com", "https://api.deepseek.com/v1/chat/completions"),
            ("localhost:11434", "http://localhost:11434/v1/chat/completions"),
            ("http://127.0.0.1:8080//", "http://127.0.0.1:8080/v1/chat/completions"),
            ("[::1]:8080", "http://[::1]:8080/v1/chat/completions"),
            ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
            (
                "https://open.bigmodel.cn/api/paas/v4/",
                "https://open.bigmodel.cn/api/paas/v4/chat/completions",
            ),
            (
                "https://generativelanguage.googleapis.com/v1beta/openai/",
                "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            ),
            (
                "https://x.test/v1/chat/completions?api-version=2",
                "https://x.test/v1/chat/completions?api-version=2",
            ),
        ];
        for (base, expected) in chat {
            assert_eq!(endpoint(base, "chat/completions").unwrap().as_str(), expected, "{base}");
        }
        let messages = endpoint("https://api.z.ai/api/anthropic", "messages").unwrap();
        assert_eq!(messages.as_str(), "https://api.z.ai/api/anthropic/v1/messages");
    }

    #[test]
    fn a_wrong_base_url_is_said_without_its_password() {
        let error = endpoint("ftp://user:secret@host/x", "messages").unwrap_err();
        assert_eq!(error.message, "The base URL \"host/x\" has the scheme \"ftp\"");
        assert!(endpoint("http://", "messages").is_err());
    }

    #[test]
    fn loopback_is_recognised() {
        let is = |url: &str| is_loopback(&Url::parse(url).unwrap());
        assert!(is("http://localhost:1/") && is("http://127.9.9.9") && is("http://[::1]:8/"));
        assert!(is("http://localhost.:1/") && is("http://127.0.0.1./"));
        assert!(!is("http://127.0.0.1.example.com") && !is("http://10.0.0.1"));
        assert!(!is("http://10.0.0.1./") && !is("http://localhost.example."));
    }
}

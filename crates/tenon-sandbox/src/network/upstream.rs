//! The proxy of the user's own network, through which everything has to go in some companies.

use std::fmt;

use super::host::{Host, HostError, Target};

/// The port of a proxy without a port, as curl has it.
const PORT_DEFAULT: u16 = 1080;
/// Digits of base64 (RFC 4648, section 4).
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A proxy that is asked with CONNECT, also for port 80. `Debug` does not show its password.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamProxy {
    server: Target,
    /// The value of `Proxy-Authorization`.
    authorization: Option<String>,
}

/// Why an address is not that of a proxy that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// `https://`, `socks5://` and others.
    #[error("only http:// proxies can be used for commands")]
    Scheme,
    /// The host or port is none.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A per cent sign without two hexadecimal digits, or a line end.
    #[error("the proxy's user name or password is not written as an address has it")]
    Password,
}

impl UpstreamProxy {
    /// Reads an address as `HTTPS_PROXY` has it: `http://user:password@host:port`, where the
    /// scheme and all but the host may be left out.
    pub fn parse(address: &str) -> Result<Self, UpstreamError> {
        let rest = match address.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(UpstreamError::Scheme),
            None => address,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, server) = match rest.rsplit_once('@') {
            Some((user, server)) => (Some(user), server),
            None => (None, rest),
        };
        let server = Target::parse(server, Some(PORT_DEFAULT))?;
        let authorization = match user {
            Some(user) => Some(format!("Basic {}", base64(&without_per_cent(user)?))),
            None => None,
        };
        Ok(Self { server, authorization })
    }

    pub(super) fn host(&self) -> &Host {
        &self.server.host
    }

    pub(super) fn port(&self) -> u16 {
        self.server.port
    }

    pub(super) fn connect_head(&self, target: &Target) -> Vec<u8> {
        let Target { host, port } = target;
        let mut head = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
        if let Some(authorization) = &self.authorization {
            head.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

impl fmt::Debug for UpstreamProxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("UpstreamProxy")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

fn without_per_cent(text: &str) -> Result<Vec<u8>, UpstreamError> {
    let mut bytes = Vec::new();
    let mut pieces = text.split('%');
    bytes.extend_from_slice(pieces.next().unwrap_or_default().as_bytes());
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2).ok_or(UpstreamError::Password)?;
        let byte = u8::from_str_radix(digits, 16).map_err(|_| UpstreamError::Password)?;
        bytes.push(byte);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Ok(bytes)
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let at = |place: usize| u32::from(group.get(place).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place)) & 63;
            let digit = BASE64.get(digit as usize).filter(|_| place <= group.len());
            text.push(char::from(*digit.unwrap_or(&b'=')));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, expected: Result<&str, UpstreamError>) {
        let target = Target::parse("example.com:443", None).unwrap();
        let shown = UpstreamProxy::parse(address).map(|upstream| {
            let head = String::from_utf8(upstream.connect_head(&target)).unwrap();
            let login = head.lines().find_map(|line| line.strip_prefix("Proxy-Authorization: "));
            format!("{}:{} {}", upstream.host(), upstream.port(), login.unwrap_or("-"))
        });
        assert_eq!(shown, expected.map(str::to_owned), "{address}");
    }

    #[test]
    fn an_address_is_read_as_other_programs_read_it() {
        check("http://proxy.example:3128", Ok("proxy.example:3128 -"));
        check("HTTP://proxy.example:3128/", Ok("proxy.example:3128 -"));
        check("proxy.example", Ok("proxy.example:1080 -"));
        check("http://10.0.0.1:8080", Ok("10.0.0.1:8080 -"));
        check("http://user:word@proxy.example:3128", Ok("proxy.example:3128 Basic dXNlcjp3b3Jk"));
        check("http://u:a%40b@[::1]:1", Ok("[::1]:1 Basic dTphQGI="));
        check("https://proxy.example:3128", Err(UpstreamError::Scheme));
        check("socks5://proxy.example:3128", Err(UpstreamError::Scheme));
        check("http://u:%zz@proxy.example:1", Err(UpstreamError::Password));
        check("http://u:%4@proxy.example:1", Err(UpstreamError::Password));
        check("http://proxy.example/path", Err(UpstreamError::Host(HostError::Character)));
    }

    #[test]
    fn base64_has_the_digits_of_its_definition() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn the_password_is_not_shown() {
        let upstream = UpstreamProxy::parse("http://user:word@proxy.example:3128").unwrap();
        let shown = format!("{upstream:?}");
        assert!(shown.contains("proxy.example") && !shown.contains("dXNlc"), "{shown}");
    }
}

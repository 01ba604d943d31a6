//! The only HTTP client: limits, proxy, certificate authorities, errors without keys.
//!
//! Built lazily, and TLS roots are read only for an address that needs them: a server on loopback
//! is reached without loading a certificate. A request that carries a key never follows a
//! redirect, because the key belongs to the host it was given for.

mod address;
mod download;
mod tls;

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use reqwest::{
    Client, NoProxy, Proxy, RequestBuilder, StatusCode, Url,
    header::{HeaderMap, RETRY_AFTER},
    redirect,
};
use tokio::time::{Instant, timeout_at};

pub(crate) use self::address::{display_host, endpoint, is_loopback};
pub use self::download::Download;
use crate::{
    provider::{ProviderError, ProviderErrorKind},
    pulse::Pulse,
    retry::RetryPolicy,
    text::Secret,
};

/// How long a connection may take: three SYN retransmissions (1, 2, 4 s) and some.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the first byte may take: a server on two processor cores reads about 40 tokens a
/// second, so 300 s are enough for a prompt of 12,000.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(300);

/// How long a reply may pause. Models that think without showing it stay silent for minutes on
/// servers that send no pings.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// How much of an error's body is read.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;

/// Hosts that no proxy can serve, as reqwest's list wants them.
const NEVER_PROXIED: &str = "localhost,127.0.0.0/8,::1";

/// How the network is reached. Filled by the program; this crate reads no environment.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The proxy's URL for all hosts but loopback; may hold a password.
    pub proxy: Option<Secret>,
    /// Hosts, domain suffixes and networks that are reached without the proxy, comma-separated.
    pub no_proxy: Option<String>,
    /// Certificate authorities to trust besides the system's, each a PEM file's bytes.
    pub extra_ca_pem: Vec<Vec<u8>>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long the first byte of a reply may take.
    pub first_byte_timeout: Duration,
    /// How long a reply may pause between two bytes.
    pub idle_timeout: Duration,
    /// The `user-agent` header.
    pub user_agent: String,
    /// When and how often a request to a model is made again.
    pub retry: RetryPolicy,
    /// Is told of each part of a reply.
    pub pulse: Pulse,
}

impl Default for HttpOptions {
    /// No proxy, the system's authorities, 10 s to connect, 300 s to the first byte and between
    /// two bytes.
    fn default() -> Self {
        Self {
            proxy: None,
            no_proxy: None,
            extra_ca_pem: Vec::new(),
            connect_timeout: CONNECT_TIMEOUT,
            first_byte_timeout: FIRST_BYTE_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            user_agent: concat!("tenon/", env!("CARGO_PKG_VERSION")).to_owned(),
            retry: RetryPolicy::default(),
            pulse: Pulse::default(),
        }
    }
}

/// An HTTP client. Cheap to make: nothing is built before the first request.
#[derive(Debug)]
pub struct HttpClient {
    options: HttpOptions,
    built: Mutex<[Option<Client>; Use::COUNT]>,
}

/// What a connection pool is for; each use has a client of its own.
#[derive(Debug, Clone, Copy)]
enum Use {
    Plain,
    Secure,
    PlainDownload,
    SecureDownload,
}

impl Use {
    const COUNT: usize = 4;
}

/// A reply whose head has come.
pub(crate) struct HttpReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    inner: reqwest::Response,
    host: String,
    first_byte: Option<(Instant, Duration)>,
    idle_timeout: Duration,
    reading: Reading,
}

/// Tells that a reply is being read, until it is dropped.
struct Reading(Pulse);

impl Reading {
    fn beat(&self) {
        self.0.beat(Instant::now().into_std());
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl HttpClient {
    /// Returns a client that follows `options`.
    pub fn new(options: HttpOptions) -> Self {
        Self { options, built: Mutex::new([const { None }; Use::COUNT]) }
    }

    /// Posts `body` and returns the reply once its head has come, whatever its status.
    pub(crate) async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<HttpReply, ProviderError> {
        let client = self.client(url, [Use::Plain, Use::Secure])?;
        self.send(client.post(url.clone()).headers(headers).body(body), url).await
    }

    /// Gets `url` without a key and returns the reply once its head has come.
    pub(crate) async fn get(&self, url: &Url) -> Result<HttpReply, ProviderError> {
        let client = self.client(url, [Use::Plain, Use::Secure])?;
        self.send(client.get(url.clone()), url).await
    }

    async fn send(&self, request: RequestBuilder, url: &Url) -> Result<HttpReply, ProviderError> {
        let host = display_host(url);
        let limit = self.options.first_byte_timeout;
        let deadline = Instant::now() + limit;
        let inner = match timeout_at(deadline, request.send()).await {
            Ok(Ok(inner)) => inner,
            Ok(Err(error)) => return Err(self.failure(&host, error)),
            Err(_) => return Err(stalled(&host, limit, "first-byte")),
        };
        let reading = Reading(self.options.pulse.clone());
        reading.beat();
        Ok(HttpReply {
            status: inner.status(),
            headers: inner.headers().clone(),
            inner,
            host,
            first_byte: Some((deadline, limit)),
            idle_timeout: self.options.idle_timeout,
            reading,
        })
    }

    /// Returns the client for `url`: the first of `uses` without TLS, the second with.
    fn client(&self, url: &Url, uses: [Use; 2]) -> Result<Client, ProviderError> {
        let [plain, secure] = uses;
        let proxy_is_secure =
            self.options.proxy.as_ref().is_some_and(|proxy| proxy.expose().starts_with("https:"));
        // A download may be redirected to https, so only loopback, which tests use, goes without.
        let is_plain = url.scheme() == "http"
            && (is_loopback(url) || !(proxy_is_secure || matches!(plain, Use::PlainDownload)));
        let wanted = if is_plain { plain } else { secure };
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(slot) = built.get_mut(wanted as usize) else {
            return Err(configuration("no such client"));
        };
        if let Some(client) = slot {
            return Ok(client.clone());
        }
        let client = self.build(wanted)?;
        *slot = Some(client.clone());
        Ok(client)
    }

    fn build(&self, wanted: Use) -> Result<Client, ProviderError> {
        let options = &self.options;
        let tls = match wanted {
            Use::Plain | Use::PlainDownload => tls::without_roots()?,
            Use::Secure | Use::SecureDownload => tls::with_roots(&options.extra_ca_pem)?,
        };
        let redirects = match wanted {
            Use::Plain | Use::Secure => redirect::Policy::none(),
            Use::PlainDownload | Use::SecureDownload => redirect::Policy::limited(5),
        };
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirects)
            .referer(false)
            .connect_timeout(options.connect_timeout)
            .user_agent(&options.user_agent)
            .no_proxy();
        if let Some(proxy) = &options.proxy {
            let except = format!("{NEVER_PROXIED},{}", options.no_proxy.as_deref().unwrap_or(""));
            let proxy = Proxy::all(proxy.expose())
                .map_err(|_| configuration("The proxy's address is not a URL"))?;
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_string(&except)));
        }
        builder.build().map_err(|error| configuration(deepest(&error.without_url())))
    }

    fn failure(&self, host: &str, error: reqwest::Error) -> ProviderError {
        let connecting = error.is_connect();
        let timed_out = error.is_timeout();
        let words = deepest(&error.without_url());
        if !connecting {
            return dropped(host, &words);
        }
        if words.contains("certificate") {
            return configuration(format!("{host} is not trusted: {words}")).with_hint(
                "if a company's proxy inspects TLS, add its certificate authority to the configuration",
            );
        }
        let words = match timed_out {
            true => format!("no answer within {} s", self.options.connect_timeout.as_secs_f32()),
            false => words,
        };
        let through = if self.options.proxy.is_some() { " (through the proxy)" } else { "" };
        ProviderError::new(
            ProviderErrorKind::Connect,
            format!("Cannot connect to {host}{through}: {words}"),
        )
        .with_hint("check that the server runs and that the base URL and the proxy are right")
    }
}

impl HttpReply {
    /// Returns the next bytes of the body, `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        self.chunk_within(self.idle_timeout).await
    }

    /// Like [`HttpReply::chunk`], with another limit than the idle one.
    pub(crate) async fn chunk_within(
        &mut self,
        idle: Duration,
    ) -> Result<Option<Bytes>, ProviderError> {
        let (deadline, limit, name) = match self.first_byte {
            Some((deadline, limit)) => (deadline, limit, "first-byte"),
            None => (Instant::now() + idle, idle, "idle"),
        };
        match timeout_at(deadline, self.inner.chunk()).await {
            Ok(Ok(chunk)) => {
                self.reading.beat();
                self.first_byte = None;
                Ok(chunk)
            }
            Ok(Err(error)) => Err(dropped(&self.host, &deepest(&error.without_url()))),
            Err(_) => Err(stalled(&self.host, limit, name)),
        }
    }

    /// Returns the whole body, or what of it came within `bytes_max`. A body that breaks off is
    /// returned as far as it came.
    pub(crate) async fn body_up_to(&mut self, bytes_max: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = self.chunk().await {
            let free = bytes_max - body.len();
            body.extend(chunk.iter().take(free));
            if chunk.len() >= free {
                break;
            }
        }
        body
    }

    /// Returns the body of an error, at most 64 KiB of it.
    pub(crate) async fn error_body(&mut self) -> Vec<u8> {
        self.body_up_to(ERROR_BODY_BYTES_MAX).await
    }

    /// Returns how long the server asked to wait.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let text = |name: &str| self.headers.get(name)?.to_str().ok();
        if let Some(ms) = text("retry-after-ms").and_then(|text| text.trim().parse().ok()) {
            return Some(Duration::from_millis(ms));
        }
        let date = text("date");
        text(RETRY_AFTER.as_str()).and_then(|value| crate::retry::read_retry_after(value, date))
    }
}

/// Returns an error about an option.
pub(crate) fn configuration(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Configuration, message)
}

fn dropped(host: &str, words: &str) -> ProviderError {
    ProviderError::new(
        ProviderErrorKind::Dropped,
        format!("The connection to {host} ended before the reply was whole: {words}"),
    )
}

fn stalled(host: &str, limit: Duration, name: &str) -> ProviderError {
    let seconds = limit.as_secs_f32();
    ProviderError::new(
        ProviderErrorKind::Stalled,
        format!("{host} sent nothing for {seconds} s (the {name} limit)"),
    )
    .with_hint(format!("raise the {name} limit in the configuration if the server needs longer"))
}

/// Returns the words of the innermost cause: the outer ones only say that a request failed.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

//! How the network is reached: proxies, certificate authorities, limits.

use std::{path::PathBuf, time::Duration};

use tenon_model::{HttpOptions, Pulse, Secret};

use super::{Environment, file::NetworkTable, private_file};
use crate::error::CliError;

/// The most bytes of a file of certificates: several times the system's own bundle.
const CA_BYTES_MAX: u64 = 4 << 20;

/// How the network is reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct Network {
    /// The file with a further certificate authority.
    pub(crate) ca_file: Option<PathBuf>,
    /// For addresses with TLS; may hold a password.
    https_proxy: Option<Secret>,
    /// For addresses without.
    http_proxy: Option<Secret>,
    no_proxy: Option<String>,
    connect_timeout: Option<Duration>,
    first_byte_timeout: Option<Duration>,
    idle_timeout: Option<Duration>,
    pulse: Pulse,
}

impl Network {
    pub(super) fn new(environment: &Environment, table: NetworkTable) -> Self {
        let proxy = |name: &str| {
            let text = environment.in_either_case(name);
            text.or_else(|| environment.in_either_case("ALL_PROXY")).map(Secret::new)
        };
        Self {
            ca_file: table.ca_file,
            https_proxy: proxy("HTTPS_PROXY"),
            http_proxy: proxy("HTTP_PROXY"),
            no_proxy: environment.in_either_case("NO_PROXY").map(Into::into),
            connect_timeout: table.connect_timeout_s.map(Duration::from_secs),
            first_byte_timeout: table.first_byte_timeout_s.map(Duration::from_secs),
            idle_timeout: table.idle_timeout_s.map(Duration::from_secs),
            pulse: Pulse::default(),
        }
    }

    /// Returns the options for an address, which has TLS unless it says `http:`.
    pub(crate) fn http_options(&self, base_url: Option<&str>) -> Result<HttpOptions, CliError> {
        let plain = base_url.is_some_and(|url| url.starts_with("http:"));
        let defaults = HttpOptions::default();
        Ok(HttpOptions {
            proxy: if plain { self.http_proxy.clone() } else { self.https_proxy.clone() },
            no_proxy: self.no_proxy.clone(),
            extra_ca_pem: match &self.ca_file {
                Some(path) => vec![private_file::read(path, CA_BYTES_MAX)?],
                None => Vec::new(),
            },
            connect_timeout: self.connect_timeout.unwrap_or(defaults.connect_timeout),
            first_byte_timeout: self.first_byte_timeout.unwrap_or(defaults.first_byte_timeout),
            idle_timeout: self.idle_timeout.unwrap_or(defaults.idle_timeout),
            user_agent: defaults.user_agent,
            retry: defaults.retry,
            pulse: self.pulse.clone(),
        })
    }

    /// Returns what tells how long a reply has been silent.
    pub(crate) fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// Returns the proxy for addresses with TLS, as it is written, with its password.
    pub(crate) fn https_proxy(&self) -> Option<&Secret> {
        self.https_proxy.as_ref()
    }

    /// Returns the proxies by the variable that sets them, without user and password.
    pub(crate) fn shown(&self) -> Vec<(&'static str, String)> {
        let host = |proxy: &Secret| {
            let text = proxy.expose();
            text.rsplit_once('@').map_or(text, |(_, host)| host).to_owned()
        };
        let mut shown = Vec::new();
        shown.extend(self.https_proxy.as_ref().map(|proxy| ("HTTPS_PROXY", host(proxy))));
        shown.extend(self.http_proxy.as_ref().map(|proxy| ("HTTP_PROXY", host(proxy))));
        shown.extend(self.no_proxy.clone().map(|hosts| ("NO_PROXY", hosts)));
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_is_that_of_the_address_and_small_letters_come_first() {
        let environment = Environment::of(&[
            ("HTTPS_PROXY", "http://capitals"),
            ("https_proxy", "http://name:word@small:8080"),
            ("ALL_PROXY", "http://all"),
            ("no_proxy", "example.com"),
        ]);
        let network = Network::new(&environment, NetworkTable::default());
        let proxy = |url: Option<&str>| {
            let options = network.http_options(url).unwrap();
            assert_eq!(options.no_proxy.as_deref(), Some("example.com"));
            options.proxy.unwrap().expose().to_owned()
        };
        assert_eq!(proxy(None), "http://name:word@small:8080");
        assert_eq!(proxy(Some("http://host")), "http://all");
        assert_eq!(network.shown()[0], ("HTTPS_PROXY", "small:8080".to_owned()));
    }

    #[test]
    fn a_missing_authority_is_said_with_its_path() {
        let network = Network { ca_file: Some("/nonexistent/ca.pem".into()), ..Network::default() };
        let error = network.http_options(None).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/ca.pem"), "{error}");
    }
}

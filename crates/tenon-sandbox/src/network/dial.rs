//! From an allowed target to a connection: resolve, check the addresses, dial one that was checked.
//!
//! Behind a proxy of the user's own network the name is left to that proxy, which alone may be able
//! to resolve it; then only addresses that stand in the request itself can be checked.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::watch;
use tokio::time::timeout;

use super::address::is_public;
use super::event::Refusal;
use super::head::{parse_response, read_head};
use super::host::{Host, Target};
use super::rules::Rules;
use super::upstream::UpstreamProxy;

/// Most addresses of a host that are tried one after the other.
const ADDRESSES_TRIED_MAX: usize = 4;

/// Turns names into addresses.
pub trait Resolve: Send + Sync {
    /// Returns the addresses of a host, the one to try first in front.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// What [`Resolve::resolve`] returns.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// The operating system's resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let addresses = lookup_host((host, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum DialError {
    Refused(Refusal),
    Failed(String),
}

/// A connection, and the address that was checked for it; none if another proxy chose it.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) stream: BufReader<TcpStream>,
    pub(super) address: Option<IpAddr>,
}

/// How hosts are reached.
pub(super) struct Dialer {
    pub(super) resolver: Box<dyn Resolve>,
    pub(super) upstream: Option<UpstreamProxy>,
    /// For each of: resolving, connecting to one address, the answer of another proxy.
    pub(super) timeout: Duration,
}

impl Dialer {
    /// Connects to a target that a rule allows.
    pub(super) async fn dial(
        &self,
        target: &Target,
        rules: &watch::Receiver<Rules>,
    ) -> Result<Reached, DialError> {
        let addresses = match (&target.host, &self.upstream) {
            (Host::Address(address), _) => vec![*address],
            // To that proxy it would be its own machine.
            (Host::Name(_), Some(upstream)) if Some(&target.host) != Host::localhost().as_ref() => {
                return self.through(upstream, target).await;
            }
            (Host::Name(name), _) => self.resolve(name.as_str()).await?,
        };
        let addresses = checked(&addresses, target.port, rules)?;
        if let (Host::Address(address), Some(upstream)) = (&target.host, &self.upstream)
            && is_public(*address)
        {
            return self.through(upstream, target).await;
        }
        let (stream, address) = self.connect(&addresses, target.port).await?;
        Ok(Reached { stream: BufReader::new(stream), address: Some(address) })
    }

    /// Returns why no address of a target may be dialled that is this machine by its name. Other names
    /// are not resolved.
    pub(super) async fn refused_here(
        &self,
        target: &Target,
        rules: &watch::Receiver<Rules>,
    ) -> Option<Refusal> {
        let Host::Name(name) = &target.host else { return None };
        if Some(&target.host) != Host::localhost().as_ref() {
            return None;
        }
        let addresses = self.resolve(name.as_str()).await.ok()?;
        match checked(&addresses, target.port, rules) {
            Err(DialError::Refused(refusal)) => Some(refusal),
            Ok(_) | Err(DialError::Failed(_)) => None,
        }
    }

    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, DialError> {
        match timeout(self.timeout, self.resolver.resolve(host)).await {
            Ok(Ok(addresses)) if addresses.is_empty() => {
                Err(DialError::Failed("the name has no address".to_owned()))
            }
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(DialError::Failed(format!("cannot be resolved: {error}"))),
            Err(_) => Err(DialError::Failed("cannot be resolved in time".to_owned())),
        }
    }

    async fn connect(
        &self,
        addresses: &[IpAddr],
        port: u16,
    ) -> Result<(TcpStream, IpAddr), DialError> {
        let mut reason = String::new();
        for address in addresses.iter().take(ADDRESSES_TRIED_MAX) {
            let dialled = TcpStream::connect(SocketAddr::new(*address, port));
            match timeout(self.timeout, dialled).await {
                Ok(Ok(stream)) => {
                    // What passes through was cut into pieces by both ends; waiting for more of
                    // it only adds delay. A socket that cannot do this works all the same.
                    let _ = stream.set_nodelay(true);
                    return Ok((stream, *address));
                }
                Ok(Err(error)) => reason = format!("cannot be reached at {address}: {error}"),
                Err(_) => reason = format!("cannot be reached at {address} in time"),
            }
        }
        Err(DialError::Failed(reason))
    }

    /// Connects through another proxy. Its own address is the user's choice and not checked.
    async fn through(
        &self,
        upstream: &UpstreamProxy,
        target: &Target,
    ) -> Result<Reached, DialError> {
        let failed = |what: &str| DialError::Failed(format!("the network's own proxy {what}"));
        let addresses = match upstream.host() {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self.resolve(name.as_str()).await?,
        };
        let (stream, _) = self.connect(&addresses, upstream.port()).await?;
        let mut stream = BufReader::new(stream);
        let talk = async {
            stream.write_all(&upstream.connect_head(target)).await.ok()?;
            let head = read_head(&mut stream).await.ok()?;
            parse_response(&head)
        };
        match timeout(self.timeout, talk).await {
            Ok(Some(response)) if (200..300).contains(&response.code) => {
                Ok(Reached { stream, address: None })
            }
            Ok(Some(response)) => Err(failed(&format!("answers {}", response.code))),
            Ok(None) => Err(failed("does not answer in HTTP")),
            Err(_) => Err(failed("does not answer in time")),
        }
    }
}

/// Returns those addresses that may be dialled, or why none may.
fn checked(
    addresses: &[IpAddr],
    port: u16,
    rules: &watch::Receiver<Rules>,
) -> Result<Vec<IpAddr>, DialError> {
    let rules = rules.borrow();
    let mut allowed = Vec::new();
    let mut refused = None;
    for address in addresses {
        match rules.check_address(*address, port) {
            Ok(()) => allowed.push(*address),
            Err(refusal) => refused = refused.or(Some(refusal)),
        }
    }
    match refused {
        Some(refusal) if allowed.is_empty() => Err(DialError::Refused(refusal)),
        _ => Ok(allowed),
    }
}

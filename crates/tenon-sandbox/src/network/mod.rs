//! The proxy that lets named hosts through.
//!
//! A command has no network of its own; what it finds is a listener on its loopback, behind which
//! this proxy runs in the agent's process. It speaks HTTP CONNECT and plain HTTP, judges hosts by
//! rules before it resolves them and addresses after, and tells of every attempt. It decrypts
//! nothing and asks nobody: rules come from a person, through policy.

mod address;
mod connection;
mod dial;
mod event;
mod head;
mod hello;
mod host;
mod preset;
mod rules;
mod tried;
mod upstream;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

pub use self::dial::{Resolve, Resolving, SystemResolver};
pub use self::event::{NetworkEvent, NetworkOutcome, Refusal, RunningId};
use self::host::{Host, Target};
pub use self::host::{HostError, HostRule};
pub use self::preset::{Preset, PresetHosts, UnknownPreset};
pub use self::tried::HostTried;
pub use self::upstream::{UpstreamError, UpstreamProxy};

use self::connection::{TLS_PORT, serve_connection};
use self::dial::Dialer;
use self::event::Record;
use self::rules::{GrantId, Rules};
use self::tried::Tried;

/// Most connections that are served at a time; further ones wait in the kernel. Package managers
/// open 6 to 50. At 48 KiB each this is 3 MiB.
const CONNECTIONS_MAX: usize = 64;
/// How long a client may take for the head of its request, and for its TLS hello.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long resolving a name and connecting to one address may take, each.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long nothing may pass in either direction. Servers that compute an answer (`git fetch`
/// of a large repository) are silent for minutes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// How long to wait after a connection could not be accepted (no descriptor left, most of all).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Lets commands reach the hosts that rules name.
///
/// Cheap to clone; all clones are the same proxy.
#[derive(Clone)]
pub struct Proxy {
    shared: Arc<Shared>,
}

/// What a proxy is made of. The default has the usual limits, the system's resolver and tells
/// nobody.
pub struct ProxyOptions {
    /// Its limits.
    pub limits: ProxyLimits,
    /// Turns names into addresses.
    pub resolver: Box<dyn Resolve>,
    /// The proxy of the user's own network, if there is one. Names are then resolved there, and
    /// only addresses that stand in a request can be checked.
    pub upstream: Option<UpstreamProxy>,
    /// Gets every attempt as it is made; must not block.
    pub on_event: Box<dyn Fn(&NetworkEvent) + Send + Sync>,
}

/// The limits of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Most connections that are served at a time.
    pub connections_max: usize,
    /// For the head of a request, and for a TLS hello.
    pub head_timeout: Duration,
    /// For resolving a name, and for connecting to one address.
    pub connect_timeout: Duration,
    /// For nothing passing in either direction.
    pub idle_timeout: Duration,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connections_max: CONNECTIONS_MAX,
            head_timeout: HEAD_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
        }
    }
}

impl Default for ProxyOptions {
    fn default() -> Self {
        Self {
            limits: ProxyLimits::default(),
            resolver: Box::new(SystemResolver),
            upstream: None,
            on_event: Box::new(|_| {}),
        }
    }
}

struct Shared {
    limits: ProxyLimits,
    slots: Arc<Semaphore>,
    dialer: Dialer,
    rules: watch::Sender<Rules>,
    grants_made: AtomicU64,
    record: Mutex<Record>,
    tried: Mutex<Tried>,
    on_event: Box<dyn Fn(&NetworkEvent) + Send + Sync>,
}

impl Proxy {
    /// Returns a proxy that lets nothing through yet.
    #[must_use]
    pub fn new(options: ProxyOptions) -> Self {
        let ProxyOptions { limits, resolver, upstream, on_event } = options;
        let shared = Shared {
            limits,
            slots: Arc::new(Semaphore::new(limits.connections_max)),
            dialer: Dialer { resolver, upstream, timeout: limits.connect_timeout },
            rules: watch::Sender::new(Rules::default()),
            grants_made: AtomicU64::new(0),
            record: Mutex::new(Record::default()),
            tried: Mutex::new(Tried::default()),
            on_event,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Allows hosts for as long as the proxy lives.
    pub fn allow(&self, rules: Vec<HostRule>) {
        self.shared.rules.send_modify(|all| all.allow(rules, None));
    }

    /// Denies hosts, whatever allows them, and ends the connections to them.
    pub fn deny(&self, rules: Vec<HostRule>) {
        self.shared.rules.send_modify(|all| all.deny(rules));
    }

    /// Allows hosts until what is returned is dropped; connections that nothing else allows end
    /// then.
    pub fn grant(&self, rules: Vec<HostRule>) -> NetworkGrant {
        let id = GrantId(self.shared.grants_made.fetch_add(1, Ordering::Relaxed));
        self.shared.rules.send_modify(|all| all.allow(rules, Some(id)));
        NetworkGrant { shared: Arc::clone(&self.shared), id }
    }

    /// Returns the rules that allow something at this moment.
    #[must_use]
    pub fn allowed(&self) -> Vec<HostRule> {
        self.shared.rules.borrow().allowed().cloned().collect()
    }

    /// Returns what the rules say of a host, `HOST` or `HOST:PORT` (443 without one); its name is not
    /// resolved. Nothing is connected and nothing is remembered.
    ///
    /// ```
    /// use tenon_sandbox::{Proxy, ProxyOptions};
    ///
    /// let proxy = Proxy::new(ProxyOptions::default());
    /// proxy.allow(vec!["*.example.com".parse()?]);
    /// proxy.deny(vec!["a.example.com".parse()?]);
    /// let said = |host| proxy.judge(host).map(|event| event.to_string());
    /// assert_eq!(said("b.example.com")?, "allowed: b.example.com:443 (by *.example.com)");
    /// assert_eq!(said("a.example.com")?, "blocked: a.example.com:443 (the rule net(a.example.com) denies it)");
    /// # Ok::<(), tenon_sandbox::HostError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the text names no host.
    pub fn judge(&self, host: &str) -> Result<NetworkEvent, HostError> {
        let target = Target::parse(host, Some(TLS_PORT))?;
        let rules = self.shared.rules.borrow();
        let decided = rules.decide(&target).and_then(|by| match &target.host {
            Host::Address(address) => rules.check_address(*address, target.port).map(|()| by),
            Host::Name(_) => Ok(by),
        });
        let outcome = match decided {
            Ok(by) => NetworkOutcome::Allowed { by },
            Err(refusal) => NetworkOutcome::Refused(refusal),
        };
        Ok(NetworkEvent::of(&target, outcome))
    }

    /// Returns the same, and of `localhost`, which is looked up, also what the rules say of the
    /// addresses that it leads to.
    ///
    /// # Errors
    ///
    /// If the text names no host.
    pub async fn judge_here(&self, host: &str) -> Result<NetworkEvent, HostError> {
        let event = self.judge(host)?;
        let target = Target::parse(host, Some(TLS_PORT))?;
        let rules = self.shared.rules.subscribe();
        let refusal = match &event.outcome {
            NetworkOutcome::Allowed { .. } => {
                self.shared.dialer.refused_here(&target, &rules).await
            }
            NetworkOutcome::Refused(_) | NetworkOutcome::Failed { .. } => None,
        };
        Ok(match refusal {
            Some(refusal) => NetworkEvent::of(&target, NetworkOutcome::Refused(refusal)),
            None => event,
        })
    }

    /// Returns which of the names by which commands reach their own loopback they do not ask for here:
    /// those that no rule speaks of. One of a rule is this machine's.
    pub(crate) fn names_inside(&self) -> String {
        let own = rustix::system::uname();
        self.shared.rules.borrow().names_inside(&own.nodename().to_string_lossy())
    }

    /// Serves the commands that see this listener, until the returned future is dropped, which
    /// ends their connections.
    ///
    /// Whoever can connect to the listener can use the proxy: it belongs on the loopback of the
    /// commands' own network namespace. Several listeners may be served at a time and share the
    /// limits.
    ///
    /// # Errors
    ///
    /// If the listener cannot be used by the runtime. Never returns otherwise.
    pub async fn serve(&self, listener: std::net::TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let mut connections = JoinSet::new();
        loop {
            let slots = Arc::clone(&self.shared.slots);
            // Never closed; a slot is taken first so that who has none waits in the kernel.
            let Ok(slot) = slots.acquire_owned().await else { return Ok(()) };
            while connections.try_join_next().is_some() {}
            let Ok((stream, _)) = listener.accept().await else {
                sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let shared = Arc::clone(&self.shared);
            connections.spawn(async move {
                serve_connection(&shared, stream).await;
                drop(slot);
            });
        }
    }

    /// Returns the last attempt at each host that was not let through, that the command may have made and
    /// that was not returned before, for it or another; at most 256 are remembered.
    ///
    /// All commands of a session share a loopback, so those that run at the same time may each have made
    /// an attempt of any: it is told for the first that is asked about.
    #[must_use]
    pub fn take_blocked(&self, command: RunningId) -> Vec<NetworkEvent> {
        self.shared.record().take(command)
    }

    /// Returns which hosts the commands of `caller` tried, or with `None` all commands, each once with
    /// how often and how that ended; what was returned is forgotten. At most 256 hosts are told apart.
    #[must_use]
    pub fn take_tried(&self, caller: Option<&str>) -> Vec<HostTried> {
        self.shared.tried().take(caller)
    }

    /// Takes in that a command of `caller` runs until what is returned is dropped.
    pub fn begin(&self, caller: Option<Arc<str>>) -> Running {
        let id = self.shared.tried().begin(caller);
        Running { shared: Arc::clone(&self.shared), id }
    }

    /// Returns how many connections are being served or about to be accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.limits.connections_max - self.shared.slots.available_permits()
    }
}

impl Shared {
    /// Tells of an attempt of one of the commands `who`.
    fn tell(&self, who: &Arc<[RunningId]>, event: NetworkEvent) {
        (self.on_event)(&event);
        self.record().add(who, event);
    }

    fn record(&self) -> std::sync::MutexGuard<'_, Record> {
        // A record is whole after each of its changes, so one left by a panic is as good.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tried(&self) -> std::sync::MutexGuard<'_, Tried> {
        // As for the record.
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that runs; see [`Proxy::begin`].
#[must_use = "the command runs for as long as this lives"]
pub struct Running {
    shared: Arc<Shared>,
    id: RunningId,
}

impl Running {
    /// Returns what names the command, also once it has ended.
    #[must_use]
    pub fn id(&self) -> RunningId {
        self.id
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.tried().end(self.id);
    }
}

/// Hosts that are allowed for a time; see [`Proxy::grant`].
#[must_use = "the hosts are allowed for as long as this lives"]
pub struct NetworkGrant {
    shared: Arc<Shared>,
    id: GrantId,
}

impl Drop for NetworkGrant {
    fn drop(&mut self) {
        self.shared.rules.send_modify(|rules| rules.withdraw(self.id));
    }
}

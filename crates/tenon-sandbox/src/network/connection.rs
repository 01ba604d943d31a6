//! One connection of a command to the proxy: one request, then it ends.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::Shared;
use super::dial::{DialError, Reached};
use super::event::{NetworkEvent, NetworkOutcome, Refusal, RunningId};
use super::head::{
    BadRequest, Forward, HTTP_PORT, HeadError, Request, parse_request, parse_response, read_head,
};
use super::hello::{ALERT, HelloError, read_hello};
use super::host::Target;
use super::rules::Rules;

/// The port on which nothing but TLS is expected.
pub(super) const TLS_PORT: u16 = 443;
/// What a TLS client begins with (RFC 8446, section 5.1: a record of a handshake).
const TLS_HANDSHAKE: u8 = 22;
/// What is in the hands of the proxy between two sides, in each direction. Larger pieces were no
/// faster on loopback.
const PIECE_BYTES: usize = 16 * 1024;
/// How much of what a client still sends is read after the answer, so that its kernel does not
/// throw the answer away with the connection.
const LINGER_BYTES_MAX: u64 = 256 * 1024;
/// How long that may take.
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
const FORBIDDEN: &str = "403 Forbidden";
const BAD_GATEWAY: &str = "502 Bad Gateway";
const HEAD_TOO_LARGE: &str = "431 Request Header Fields Too Large";

/// An answer of the proxy's own.
struct Answer {
    status: &'static str,
    sentence: String,
}

/// The proxy as one connection sees it.
struct Served<'a> {
    shared: &'a Shared,
    /// Whose command connected, where that is known.
    caller: Option<Arc<str>>,
    /// The commands that may have connected.
    who: Arc<[RunningId]>,
}

/// Serves a client that has just connected, to the end of its connection.
pub(super) async fn serve_connection(shared: &Shared, stream: TcpStream) {
    let (caller, who) = {
        let tried = shared.tried();
        (tried.caller(), tried.running())
    };
    let served = Served { shared, caller, who };
    let _ = stream.set_nodelay(true);
    let mut client = BufReader::new(stream);
    let result = match timeout(shared.limits.head_timeout, read_head(&mut client)).await {
        Err(_) | Ok(Err(HeadError::Gone)) => return,
        Ok(Err(HeadError::TooLong)) => {
            let event = NetworkEvent::malformed(b"", "its head is too long");
            Err(served.answer(event, HEAD_TOO_LARGE))
        }
        Ok(Ok(head)) => match parse_request(&head) {
            Err(BadRequest { asked, status, what }) => {
                Err(served.answer(NetworkEvent::malformed(&asked, what), status))
            }
            Ok(Request::Tunnel(target)) => tunnel(&served, &mut client, &target).await,
            Ok(Request::Forward(request)) => forward(&served, &mut client, &request).await,
        },
    };
    if let Err(Answer { status, sentence }) = result {
        let length = sentence.len() + 1;
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{sentence}\n"
        );
        let _ = client.write_all(answer.as_bytes()).await;
    }
    finish(client).await;
}

impl Served<'_> {
    /// Tells of an event and makes the answer for the client out of it.
    fn answer(&self, event: NetworkEvent, status: &'static str) -> Answer {
        let sentence = event.to_string();
        self.shared.tried().ended(self.caller.as_ref(), &event);
        self.shared.tell(&self.who, event);
        Answer { status, sentence }
    }

    fn refuse(&self, target: &Target, refusal: Refusal) -> Answer {
        self.answer(NetworkEvent::of(target, NetworkOutcome::Refused(refusal)), FORBIDDEN)
    }

    fn fail(&self, target: &Target, reason: String) -> Answer {
        self.answer(NetworkEvent::of(target, NetworkOutcome::Failed { reason }), BAD_GATEWAY)
    }

    async fn reach(
        &self,
        target: &Target,
        rules: &mut watch::Receiver<Rules>,
    ) -> Result<Reached, Answer> {
        let decision = rules.borrow_and_update().decide(target);
        let by = decision.map_err(|refusal| self.refuse(target, refusal))?;
        self.shared.tell(&self.who, NetworkEvent::of(target, NetworkOutcome::Allowed { by }));
        let reached =
            self.shared.dialer.dial(target, rules).await.map_err(|error| match error {
                DialError::Refused(refusal) => self.refuse(target, refusal),
                DialError::Failed(reason) => self.fail(target, reason),
            })?;
        self.shared.tried().reached(self.caller.as_ref(), target);
        Ok(reached)
    }
}

/// Bytes in both directions, but on port 80, where each request says by itself which host it is for:
/// those come to [`forward`]. On port 443 the first of them must be a TLS hello to the target, and if
/// a client begins with one elsewhere, that must be to the target too.
async fn tunnel(
    served: &Served<'_>,
    client: &mut BufReader<TcpStream>,
    target: &Target,
) -> Result<(), Answer> {
    if target.port == HTTP_PORT {
        return Err(served.refuse(target, Refusal::PlainTunnel));
    }
    let mut rules = served.shared.rules.subscribe();
    let mut server = served.reach(target, &mut rules).await?;
    if client.write_all(ESTABLISHED).await.is_err() {
        return Ok(());
    }
    let mut hello = Vec::new();
    if target.port == TLS_PORT {
        let reading = read_hello(client, &target.host);
        match timeout(served.shared.limits.head_timeout, reading).await {
            Ok(Ok(bytes)) => hello = bytes,
            Ok(Err(HelloError::Refused(refusal))) => {
                served.refuse(target, refusal);
                let _ = client.write_all(&ALERT).await;
                return Ok(());
            }
            Ok(Err(HelloError::Gone)) | Err(_) => return Ok(()),
        }
    }
    let activity = Activity::new();
    let (client_reads, mut client_writes) = halves(client);
    let (server_reads, mut server_writes) = halves(&mut server.stream);
    let there = async {
        let mut client_reads = BufReader::with_capacity(PIECE_BYTES, client_reads);
        // Elsewhere the server may be the one who speaks first, so this goes on beside it.
        if target.port != TLS_PORT && client_reads.fill_buf().await?.first() == Some(&TLS_HANDSHAKE)
        {
            hello = read_hello(&mut client_reads, &target.host).await.map_err(|error| {
                if let HelloError::Refused(refusal) = error {
                    served.refuse(target, refusal);
                }
                io::Error::from(io::ErrorKind::InvalidData)
            })?;
        }
        copy(hello.as_slice().chain(client_reads), &mut server_writes, &activity).await?;
        server_writes.shutdown().await
    };
    let back = async {
        copy(server_reads, &mut client_writes, &activity).await?;
        client_writes.shutdown().await
    };
    let both = async { tokio::try_join!(there, back) };
    let ended = hold(served.shared, target, server.address, &mut rules, &activity, both).await;
    if matches!(ended, Some(Err(error)) if error.kind() == io::ErrorKind::InvalidData) {
        let _ = client_writes.write_all(&ALERT).await;
    }
    Ok(())
}

/// One request there, its response back.
async fn forward(
    served: &Served<'_>,
    client: &mut BufReader<TcpStream>,
    request: &Forward,
) -> Result<(), Answer> {
    let target = &request.target;
    let mut rules = served.shared.rules.subscribe();
    let mut server = served.reach(target, &mut rules).await?;
    let activity = Activity::new();
    let (client_reads, mut client_writes) = halves(client);
    let (server_reads, mut server_writes) = halves(&mut server.stream);
    let there = async {
        copy(request.head.as_slice(), &mut server_writes, &activity).await?;
        let body = client_reads.take(request.body_bytes);
        copy(body, &mut server_writes, &activity).await
    };
    let back = respond(server_reads, &mut client_writes, &activity);
    let exchange = async {
        tokio::pin!(there, back);
        tokio::select! {
            answered = &mut back => answered,
            sent = &mut there => match sent {
                // The client left in the middle of its body: no response can be meant for it.
                Ok(bytes) if bytes < request.body_bytes => Ok(()),
                // A server may answer and close before it has read everything.
                Ok(_) | Err(_) => back.await,
            },
        }
    };
    match hold(served.shared, target, server.address, &mut rules, &activity, exchange).await {
        Some(Err(reason)) => Err(served.fail(target, reason.to_owned())),
        Some(Ok(())) | None => Ok(()),
    }
}

/// Sends a response back. An error is what is wrong with it before anything of it was sent.
async fn respond(
    server: impl AsyncRead + Unpin,
    client: &mut (impl AsyncWrite + Unpin),
    activity: &Activity,
) -> Result<(), &'static str> {
    let mut server = BufReader::new(server);
    loop {
        let head = read_head(&mut server).await.map_err(|_| "the response has no head")?;
        let response = parse_response(&head).ok_or("the response is not HTTP/1.1")?;
        let interim = response.is_interim();
        if copy(response.head.as_slice(), client, activity).await.is_err() {
            return Ok(());
        }
        if !interim {
            break;
        }
    }
    // If this ends early, the connection does, and the client sees that there should be more.
    let _ = copy(server, client, activity).await;
    Ok(())
}

/// Lets `work` go on until it ends, nothing happens for too long, or no rule allows it any more.
async fn hold<T>(
    shared: &Shared,
    target: &Target,
    address: Option<IpAddr>,
    rules: &mut watch::Receiver<Rules>,
    activity: &Activity,
    work: impl Future<Output = T>,
) -> Option<T> {
    let allowed = |rules: &Rules| {
        let address = address.map(|address| rules.check_address(address, target.port));
        rules.decide(target).is_ok() && !matches!(address, Some(Err(_)))
    };
    let withdrawn = async {
        while rules.changed().await.is_ok() {
            if !allowed(&rules.borrow_and_update()) {
                return;
            }
        }
    };
    tokio::select! {
        done = work => Some(done),
        () = withdrawn => None,
        () = activity.ended(shared.limits.idle_timeout) => None,
    }
}

/// Splits a connection; what was already read of it comes first.
fn halves(
    stream: &mut BufReader<TcpStream>,
) -> (impl AsyncRead + Unpin + '_, impl AsyncWrite + Unpin + '_) {
    let already_read = io::Cursor::new(stream.buffer().to_vec());
    let (reads, writes) = stream.get_mut().split();
    (already_read.chain(reads), writes)
}

/// Copies up to the end of `reader` with one piece in memory, and returns the number of bytes.
async fn copy(
    mut reader: impl AsyncRead + Unpin,
    writer: &mut (impl AsyncWrite + Unpin),
    activity: &Activity,
) -> io::Result<u64> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes_total = 0;
    loop {
        let bytes = reader.read(&mut piece).await?;
        let Some(read) = piece.get(..bytes).filter(|read| !read.is_empty()) else {
            return Ok(bytes_total);
        };
        activity.note();
        writer.write_all(read).await?;
        activity.note();
        bytes_total += bytes as u64;
    }
}

/// When something last passed, in either direction.
struct Activity {
    start: Instant,
    last_ms: AtomicU64,
}

impl Activity {
    fn new() -> Self {
        Self { start: Instant::now(), last_ms: AtomicU64::new(0) }
    }

    fn note(&self) {
        let passed_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(passed_ms, Ordering::Relaxed);
    }

    /// Returns when nothing has passed for this long.
    async fn ended(&self, idle_timeout: Duration) {
        loop {
            let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
            let end = self.start + last + idle_timeout;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

/// Ends a connection so that the client can still read all that was sent to it.
async fn finish(mut client: BufReader<TcpStream>) {
    if client.shutdown().await.is_ok() {
        let mut rest = client.take(LINGER_BYTES_MAX);
        let _ = timeout(LINGER_TIMEOUT, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::Pin;
    use std::rc::Rc;
    use std::task::{Context, Poll};

    use tokio::io::ReadBuf;

    use super::*;

    /// An endless-looking source and a sink that takes a few bytes at a time, with one counter:
    /// what was read and not yet written.
    struct Counted {
        left_bytes: u64,
        held_bytes: Rc<Cell<u64>>,
        held_bytes_most: Rc<Cell<u64>>,
    }

    impl AsyncRead for Counted {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let bytes = self.left_bytes.min(buffer.remaining() as u64);
            buffer.initialize_unfilled_to(bytes as usize);
            buffer.advance(bytes as usize);
            self.left_bytes -= bytes;
            self.held_bytes.set(self.held_bytes.get() + bytes);
            self.held_bytes_most.set(self.held_bytes_most.get().max(self.held_bytes.get()));
            Poll::Ready(Ok(()))
        }
    }

    struct Slow {
        held_bytes: Rc<Cell<u64>>,
    }

    impl AsyncWrite for Slow {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let taken = bytes.len().min(5000);
            self.held_bytes.set(self.held_bytes.get() - taken as u64);
            Poll::Ready(Ok(taken))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn no_more_than_one_piece_is_held_of_a_hundred_megabytes() {
        let (held_bytes, held_bytes_most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let source = Counted {
            left_bytes: 100_000_000,
            held_bytes: Rc::clone(&held_bytes),
            held_bytes_most: Rc::clone(&held_bytes_most),
        };
        let mut sink = Slow { held_bytes: Rc::clone(&held_bytes) };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let copied = runtime.block_on(copy(source, &mut sink, &Activity::new()));
        assert_eq!(copied.unwrap(), 100_000_000);
        assert_eq!((held_bytes.get(), held_bytes_most.get()), (0, PIECE_BYTES as u64));
    }
}

//! A fake model server for tests: it records every request and serves scripted replies, in order,
//! one per request, over real HTTP/1.1 on loopback. Standard library threads, no clock: what has
//! to wait waits for a [`Gate`].
//!
//! ```ignore
//! // In the test binary's main.rs; the cfg lets clippy see that this is test code.
//! #[cfg(test)]
//! #[path = "../../../../tests/support/fake_server/mod.rs"]
//! #[expect(dead_code, reason = "each test binary uses a part of it")]
//! mod fake_server;
//!
//! let server = FakeServer::start(vec![
//!     Reply::anthropic(Turn::text("Let me look.").call("bash", json!({"command": "ls"}))),
//!     Reply::status(429).header("retry-after", "0").json(json!({"error": {"message": "slow"}})),
//!     Reply::anthropic_text("Done."),
//! ]);
//! let base_url = server.url();            // http://127.0.0.1:PORT
//! // … run what is tested against it …
//! let sent = server.requests();           // each: method, path, headers, body, wire_bytes
//! assert_eq!(sent[0].json()["messages"][0]["role"], "user");
//! ```
//!
//! Other replies: [`Reply::openai`], [`Reply::openai_text`], [`Reply::sse`] with exact
//! [`Reply::piece`]s, [`Reply::split_every`], [`Reply::gate`], [`Reply::stall`],
//! [`Reply::drop_connection`], [`Reply::broken_off`] and
//! [`Reply::stalled`] with bytes that end anywhere.
//! [`FakeServer::answering`] decides on each reply when its request is there. [`FakeServer::wait_for_requests`] blocks until so many requests
//! came. A request beyond the script is answered with status 500 and the words
//! `fake server: no reply left`. Dropping the server opens every gate and closes its port.

mod gate;
mod reply;
mod turn;

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

pub(crate) use gate::Gate;
pub(crate) use reply::Reply;
pub(crate) use turn::Turn;

/// How long [`FakeServer::wait_for_requests`] waits before it calls the test hung.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A running server; see the module's documentation.
pub(crate) struct FakeServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<thread::JoinHandle<()>>,
}

/// One request as it came over the wire.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    /// `GET`, `POST` …
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    /// Names in lower case, in the order sent.
    pub(crate) headers: Vec<(String, String)>,
    /// The body's bytes.
    pub(crate) body: Vec<u8>,
    /// Bytes of request line, headers and body together.
    pub(crate) wire_bytes: usize,
}

struct Shared {
    state: Mutex<State>,
    came: Condvar,
    closing: Gate,
}

/// Decides on a reply when the request is there.
type Answer = Box<dyn FnMut(&RecordedRequest) -> Reply + Send>;

#[derive(Default)]
struct State {
    replies: VecDeque<Reply>,
    /// Asked when no reply is left; requests are then not recorded.
    answer: Option<Answer>,
    requests: Vec<RecordedRequest>,
    closed: bool,
}

impl FakeServer {
    /// Starts a server on a free loopback port that serves `replies` in order.
    pub(crate) fn start(replies: Vec<Reply>) -> Self {
        Self::with(State { replies: replies.into(), ..State::default() })
    }

    /// Starts a server that gives the reply that `answer` returns for each request.
    pub(crate) fn answering(
        answer: impl FnMut(&RecordedRequest) -> Reply + Send + 'static,
    ) -> Self {
        Self::with(State { answer: Some(Box::new(answer)), ..State::default() })
    }

    fn with(state: State) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free loopback port");
        let address = listener.local_addr().expect("the listener's address");
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            came: Condvar::new(),
            closing: Gate::new(),
        });
        let serving = Arc::clone(&shared);
        let accepting = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.lock().closed {
                    break;
                }
                let shared = Arc::clone(&serving);
                // A client that goes away in mid-reply is an ordinary end of a connection.
                thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        Self { address, shared, accepting: Some(accepting) }
    }

    /// Starts a server that speaks the Anthropic dialect, a turn for each request.
    pub(crate) fn anthropic(turns: Vec<Turn>) -> Self {
        Self::start(turns.into_iter().map(Reply::anthropic).collect())
    }

    /// Starts a server that speaks the OpenAI dialect, a turn for each request.
    pub(crate) fn openai(turns: Vec<Turn>) -> Self {
        Self::start(turns.into_iter().map(Reply::openai).collect())
    }

    /// Returns `http://127.0.0.1:PORT`, without a path.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a reply behind those that are left.
    pub(crate) fn push(&self, reply: Reply) {
        self.shared.lock().replies.push_back(reply);
    }

    /// Returns what came so far, oldest first.
    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.lock().requests.clone()
    }

    /// Blocks until `count` requests have come and returns all of them.
    pub(crate) fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        let (state, wait) = self
            .shared
            .came
            .wait_timeout_while(self.shared.lock(), WAIT_MAX, |state| state.requests.len() < count)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!wait.timed_out(), "{} of {count} requests came", state.requests.len());
        state.requests.clone()
    }

    /// Returns how many replies have not been asked for.
    pub(crate) fn replies_left(&self) -> usize {
        self.shared.lock().replies.len()
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.closing.open();
        // Wakes the accepting thread so that it sees the flag.
        drop(TcpStream::connect(self.address));
        drop(self.accepting.take().map(thread::JoinHandle::join));
    }
}

impl RecordedRequest {
    /// Returns the first header of this name, in any case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    /// Returns the body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut writer = stream;
        while let Some(request) = read_request(&mut reader)? {
            let reply = {
                let mut state = self.lock();
                match &mut state.answer {
                    Some(answer) => Some(answer(&request)),
                    None => {
                        state.requests.push(request);
                        state.replies.pop_front()
                    }
                }
            };
            self.came.notify_all();
            let reply =
                reply.unwrap_or_else(|| Reply::status(500).body("fake server: no reply left"));
            if !reply.write(&mut writer, &self.closing)? {
                break;
            }
        }
        Ok(())
    }
}

/// Reads one request; `None` when the client closed the connection between two.
fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<RecordedRequest>> {
    let mut wire_bytes = 0;
    let mut next_line = |reader: &mut dyn BufRead| -> std::io::Result<String> {
        let mut line = String::new();
        wire_bytes += reader.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    };
    let first = next_line(reader)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let mut headers = Vec::new();
    loop {
        let line = next_line(reader)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)];
    if headers.iter().any(|(name, value)| name == "expect" && value == "100-continue") {
        return Err(std::io::Error::other("expect: 100-continue is not spoken here"));
    }
    reader.read_exact(&mut body)?;
    wire_bytes += body.len();
    Ok(Some(RecordedRequest { method, path, headers, body, wire_bytes }))
}

/// Writes the pieces of a body as chunks, so that the client sees exactly these splits.
fn write_chunk(writer: &mut dyn Write, bytes: &[u8]) -> std::io::Result<()> {
    if bytes.is_empty() {
        return Ok(()); // An empty chunk would end the body.
    }
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    writer.write_all(&framed)?;
    writer.flush()
}

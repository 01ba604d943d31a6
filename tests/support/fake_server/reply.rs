//! What the fake server answers to one request: a status, headers, and a body in exact pieces.

use std::io::Write;

use serde_json::Value;

use super::{Gate, Turn, write_chunk};

/// Ends a body that comes in chunks.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// One scripted answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    steps: Vec<Step>,
    /// Sent as it is in the place of all else, and then nothing.
    raw: Option<(Vec<u8>, Ending)>,
}

/// What happens to the connection after bytes that break off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It is closed.
    Close,
    /// It is kept open, and nothing more comes.
    Stall,
}

#[derive(Debug, Clone)]
enum Step {
    Bytes(Vec<u8>),
    Gate(Gate),
    Stall,
    Drop,
}

impl Reply {
    /// Returns an answer with this status and an empty body.
    pub(crate) fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), steps: Vec::new(), raw: None }
    }

    /// Returns a 200 event stream that is still empty; add [`Reply::piece`]s or events.
    pub(crate) fn sse() -> Self {
        Self::status(200).header("content-type", "text/event-stream")
    }

    /// Returns bytes that are sent as they are, status line and all, before the connection is
    /// closed.
    pub(crate) fn broken_off(bytes: &[u8]) -> Self {
        Self { raw: Some((bytes.to_vec(), Ending::Close)), ..Self::status(200) }
    }

    /// Returns bytes that are sent as they are, before nothing more comes.
    pub(crate) fn stalled(bytes: &[u8]) -> Self {
        Self { raw: Some((bytes.to_vec(), Ending::Stall)), ..Self::status(200) }
    }

    /// Returns the bytes that this answer has on the wire, up to where it first waits.
    pub(crate) fn wire(&self) -> Vec<u8> {
        let mut wire = self.head().into_bytes();
        for step in &self.steps {
            // Writing into memory cannot fail.
            let Step::Bytes(bytes) = step else { return wire };
            let _ = write_chunk(&mut wire, bytes);
        }
        wire.extend_from_slice(LAST_CHUNK);
        wire
    }

    fn head(&self) -> String {
        let mut head =
            format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head + "\r\n"
    }

    /// Returns a turn as an Anthropic event stream.
    pub(crate) fn anthropic(turn: Turn) -> Self {
        Self::sse().piece(turn.anthropic_sse())
    }

    /// Returns a reply of prose alone as an Anthropic event stream.
    pub(crate) fn anthropic_text(text: &str) -> Self {
        Self::anthropic(Turn::text(text))
    }

    /// Returns a turn as an OpenAI event stream.
    pub(crate) fn openai(turn: Turn) -> Self {
        Self::sse().piece(turn.openai_sse())
    }

    /// Returns a reply of prose alone as an OpenAI event stream.
    pub(crate) fn openai_text(text: &str) -> Self {
        Self::openai(Turn::text(text))
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds bytes that the client receives in one piece of their own.
    pub(crate) fn piece(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.steps.push(Step::Bytes(bytes.as_ref().to_vec()));
        self
    }

    /// Adds `data: JSON` and a blank line as one piece.
    pub(crate) fn data(self, data: Value) -> Self {
        self.piece(format!("data: {data}\n\n"))
    }

    /// Adds the text as one piece.
    pub(crate) fn body(self, text: &str) -> Self {
        self.piece(text)
    }

    /// Adds the JSON as one piece and names its type.
    pub(crate) fn json(self, value: Value) -> Self {
        self.header("content-type", "application/json").piece(value.to_string())
    }

    /// Waits here until the test opens `gate`.
    pub(crate) fn gate(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Gate(gate.clone()));
        self
    }

    /// Sends nothing more and keeps the connection open until the server is dropped.
    pub(crate) fn stall(mut self) -> Self {
        self.steps.push(Step::Stall);
        self
    }

    /// Closes the connection here, in the middle of the body.
    pub(crate) fn drop_connection(mut self) -> Self {
        self.steps.push(Step::Drop);
        self
    }

    /// Cuts every piece into pieces of `size` bytes.
    pub(crate) fn split_every(mut self, size: usize) -> Self {
        self.steps = self
            .steps
            .into_iter()
            .flat_map(|step| match step {
                Step::Bytes(bytes) => {
                    bytes.chunks(size).map(|part| Step::Bytes(part.to_vec())).collect()
                }
                other => vec![other],
            })
            .collect();
        self
    }

    /// Writes the answer; returns whether the connection can carry another request.
    pub(super) fn write(self, writer: &mut dyn Write, closing: &Gate) -> std::io::Result<bool> {
        if let Some((bytes, ending)) = self.raw {
            writer.write_all(&bytes)?;
            writer.flush()?;
            if ending == Ending::Stall {
                closing.pass();
            }
            return Ok(false);
        }
        writer.write_all(self.head().as_bytes())?;
        for step in self.steps {
            match step {
                Step::Bytes(bytes) => write_chunk(writer, &bytes)?,
                Step::Gate(gate) => {
                    gate.open_with(closing);
                    gate.pass();
                }
                Step::Stall => {
                    closing.pass();
                    return Ok(false);
                }
                Step::Drop => return Ok(false),
            }
        }
        writer.write_all(LAST_CHUNK)?;
        writer.flush()?;
        Ok(true)
    }
}

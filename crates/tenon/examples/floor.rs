//! The floor of the benchmarks: the least that a program must do to carry out a session.
//!
//! Replays a plan that `benches/run.py` took from a real run: the same request bodies over
//! loopback HTTP, the same file operations, commands and log lines, with the same syncs. It parses
//! no JSON, checks nothing and decides nothing, so what tenon costs above it is tenon's own.
//!
//! `floor ADDRESS PLAN LOG`, in the workspace. A plan is a list of operations: a line with words,
//! and after it as many bytes as its last number says.

#![expect(clippy::disallowed_methods, reason = "the floor stands beside the house, not in it")]

use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The longest time that a log line waits for fdatasync, as in tenon.
const SYNC_EVERY: Duration = Duration::from_millis(200);
/// Bytes of one read from a file, a pipe or a socket.
const CHUNK_BYTES: usize = 64 * 1024;
/// Results longer than this go whole into a file, as in tenon.
const SHOWN_BYTES_MAX: u64 = 50_000;

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let mut argument =
        || arguments.next().ok_or_else(|| io::Error::other("an argument is missing"));
    let address = argument()?;
    let mut plan = BufReader::new(File::open(argument()?)?);
    let mut log = Log::create(Path::new(&argument()?))?;
    let mut connection = Connection::open(&address)?;
    let (mut line, mut bytes, mut body) = (String::new(), Vec::new(), Vec::new());
    while plan.read_line(&mut line)? > 0 {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["log", length] => log.append(take(&mut plan, &mut bytes, length)?)?,
            ["request", keep, length] => {
                body.truncate(number(keep)?);
                body.extend_from_slice(take(&mut plan, &mut bytes, length)?);
                connection.request(&address, &body)?;
            }
            ["read", path] => read(path)?,
            ["write", path, length] => write(path, take(&mut plan, &mut bytes, length)?)?,
            ["edit", path, length] => {
                fs::read(path)?;
                write(path, take(&mut plan, &mut bytes, length)?)?;
            }
            ["grep", folder, length] => {
                let pattern = take(&mut plan, &mut bytes, length)?;
                grep(Path::new(folder), &String::from_utf8_lossy(pattern))?;
            }
            ["run", length] => {
                run(&String::from_utf8_lossy(take(&mut plan, &mut bytes, length)?))?;
            }
            _ => return Err(io::Error::other(format!("unknown operation: {line}"))),
        }
        line.clear();
    }
    Ok(())
}

fn number(word: &str) -> io::Result<usize> {
    word.parse().map_err(|_| io::Error::other(format!("not a number: {word}")))
}

fn take<'a>(plan: &mut impl Read, bytes: &'a mut Vec<u8>, length: &str) -> io::Result<&'a [u8]> {
    bytes.resize(number(length)?, 0);
    plan.read_exact(bytes)?;
    Ok(bytes)
}

/// One connection that is kept, as every HTTP client keeps it.
struct Connection {
    stream: BufReader<TcpStream>,
    line: String,
    chunk: Vec<u8>,
}

impl Connection {
    fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let stream = BufReader::with_capacity(CHUNK_BYTES, stream);
        Ok(Self { stream, line: String::new(), chunk: Vec::new() })
    }

    /// Sends `body` and reads the event stream to its end; text goes to standard output.
    fn request(&mut self, address: &str, body: &[u8]) -> io::Result<()> {
        let length = body.len();
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n"
        );
        let socket = self.stream.get_mut();
        socket.write_all(head.as_bytes())?;
        socket.write_all(body)?;
        while self.next_line()?.len() > 2 {}
        loop {
            let length = usize::from_str_radix(self.next_line()?.trim_end(), 16)
                .map_err(|_| io::Error::other("not a chunk"))?;
            self.chunk.resize(length + 2, 0);
            self.stream.read_exact(&mut self.chunk)?;
            if length == 0 {
                return Ok(());
            }
            show_text(&self.chunk)?;
        }
    }

    fn next_line(&mut self) -> io::Result<&str> {
        self.line.clear();
        if self.stream.read_line(&mut self.line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(&self.line)
    }
}

fn show_text(chunk: &[u8]) -> io::Result<()> {
    let event = String::from_utf8_lossy(chunk);
    let text = event.split_once(r#""text_delta","text":""#).map_or("", |(_, rest)| rest);
    let text = text.split_once('"').map_or("", |(text, _)| text);
    if text.is_empty() { Ok(()) } else { io::stdout().write_all(text.as_bytes()) }
}

/// Reads a file to its end and counts its lines, which "N more lines" needs.
fn read(path: &str) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut lines = 0;
    loop {
        let length = file.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        let bytes = chunk.get(..length).unwrap_or_default();
        // Counts of at most 255 fit a byte, which lets the compiler compare many bytes at once.
        let in_piece = |piece: &[u8]| piece.iter().fold(0_u8, |n, b| n + u8::from(*b == b'\n'));
        lines += bytes.chunks(255).map(|piece| usize::from(in_piece(piece))).sum::<usize>();
    }
    std::hint::black_box(lines);
    Ok(())
}

/// Writes so that a crash leaves the old file or the new one.
fn write(path: &str, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = Path::new(path).parent() {
        fs::create_dir_all(folder)?;
    }
    let temporary = format!("{path}.new");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(temporary, path)
}

fn grep(folder: &Path, pattern: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            grep(&entry.path(), pattern)?;
        } else {
            let text = fs::read(entry.path())?;
            let matches = String::from_utf8_lossy(&text)
                .lines()
                .filter(|line| line.contains(pattern))
                .count();
            std::hint::black_box(matches);
        }
    }
    Ok(())
}

/// Runs a command, reads its output to the end, and puts it into a file when it is long.
fn run(command: &str) -> io::Result<()> {
    let mut child = Command::new("bash")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut output = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let mut shown = Vec::new();
    (&mut output).take(SHOWN_BYTES_MAX).read_to_end(&mut shown)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut length = output.read(&mut chunk)?;
    if length > 0 {
        let mut spilled = File::create(env::temp_dir().join("floor-output"))?;
        spilled.write_all(&shown)?;
        while length > 0 {
            spilled.write_all(chunk.get(..length).unwrap_or_default())?;
            length = output.read(&mut chunk)?;
        }
    }
    child.wait()?;
    Ok(())
}

/// One write per event, fdatasync from a thread of its own: as tenon's session log.
struct Log {
    file: Arc<File>,
    written: Option<SyncSender<()>>,
    syncing: Option<JoinHandle<()>>,
}

impl Log {
    fn create(path: &Path) -> io::Result<Self> {
        let file = Arc::new(OpenOptions::new().append(true).create_new(true).open(path)?);
        let (written, wait) = mpsc::sync_channel(1);
        let shared = Arc::clone(&file);
        let syncing = Some(thread::spawn(move || sync_when_written(&shared, &wait)));
        Ok(Self { file, written: Some(written), syncing })
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        (&*self.file).write_all(line)?;
        // Full means that a sync is due already.
        self.written.as_ref().map(|written| written.try_send(()));
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.written = None;
        self.syncing.take().map(JoinHandle::join);
    }
}

fn sync_when_written(file: &File, written: &Receiver<()>) {
    while written.recv().is_ok() {
        let due = Instant::now() + SYNC_EVERY;
        loop {
            match written.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = file.sync_data();
                    return;
                }
            }
        }
        let _ = file.sync_data();
    }
}

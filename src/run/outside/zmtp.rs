//! Questions over ZeroMQ: the REQ side of ZMTP 3.0 with the mechanism NULL, over TCP or a socket of this machine.
//!
//! It is all that Batsim's schedulers need, and small, so it is ours: a pure Rust implementation would bring a runtime
//! of its own and some thirty crates for one socket that asks and waits, and libzmq a C++ library to be built. All
//! input is bounded, and invalid answers are described in words. The specification is RFC 23 of ZeroMQ.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::program::ANSWER_MAX;
use hansa_sim::grid::Endpoint;
use hansa_sim::protocol::outside::shorten_output;

/// A connection for questions.
pub struct Requester<S> {
    stream: S,
}

const GREETING: usize = 64;
const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// Largest number of frames of an answer, and of commands before one: more than any honest peer sends.
const FRAMES_MAX: usize = 64;
/// The longest command.
const COMMAND_MAX: u64 = 1 << 12;

/// A frame of a message, or a command.
struct Frame {
    flags: u8,
    body: Vec<u8>,
}

impl<S: Read + Write> Requester<S> {
    /// Agrees on the protocol with the other side, which has to be a socket that answers.
    pub fn greet_peer(stream: S) -> Result<Requester<S>, String> {
        // A socket that does not serve questions closes the connection.
        Requester::agree_protocol(stream).map_err(|wrong| if wrong == CLOSED { UNFIT.to_owned() } else { wrong })
    }

    fn agree_protocol(mut stream: S) -> Result<Requester<S>, String> {
        let mut greeting = [0; GREETING];
        (greeting[0], greeting[9], greeting[10]) = (0xff, 0x7f, 3);
        greeting[12..16].copy_from_slice(b"NULL");
        let mut ready = Vec::new();
        ready.push(5);
        ready.extend_from_slice(b"READY");
        for (name, value) in [("Socket-Type", "REQ"), ("Identity", "")] {
            ready.push(name.len() as u8);
            ready.extend_from_slice(name.as_bytes());
            ready.extend_from_slice(&(value.len() as u32).to_be_bytes());
            ready.extend_from_slice(value.as_bytes());
        }
        let mut out = greeting.to_vec();
        write_frame(&mut out, COMMAND, &ready);
        stream.write_all(&out).and_then(|()| stream.flush()).map_err(|error| lost_reason(&error))?;

        // A peer with another protocol may send less than a greeting, and wait.
        let mut theirs = [0; GREETING];
        stream.read_exact(&mut theirs[..1]).map_err(|error| lost_reason(&error))?;
        if theirs[0] != 0xff {
            return Err("does not speak ZeroMQ's protocol (expected a REP socket of ZeroMQ 4)".to_owned());
        }
        stream.read_exact(&mut theirs[1..11]).map_err(|error| lost_reason(&error))?;
        if theirs[9] & 1 != 1 || theirs[10] < 3 {
            return Err("speaks an old version of ZeroMQ's protocol (expected 3.0 or later)".to_owned());
        }
        stream.read_exact(&mut theirs[11..]).map_err(|error| lost_reason(&error))?;
        let mechanism = &theirs[12..32];
        if !mechanism.starts_with(b"NULL\0") {
            let name = String::from_utf8_lossy(mechanism).trim_end_matches('\0').to_owned();
            return Err(format!("uses ZeroMQ's security mechanism {}, where NULL was expected", shorten_output(&name)));
        }
        let mut requester = Requester { stream };
        let Frame { flags, body } = requester.read_frame(ANSWER_MAX)?;
        if flags & COMMAND == 0 || !body.starts_with(b"\x05READY") {
            return Err(refusal_reason(&body).unwrap_or_else(|| "does not send a valid ZeroMQ greeting".to_owned()));
        }
        match socket_type(&body[6..]).as_deref() {
            Some("REP" | "ROUTER") => Ok(requester),
            other => {
                let other = shorten_output(other.unwrap_or("none"));
                Err(format!("has a ZeroMQ socket of type {other}, where REP was expected"))
            }
        }
    }

    /// Asks, and waits for the answer.
    pub fn send_request(&mut self, question: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = Vec::with_capacity(question.len() + 16);
        write_frame(&mut out, MORE, &[]);
        write_frame(&mut out, 0, question);
        self.stream.write_all(&out).and_then(|()| self.stream.flush()).map_err(|error| lost_reason(&error))?;
        let mut parts = Vec::new();
        let mut room = ANSWER_MAX;
        for _ in 0..FRAMES_MAX {
            let Frame { flags, body } = self.read_frame(room)?;
            if flags & COMMAND != 0 {
                refusal_reason(&body).map_or(Ok(()), Err)?;
                continue;
            }
            room -= body.len() as u64;
            parts.push(body);
            if flags & MORE == 0 {
                return match &mut parts[..] {
                    [empty, answer] if empty.is_empty() => Ok(std::mem::take(answer)),
                    _ => Err(format!("answers in {} parts, where one was expected", parts.len().saturating_sub(1))),
                };
            }
        }
        Err("answers in too many parts".to_owned())
    }

    /// Reads a command, or a part of a message with at most `room` bytes.
    fn read_frame(&mut self, room: u64) -> Result<Frame, String> {
        let mut flags = [0];
        self.stream.read_exact(&mut flags).map_err(|error| lost_reason(&error))?;
        let [flags] = flags;
        if flags > MORE | LONG | COMMAND || flags & COMMAND != 0 && flags & MORE != 0 {
            return Err(format!("sends a frame with flags {flags:#x}, which mean nothing"));
        }
        let size = if flags & LONG != 0 {
            let mut size = [0; 8];
            self.stream.read_exact(&mut size).map_err(|error| lost_reason(&error))?;
            u64::from_be_bytes(size)
        } else {
            let mut size = [0];
            self.stream.read_exact(&mut size).map_err(|error| lost_reason(&error))?;
            size[0].into()
        };
        if flags & COMMAND != 0 && size > COMMAND_MAX {
            return Err(format!("sends a command of {size} bytes, where at most {COMMAND_MAX} are allowed"));
        }
        if flags & COMMAND == 0 && size > room {
            return Err(format!("sends a message of more than {} MiB", ANSWER_MAX >> 20));
        }
        // Grows with the received data, not with the announced length.
        let mut body = Vec::new();
        Read::by_ref(&mut self.stream).take(size).read_to_end(&mut body).map_err(|error| lost_reason(&error))?;
        match body.len() as u64 == size {
            true => Ok(Frame { flags, body }),
            false => Err(CLOSED.to_owned()),
        }
    }
}

const CLOSED: &str = "has closed the connection before the run was over";
const UNFIT: &str = "closes the connection when it is greeted, where a REP socket of ZeroMQ 4 was expected";

fn lost_reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => CLOSED.to_owned(),
        _ => format!("cannot be reached any more: {error}"),
    }
}

fn write_frame(out: &mut Vec<u8>, flags: u8, body: &[u8]) {
    match u8::try_from(body.len()) {
        Ok(size) => out.extend_from_slice(&[flags, size]),
        Err(_) => {
            out.push(flags | LONG);
            out.extend_from_slice(&(body.len() as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(body);
}

/// The other side's reason for a refusal.
fn refusal_reason(command: &[u8]) -> Option<String> {
    let reason = command.strip_prefix(b"\x05ERROR")?;
    let reason = shorten_output(&String::from_utf8_lossy(reason.get(1..).unwrap_or_default()));
    Some(format!("refuses the connection: {reason}"))
}

/// The type of a peer's socket, among its properties.
fn socket_type(mut properties: &[u8]) -> Option<String> {
    loop {
        let (&length, rest) = properties.split_first()?;
        let (name, rest) = rest.split_at_checked(length.into())?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let (value, rest) = rest.split_at_checked(u32::from_be_bytes(*size) as usize)?;
        if name.eq_ignore_ascii_case(b"Socket-Type") {
            return Some(String::from_utf8_lossy(value).into_owned());
        }
        properties = rest;
    }
}

/// Calls an endpoint until it answers; another thread may hang up.
#[derive(Clone)]
pub struct Caller {
    endpoint: Endpoint,
    within: Duration,
    line: Arc<Mutex<Line>>,
}

enum Line {
    Calling,
    Up(Stream),
    HungUp,
}

/// Pause before the next call.
const AGAIN_AFTER: Duration = Duration::from_millis(10);

impl Caller {
    pub fn new(endpoint: Endpoint, within: Duration) -> Caller {
        Caller { endpoint, within, line: Arc::new(Mutex::new(Line::Calling)) }
    }

    /// A program that has just been started may take a while until it listens.
    pub fn connect_with_retries(&self) -> Result<Stream, String> {
        let began = Instant::now();
        loop {
            let error = match self.try_connect() {
                Ok(stream) => {
                    let mut line = self.line.lock().map_err(|_| CLOSED.to_owned())?;
                    if matches!(*line, Line::HungUp) {
                        return Err(CLOSED.to_owned());
                    }
                    *line = Line::Up(stream.try_clone().map_err(|error| lost_reason(&error))?);
                    return Ok(stream);
                }
                Err(error) => error,
            };
            if self.line.lock().is_ok_and(|line| matches!(*line, Line::HungUp)) {
                return Err(CLOSED.to_owned());
            }
            if began.elapsed() >= self.within {
                return Err(format!("cannot be reached at {} in time: {error}", self.endpoint_text()));
            }
            std::thread::sleep(AGAIN_AFTER);
        }
    }

    /// Ends the wait for an answer.
    pub fn hang_up(&self) {
        if let Ok(mut line) = self.line.lock()
            && let Line::Up(stream) = std::mem::replace(&mut *line, Line::HungUp)
        {
            stream.shutdown();
        }
    }

    fn try_connect(&self) -> std::io::Result<Stream> {
        match &self.endpoint {
            Endpoint::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                // Each question is one write, and is waited for.
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Endpoint::Ipc(path) => UnixStream::connect(path).map(Stream::Ipc),
        }
    }

    fn endpoint_text(&self) -> String {
        match &self.endpoint {
            Endpoint::Tcp(address) => format!("tcp://{address}"),
            Endpoint::Ipc(path) => format!("ipc://{path}"),
        }
    }
}

/// A connection over either transport.
pub enum Stream {
    Tcp(TcpStream),
    Ipc(UnixStream),
}

impl Stream {
    fn try_clone(&self) -> std::io::Result<Stream> {
        match self {
            Stream::Tcp(stream) => stream.try_clone().map(Stream::Tcp),
            Stream::Ipc(stream) => stream.try_clone().map(Stream::Ipc),
        }
    }

    fn shutdown(&self) {
        // The connection may be down already.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Stream::Ipc(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(into),
            Stream::Ipc(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Ipc(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hansa_sim::random::SplitMix64;

    /// The other side's bytes, and the bytes sent to it.
    struct Peer {
        messages: std::io::Cursor<Vec<u8>>,
        message: Vec<u8>,
    }

    impl Read for Peer {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.messages.read(into)
        }
    }

    impl Write for Peer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.message.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// A greeting like that of libzmq 4.3: version 3.1, NULL, and a socket of this type.
    fn greeting(kind: &str) -> Vec<u8> {
        let mut messages = b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\x01NULL".to_vec();
        messages.resize(GREETING, 0);
        let mut ready = b"\x05READY\x0bSocket-Type\0\0\0".to_vec();
        ready.push(kind.len() as u8);
        ready.extend_from_slice(kind.as_bytes());
        ready.extend_from_slice(b"\x08Identity\0\0\0\0");
        write_frame(&mut messages, COMMAND, &ready);
        messages
    }

    fn answer(parts: &[&[u8]]) -> Vec<u8> {
        let mut messages = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            write_frame(&mut messages, if number + 1 < parts.len() { MORE } else { 0 }, part);
        }
        messages
    }

    /// Asks a peer with these bytes once.
    fn ask(messages: Vec<u8>) -> (Result<Vec<u8>, String>, Vec<u8>) {
        match Requester::greet_peer(Peer { messages: std::io::Cursor::new(messages), message: Vec::new() }) {
            Ok(mut requester) => (requester.send_request(b"question"), requester.stream.message),
            Err(wrong) => (Err(wrong), Vec::new()),
        }
    }

    #[test]
    fn an_answer_is_what_comes_after_an_empty_part() {
        let long = vec![b'x'; 70_000];
        for printed in [&b"answer"[..], b"", &long] {
            let (got, message) = ask([greeting("REP"), answer(&[b"", printed])].concat());
            assert_eq!(got.as_deref(), Ok(printed));
            assert!(message.ends_with(b"\x01\0\0\x08question"), "an empty part, and then the question");
            let ready = b"\x04\x26\x05READY\x0bSocket-Type\0\0\0\x03REQ\x08Identity\0\0\0\0";
            assert!(message[GREETING..].starts_with(ready), "{message:?}");
        }
        // Commands between messages are skipped.
        let mut ping = Vec::new();
        write_frame(&mut ping, COMMAND, b"\x04PING\0\0");
        let (got, _) = ask([greeting("ROUTER"), ping, answer(&[b"", b"yes"])].concat());
        assert_eq!(got.as_deref(), Ok(&b"yes"[..]));
    }

    #[test]
    fn an_invalid_peer_is_described_in_words() {
        let mut refuses = greeting("REP")[..GREETING].to_vec();
        write_frame(&mut refuses, COMMAND, b"\x05ERROR\x09not today");
        let mut curve = greeting("REP");
        curve[12..17].copy_from_slice(b"CURVE");
        let mut old = greeting("REP");
        old[10] = 1;
        let mut huge = greeting("REP");
        huge.extend_from_slice(b"\x02\x7f\xff\xff\xff\xff\xff\xff\xff");
        // Each part is allowed, all of them together are not.
        let part = vec![b'x'; (ANSWER_MAX / 2) as usize];
        let many = [greeting("REP"), answer(&[b"", &part, &part, b"x"])].concat();
        let cases: Vec<(Vec<u8>, &str)> = vec![
            (b"HTTP/1.1 400 Bad Request\r\n".to_vec(), "does not speak ZeroMQ's protocol"),
            (Vec::new(), UNFIT),
            (greeting("REP")[..30].to_vec(), UNFIT),
            (old, "speaks an old version"),
            (curve, "uses ZeroMQ's security mechanism CURVE, where NULL was expected"),
            (refuses, "refuses the connection: not today"),
            (greeting("PUB")[..GREETING].to_vec(), UNFIT),
            (greeting("PUB"), "has a ZeroMQ socket of type PUB, where REP was expected"),
            (greeting("REP"), CLOSED),
            ([greeting("REP"), answer(&[b"", b"a", b"b"])].concat(), "answers in 2 parts, where one was expected"),
            ([greeting("REP"), answer(&[b"answer"])].concat(), "answers in 0 parts, where one was expected"),
            ([greeting("REP"), vec![0x80, 0]].concat(), "sends a frame with flags 0x80, which mean nothing"),
            ([greeting("REP"), b"\x01\0".repeat(1000)].concat(), "answers in too many parts"),
            (huge, "sends a message of more than 64 MiB"),
            (many, "sends a message of more than 64 MiB"),
        ];
        for (messages, expected) in cases {
            let wrong = ask(messages).0.unwrap_err();
            assert!(wrong.starts_with(expected), "{wrong}, where {expected} was expected");
        }
    }

    #[test]
    fn what_is_almost_an_answer_is_taken_or_refused() {
        let honest = [greeting("REP"), answer(&[b"", b"an answer"])].concat();
        let mut random = SplitMix64::new(7);
        for _ in 0..20_000 {
            let mut messages = honest.clone();
            for _ in 0..random.int(1, 4) {
                let Some(last) = messages.len().checked_sub(1) else { break };
                let place = random.int(0, last as u64) as usize;
                match random.int(0, 2) {
                    0 => messages[place] = random.int(0, 255) as u8,
                    1 => drop(messages.remove(place)),
                    _ => messages.truncate(place.max(1)),
                }
            }
            if let Err(wrong) = ask(messages).0 {
                assert!(!wrong.is_empty() && !wrong.contains(char::is_control), "{wrong:?}");
            }
        }
    }
}

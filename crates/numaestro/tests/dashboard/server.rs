//! A dashboard that runs, and a browser's side of HTTP without a browser.

use crate::user::{Mortal, User, line, start, until};
use serde_json::Value;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

/// See the file's header.
pub struct Dashboard {
    pub process: Mortal,
    pub port: u16,
    pub token: String,
}

impl Dashboard {
    /// Started by this command; it has printed its link.
    pub fn start(command: &mut Command) -> Self {
        let mut process = start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()));
        let link = line(&mut process);
        let (address, token) = link.split_once("/#token=").unwrap_or_else(|| panic!("no link: {link}"));
        let port = address.rsplit_once(':').expect("a port").1.parse().expect("a port");
        Self { process, port, token: token.to_owned() }
    }

    pub fn of(user: &User) -> Self {
        Self::start(&mut user.command(["dashboard"]))
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        stream
    }

    /// The usual headers, with the token.
    pub fn headers(&self) -> String {
        format!("Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n", self.port, self.token)
    }

    /// Sends a request, whole or not, and reads the answer to its end.
    pub fn answer(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        // It may have refused and closed before all was sent.
        let _ = stream.write_all(request.as_bytes());
        Answer::read(stream)
    }

    pub fn get(&self, path: &str, headers: &str) -> Answer {
        self.answer(&format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"))
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        let headers = self.headers();
        let length = body.len();
        self.answer(&format!(
            "POST {path} HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        ))
    }

    /// The stream of messages.
    pub fn stream(&self) -> Messages {
        let mut stream = self.connect();
        write!(stream, "GET /stream HTTP/1.1\r\n{}\r\n", self.headers()).expect("it listens");
        let mut reader = BufReader::new(stream);
        let mut status = String::new();
        reader.read_line(&mut status).expect("an answer");
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        Messages { reader }
    }
}

/// An answer, read to its end.
pub struct Answer {
    /// 0: the connection was closed without one.
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    fn read(mut stream: TcpStream) -> Self {
        let mut all = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => all.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(error) => panic!("no end of the answer: {error}; {}", String::from_utf8_lossy(&all)),
            }
        }
        let text = String::from_utf8_lossy(&all).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Self { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// The messages that a page is given.
pub struct Messages {
    reader: BufReader<TcpStream>,
}

impl Messages {
    /// The next one. Lines of the transfer's own (sizes of chunks) are passed over.
    pub fn next(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.reader.read_line(&mut line).expect("in time") > 0, "the stream has ended");
            if line.starts_with('{') {
                return serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            }
        }
    }

    /// The first message that is wanted.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..2000 {
            let message = self.next();
            if wanted(&message) {
                return message;
            }
        }
        panic!("never: {what}");
    }
}

/// The steps of a message.
pub fn steps(message: &Value) -> impl Iterator<Item = &Value> {
    message["steps"].as_array().into_iter().flatten()
}

/// The applications that a message tells of, with their names.
pub fn names(message: &Value) -> Vec<String> {
    let apps = steps(message).flat_map(|step| step["apps"].as_array().into_iter().flatten());
    apps.map(|app| app["name"].as_str().expect("a name").to_owned()).collect()
}

/// A manager that gives out every processor, whatever else runs on the machine.
pub fn manager(user: &User) -> Mortal {
    let mut command = user.command(["daemon", "--ignore-unmanaged"]);
    let manager = start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("a manager", || crate::user::json(&user.output(["status", "--json"]))["running"] == true);
    manager
}

/// A program under `run`; it is there when this returns.
pub fn program(user: &User, name: &str) -> Mortal {
    let words = ["run", "--name", name, "--", "sh", "-c", "echo ready; exec sleep 600"];
    let mut child = start(user.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()));
    assert_eq!(line(&mut child), "ready");
    child
}

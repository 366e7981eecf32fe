//! One request and its response as bytes, which must be the same at each bridge of a cluster.

use std::fmt;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::kit::*;
use crate::mcp_answers::{without_request_ids, without_times};

/// The headers whose values differ from response to response, and why.
const UNEQUAL_HEADERS: [(&str, &str); 3] = [
    ("date", "the time of the response"),
    ("x-request-id", "each request has another one"),
    ("mcp-session-id", "each session has another one"),
];

/// A request with exactly these headers, on a separate connection.
#[derive(Clone, Debug)]
pub(super) struct RawRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Vec<u8>,
    pub(super) is_chunked: bool,
}

impl RawRequest {
    pub(super) fn new(method: &str, path: &str) -> Self {
        let this = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            is_chunked: false,
        };
        this.header("host", "localhost")
    }

    /// Adds a header, in place of one with the same name.
    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(super) fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(super) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends the body in chunks, without its length.
    pub(super) fn chunked(mut self) -> Self {
        self.is_chunked = true;
        self
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.path).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend([name.as_bytes(), b": ", value.as_slice(), b"\r\n"].concat());
        }
        bytes.extend(b"connection: close\r\n");
        if self.is_chunked {
            bytes.extend(b"transfer-encoding: chunked\r\n\r\n");
            for chunk in self.body.chunks(10_000) {
                bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                bytes.extend([chunk, b"\r\n"].concat());
            }
            bytes.extend(b"0\r\n\r\n");
        } else {
            bytes.extend(format!("content-length: {}\r\n\r\n", self.body.len()).into_bytes());
            bytes.extend(&self.body);
        }
        bytes
    }

    /// Sends the request, and reads the response to the end of the connection.
    pub(super) async fn send(&self, address: SocketAddr) -> RawResponse {
        let bytes = self.encode();
        let (mut reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
        let mut received = Vec::new();
        // A response may come, and the connection end, before the whole request was taken.
        let (_, _) = with_deadline("response", async {
            tokio::join!(writer.write_all(&bytes), reader.read_to_end(&mut received))
        })
        .await;
        RawResponse::parse(&received, &self.method)
    }
}

/// A response without what differs from one to the next.
#[derive(Clone, PartialEq)]
pub(super) struct RawResponse {
    /// The line with the status.
    pub(super) status: String,
    /// The headers in the order of their names.
    pub(super) headers: Vec<String>,
    pub(super) body: String,
}

impl RawResponse {
    fn parse(received: &[u8], method: &str) -> Self {
        let end = received.windows(4).position(|it| it == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no head: {}", String::from_utf8_lossy(received)));
        let head = String::from_utf8_lossy(&received[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().to_owned();
        let mut headers: Vec<_> = lines.map(without_value_that_differs).collect();
        headers.sort_unstable();
        let mut body = received[end + 4..].to_vec();
        if headers.iter().any(|it| it == "transfer-encoding: chunked") && method != "HEAD" {
            body = without_chunks(&body);
        }
        let body = String::from_utf8_lossy(&body);
        Self {
            status,
            headers,
            body: without_event_ids(&without_request_ids(&without_times(&body))),
        }
    }

    /// The number of the status.
    pub(super) fn code(&self) -> u16 {
        let code = self.status.split(' ').nth(1).unwrap();
        code.parse().unwrap()
    }
}

impl fmt::Debug for RawResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body: String = self.body.chars().take(2_000).collect();
        write!(f, "{}\n{}\n\n{body}", self.status, self.headers.join("\n"))
    }
}

fn without_value_that_differs(line: &str) -> String {
    let (name, _) = line.split_once(':').unwrap();
    let name = name.to_ascii_lowercase();
    if UNEQUAL_HEADERS.iter().any(|(other, _)| *other == name) {
        return format!("{name}: …");
    }
    line.to_owned()
}

/// Replaces the ids of events, which count up.
fn without_event_ids(body: &str) -> String {
    let lines = body.split('\n').map(|line| match line.strip_prefix("id:") {
        Some(_) => "id: …",
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn without_chunks(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|it| it == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        bytes = &bytes[end + 2..];
        if size == 0 {
            return body;
        }
        body.extend(&bytes[..size]);
        bytes = &bytes[size + 2..];
    }
    panic!(
        "the body has no last chunk, and ended after {} bytes",
        body.len()
    );
}

//! A minimal HTTP/1.1 client: one persistent connection, one request at a time.

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::source_address::connect_from;

/// The minimum room in the buffer before each read, in bytes.
const READ_BYTES: usize = 16 * 1024;

/// A persistent connection, with the buffers for the current response.
pub(crate) struct Connection {
    socket: TcpStream,
    received: Vec<u8>,
    body: Vec<u8>,
}

/// A response, which is valid until the next request.
pub(crate) struct HttpResponse<'a> {
    pub(crate) status: u16,
    pub(crate) mcp_session: Option<String>,
    /// The JSON message: the body, or the data of the last event that has data.
    pub(crate) message: &'a [u8],
}

/// The parsed head of a response.
struct Head {
    status: u16,
    length: BodyLength,
    is_event_stream: bool,
    mcp_session: Option<String>,
}

#[derive(Clone, Copy)]
enum BodyLength {
    Bytes(usize),
    Chunked,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let socket = TcpStream::connect(address).await;
        let socket = socket.with_context(|| format!("nothing listens on {address}"))?;
        socket.set_nodelay(true)?;
        Ok(Self::new(socket))
    }

    /// Connects from this address of the client.
    pub(crate) async fn open_from(source: IpAddr, address: SocketAddr) -> Result<Self> {
        let socket = connect_from(source, address).await;
        let socket = socket.with_context(|| format!("{address} does not accept {source}"))?;
        Ok(Self::new(socket))
    }

    fn new(socket: TcpStream) -> Self {
        Self {
            socket,
            received: Vec::with_capacity(READ_BYTES),
            body: Vec::new(),
        }
    }

    /// Sends a request and reads the response to its end.
    pub(crate) async fn request(&mut self, request: &[u8]) -> Result<HttpResponse<'_>> {
        self.socket.write_all(request).await?;
        self.received.clear();
        self.body.clear();
        let (head, end) = loop {
            self.fill(0).await?;
            if let Some(end) = memmem::find(&self.received, b"\r\n\r\n") {
                break (Head::parse(&self.received[..end])?, end + 4);
            }
        };
        let body = match head.length {
            BodyLength::Bytes(length) => {
                let whole = end + length;
                while self.received.len() < whole {
                    self.fill(whole - self.received.len()).await?;
                }
                ensure!(self.received.len() == whole, "more than one response");
                &self.received[end..]
            }
            BodyLength::Chunked => {
                self.read_chunks(end).await?;
                &self.body
            }
        };
        Ok(HttpResponse {
            status: head.status,
            message: if head.is_event_stream {
                last_event(body)
            } else {
                body
            },
            mcp_session: head.mcp_session,
        })
    }

    /// Reads what is available. `missing` is the number of bytes that are known to follow.
    async fn fill(&mut self, missing: usize) -> Result<()> {
        self.received.reserve(missing.max(READ_BYTES));
        let count = self.socket.read_buf(&mut self.received).await?;
        ensure!(
            count > 0,
            "the connection ended in the middle of a response"
        );
        Ok(())
    }

    /// Reads a chunked body (RFC 9112, section 7.1) without extensions and trailers.
    async fn read_chunks(&mut self, mut at: usize) -> Result<()> {
        loop {
            let line = loop {
                match memmem::find(&self.received[at..], b"\r\n") {
                    Some(line) => break line,
                    None => self.fill(0).await?,
                }
            };
            let size = str::from_utf8(&self.received[at..at + line])?;
            let size = usize::from_str_radix(size, 16).context("no chunk size")?;
            at += line + 2;
            let end = at + size + 2;
            while self.received.len() < end {
                self.fill(end - self.received.len()).await?;
            }
            self.body.extend_from_slice(&self.received[at..at + size]);
            at = end;
            if size == 0 {
                return Ok(());
            }
        }
    }
}

impl Head {
    fn parse(head: &[u8]) -> Result<Self> {
        let head = str::from_utf8(head)?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.get(9..12));
        let mut parsed = Self {
            status: status.context("no status")?.parse()?,
            length: BodyLength::Bytes(0),
            is_event_stream: false,
            mcp_session: None,
        };
        for line in lines {
            let (name, value) = line.split_once(':').context("not a header")?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                parsed.length = BodyLength::Bytes(value.parse()?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                parsed.length = BodyLength::Chunked;
            } else if name.eq_ignore_ascii_case("content-type") {
                parsed.is_event_stream = value.starts_with("text/event-stream");
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                parsed.mcp_session = Some(value.to_owned());
            } else if name.eq_ignore_ascii_case("connection") && value == "close" {
                bail!("the connection is not persistent: {head}");
            }
        }
        Ok(parsed)
    }
}

/// Returns the data of the last event that has data. Messages are events of one line.
fn last_event(stream: &[u8]) -> &[u8] {
    let (mut last, mut begin): (&[u8], _) = (&[], 0);
    for end in memchr::memchr_iter(b'\n', stream) {
        let line = stream[begin..end].trim_ascii();
        last = match line.strip_prefix(b"data:") {
            Some(data) if !data.is_empty() => data.trim_ascii_start(),
            _ => last,
        };
        begin = end + 1;
    }
    last
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn read_answer(answer: &'static [u8]) -> Result<(u16, Vec<u8>)> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let mut connection = Connection::open(listener.local_addr()?).await?;
        let (mut peer, _) = listener.accept().await?;
        let answering = async {
            // Small writes split the response at every position.
            for piece in answer.chunks(3) {
                peer.write_all(piece).await?;
                peer.flush().await?;
                tokio::task::yield_now().await;
            }
            anyhow::Ok(())
        };
        let (answer, sent) = tokio::join!(connection.request(b"x"), answering);
        sent?;
        let answer = answer?;
        Ok((answer.status, answer.message.to_vec()))
    }

    #[tokio::test]
    async fn json_and_event_stream_responses_are_read() {
        let plain = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(read_answer(plain).await.unwrap(), (200, b"{}".to_vec()));
        let events = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
            transfer-encoding: chunked\r\n\r\n\
            c\r\nid: 0\ndata: \r\n2\r\n\n\n\r\n15\r\nid: 1\r\ndata: {\"a\":1}\n\r\n1\r\n\n\r\n0\r\n\r\n";
        assert_eq!(
            read_answer(events).await.unwrap(),
            (200, b"{\"a\":1}".to_vec())
        );
        let empty = b"HTTP/1.1 202 Accepted\r\n\r\n";
        assert_eq!(read_answer(empty).await.unwrap(), (202, Vec::new()));
    }
}

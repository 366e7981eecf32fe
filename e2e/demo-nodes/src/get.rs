//! Sends a request to a bridge of this machine.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The largest response: the metrics of a bridge have some 100 KiB.
const MAX_RESPONSE_BYTES: u64 = 4 * 1024 * 1024;

/// Sends a `GET` request to a bridge, with a bearer token if there is one, and returns the status and the
/// body of the response. It is HTTP/1.0, whose responses have no chunks and end with their connection.
///
/// # Errors
///
/// Returns an error if the bridge does not respond with HTTP.
pub async fn get(address: SocketAddr, path: &str, token: Option<&str>) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let authorization = authorization.unwrap_or_default();
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    let mut stream = stream.take(MAX_RESPONSE_BYTES);
    stream.read_to_string(&mut response).await?;
    parse(&response).ok_or_else(|| Error::new(ErrorKind::InvalidData, "the response is not HTTP"))
}

fn parse(response: &str) -> Option<(u16, String)> {
    let (head, body) = response.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_a_status_and_a_body() {
        let response = "HTTP/1.0 503 Service Unavailable\r\ncontent-length: 2\r\n\r\nno";
        assert_eq!(parse(response), Some((503, "no".to_owned())));
        assert_eq!(parse("HTTP/1.0 200 OK\r\n\r\n"), Some((200, String::new())));
        assert_eq!(parse("SSH-2.0-OpenSSH"), None);
    }
}

//! Requests that are prepared once and sent many times.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;

use bytes::Bytes;
use http::request::Parts;
use http_body_util::Full;
use serde_json::{Value, json};

/// The ids of calls; all have the same number of digits.
pub(crate) const CALL_IDS: Range<u64> = 1_000_000_000..10_000_000_000;

/// The number of digits of an id.
pub(crate) const ID_DIGITS: usize = 10;

/// Where requests go, and who sends them.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    /// The address of the client.
    pub(crate) source: IpAddr,
    pub(crate) token: String,
}

impl Endpoint {
    /// Creates the endpoint of clients at 127.0.0.1.
    pub(crate) fn new(address: SocketAddr, token: &str) -> Self {
        Self {
            address,
            source: Ipv4Addr::LOCALHOST.into(),
            token: token.to_owned(),
        }
    }
}

/// A prepared request. Each time that it is sent, it may have another id.
#[derive(Clone)]
pub(crate) struct Request {
    head: Parts,
    body: Vec<u8>,
    id_position: Option<usize>,
}

impl Request {
    /// Creates a request with a JSON body, or without a body if it is `null`. `target` is like
    /// `POST /mcp`, and `headers` are those beside the host, the token and the media type.
    pub(crate) fn new(
        target: &str,
        endpoint: &Endpoint,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Self {
        let (method, path) = target.split_once(' ').expect("a method and a path");
        let mut request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", endpoint.address.to_string())
            .header("authorization", format!("Bearer {}", endpoint.token))
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request
            .body(())
            .expect("the headers are valid")
            .into_parts();
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let id = body.find(&format!("\"id\":{}", CALL_IDS.start));
        Self {
            head,
            id_position: id.map(|at| at + "\"id\":".len()),
            body: body.into_bytes(),
        }
    }

    /// Sets the id of the request.
    pub(crate) fn with_id(&mut self, id: u64) -> &Self {
        if let Some(at) = self.id_position {
            self.body[at..at + ID_DIGITS].copy_from_slice(id.to_string().as_bytes());
        }
        self
    }

    pub(crate) fn to_http(&self) -> http::Request<Full<Bytes>> {
        let body = Full::new(Bytes::from(self.body.clone()));
        http::Request::from_parts(self.head.clone(), body)
    }
}

/// Returns a JSON-RPC request, whose id changes each time that it is sent.
pub(crate) fn rpc(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": CALL_IDS.start, "method": method, "params": params })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_differ_only_in_their_id() {
        let endpoint = Endpoint::new(([127, 0, 0, 1], 3001).into(), "t");
        let body = rpc("tools/call", json!({ "name": "a", "arguments": {} }));
        let mut request = Request::new("POST /mcp", &endpoint, &[], &body);
        let first = String::from_utf8(request.body.clone()).unwrap();
        let later = request.with_id(CALL_IDS.start + 1_234).body.clone();
        let expected = first.replace("\"id\":1000000000", "\"id\":1000001234");
        assert_eq!(String::from_utf8(later).unwrap(), expected);
    }
}

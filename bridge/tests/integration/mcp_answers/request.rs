//! A request with its exact body and headers, and the clients that send it.

use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::Value;

/// The sender of a request. All clients must get the same answers, whatever they declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// Has an MCP session of 2025-11-25.
    Session { declares_all: bool },
    /// Speaks 2026-07-28.
    Stateless { declares_all: bool },
}

pub(crate) const SESSIONS: &[Client] = &[
    Client::Session {
        declares_all: false,
    },
    Client::Session { declares_all: true },
];
pub(crate) const STATELESS: &[Client] = &[
    Client::Stateless {
        declares_all: false,
    },
    Client::Stateless { declares_all: true },
];

/// A request with its exact body and headers.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) token: Option<&'static str>,
    pub(crate) headers: Vec<(&'static str, HeaderValue)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self = self.without(name);
        self.another(name, value.as_bytes())
    }

    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self
    }

    pub(crate) fn another(mut self, name: &'static str, value: &[u8]) -> Self {
        let value = HeaderValue::from_bytes(value).unwrap();
        self.headers.push((name, value));
        self
    }

    pub(crate) fn twice(mut self, name: &'static str) -> Self {
        let found = self.headers.iter().find(|(other, _)| *other == name);
        let again = found.unwrap().clone();
        self.headers.push(again);
        self
    }

    pub(crate) fn body(mut self, text: &str) -> Self {
        text.clone_into(&mut self.body);
        self
    }

    /// Sets a member of the body, at a JSON pointer.
    pub(crate) fn set(mut self, pointer: &str, value: Value) -> Self {
        let mut body: Value = serde_json::from_str(&self.body).unwrap();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/");
        body.pointer_mut(parent).unwrap()[key] = value;
        self.body = body.to_string();
        self
    }

    pub(crate) fn remove(mut self, pointer: &str) -> Self {
        let mut body: Value = serde_json::from_str(&self.body).unwrap();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.remove(&key.replace("~1", "/")).unwrap();
        self.body = body.to_string();
        self
    }

    pub(crate) fn http(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    pub(crate) fn token(mut self, token: Option<&'static str>) -> Self {
        self.token = token;
        self
    }
}

//! Recordings of conversations with a real provider, and their replay without a key.
//!
//! A file contains one exchange. Only the response headers that matter to clients are stored; keys
//! and the ids of accounts and requests are removed from the bodies.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, Response, header};
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::format::Format;

/// One exchange with a provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Recording {
    pub(super) format: Format,
    pub(super) request: Value,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// The body of the response, split into the frames of its format.
    pub(super) frames: Vec<String>,
}

/// The recordings of a folder, for replay.
#[derive(Debug)]
pub struct Recordings {
    recordings: Vec<Recording>,
}

impl Recordings {
    /// Loads all recordings of a folder, in the order of their file names.
    ///
    /// # Errors
    ///
    /// Returns an error when the folder or one of its files cannot be read.
    pub fn load(folder: &Path) -> anyhow::Result<Self> {
        let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|it| it == "json"));
        paths.sort();
        let load = |path: &PathBuf| -> anyhow::Result<Recording> {
            Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
        };
        let recordings = paths.iter().map(load).collect::<Result<_, _>>()?;
        Ok(Self { recordings })
    }

    /// Finds the response to this turn of this conversation or, if there is none, to this turn of
    /// another one.
    pub(super) fn find(&self, format: Format, request: &Value) -> Option<&Recording> {
        let turn = format.turns_before(request);
        let candidates = self.recordings.iter().filter(|recording| {
            recording.format == format && format.turns_before(&recording.request) == turn
        });
        let mut candidates = candidates.peekable();
        let any = candidates.peek().copied();
        candidates
            .find(|recording| recording.request == *request)
            .or(any)
    }
}

/// A real provider, and the folder for recordings of exchanges with it.
#[derive(Debug)]
pub struct Upstream {
    url: String,
    folder: PathBuf,
    client: reqwest::Client,
    written: AtomicUsize,
}

/// Headers that are not forwarded: they belong to the connection, or would compress the response.
const HOP_HEADERS: [HeaderName; 5] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::ACCEPT_ENCODING,
];

/// The response headers that are recorded.
const RECORDED_HEADERS: [&str; 3] = ["content-type", "retry-after", "retry-after-ms"];

impl Upstream {
    /// Creates an upstream for the provider at `url`, without a path, that records into `folder`.
    ///
    /// # Errors
    ///
    /// Returns an error when the folder cannot be created.
    pub fn new(url: &str, folder: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)?;
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            folder: folder.to_owned(),
            client: reqwest::Client::builder().build()?,
            written: AtomicUsize::new(0),
        })
    }

    /// Forwards a request, and records it together with its response when that is complete.
    pub(super) async fn forward(
        self: Arc<Self>,
        format: Format,
        path: &str,
        mut headers: HeaderMap,
        body: Bytes,
        done: impl FnOnce() + Send + 'static,
    ) -> reqwest::Result<Response<Body>> {
        let secrets = secrets(&headers);
        for name in HOP_HEADERS {
            headers.remove(name);
        }
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let url = format!("{}{path}", self.url);
        let response = self
            .client
            .post(url)
            .headers(headers)
            .body(body)
            .send()
            .await?;
        let mut forwarded = Response::new(());
        *forwarded.status_mut() = response.status();
        let mut recorded_headers = Vec::new();
        for name in RECORDED_HEADERS {
            let Some(value) = response.headers().get(name) else {
                continue;
            };
            forwarded.headers_mut().insert(name, value.clone());
            recorded_headers.push((
                name.to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            ));
        }
        let recording = Recording {
            format,
            request,
            status: response.status().as_u16(),
            headers: recorded_headers,
            frames: Vec::new(),
        };
        let recorded_body = RecordedBody {
            chunks: response.bytes_stream().boxed(),
            copy: Vec::new(),
            finish: Some(Box::new(move |copy: &[u8]| {
                let recording = recording.with_response(&String::from_utf8_lossy(copy), &secrets);
                self.write(&recording);
                done();
            })),
        };
        Ok(
            forwarded
                .map(|()| Body::from_stream(stream::unfold(recorded_body, RecordedBody::next))),
        )
    }

    fn write(&self, recording: &Recording) {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let name = format!("{number:04}-{}.json", recording.format.name());
        let text = serde_json::to_string_pretty(recording).unwrap();
        let path = self.folder.join(name);
        match fs::write(&path, text + "\n") {
            Ok(()) => eprintln!("wrote {}", path.display()),
            Err(error) => eprintln!("error: {} cannot be written: {error}", path.display()),
        }
    }
}

/// Called with the whole body of a response.
type Finish = Box<dyn FnOnce(&[u8]) + Send>;

/// The body of a response that is forwarded and copied.
struct RecordedBody {
    chunks: stream::BoxStream<'static, reqwest::Result<Bytes>>,
    copy: Vec<u8>,
    finish: Option<Finish>,
}

impl RecordedBody {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        match self.chunks.next().await {
            Some(Ok(bytes)) => {
                self.copy.extend_from_slice(&bytes);
                Some((Ok(bytes), self))
            }
            Some(Err(error)) => {
                self.finish = None;
                Some((Err(io::Error::other(error)), self))
            }
            None => {
                if let Some(finish) = self.finish.take() {
                    finish(&self.copy);
                }
                None
            }
        }
    }
}

impl Recording {
    /// Adds the body of the response, and removes secrets and ids from request and response.
    fn with_response(self, body: &str, secrets: &[String]) -> Self {
        let request = scrub(&self.request.to_string(), secrets);
        let end = match self.format {
            Format::Gemini if body.contains("\r\n\r\n") => "\r\n\r\n",
            _ => "\n\n",
        };
        let frames = body.split_inclusive(end);
        Self {
            frames: frames.map(|frame| scrub(frame, secrets)).collect(),
            request: serde_json::from_str(&request).unwrap_or_default(),
            ..self
        }
    }
}

/// Returns the keys in the headers of a request.
fn secrets(headers: &HeaderMap) -> Vec<String> {
    let values = ["authorization", "x-api-key", "x-goog-api-key"].map(|name| headers.get(name));
    let texts = values
        .into_iter()
        .flatten()
        .filter_map(|it| it.to_str().ok());
    let keys = texts.map(|text| text.trim_start_matches("Bearer ").to_owned());
    keys.filter(|key| !key.is_empty()).collect()
}

/// How keys and the ids of accounts, projects, people and requests begin.
const SECRET_PREFIXES: [&str; 9] = [
    "sk-", "AIza", "org-", "org_", "proj_", "project-", "user-", "acct_", "req_",
];

/// Removes keys and ids from a text.
fn scrub(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret, "scrubbed");
    }
    let is_word_char = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut clean = String::new();
    let mut rest = text.as_str();
    while let Some(begin) = rest.find(is_word_char) {
        clean.push_str(&rest[..begin]);
        rest = &rest[begin..];
        let end = rest.find(|c| !is_word_char(c)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        let prefix = SECRET_PREFIXES
            .iter()
            .find(|prefix| token.starts_with(**prefix));
        match prefix {
            Some(prefix) if token.len() >= 12 => {
                clean.push_str(prefix);
                clean.push_str("scrubbed");
            }
            _ => clean.push_str(token),
        }
        rest = after;
    }
    clean + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_ids_are_removed_from_recordings() {
        let text =
            r#"{"id":"req_011CSHoEeqs5C35K2UUqR7Fy","a":"in organization org-Xy0123456789 of "}"#;
        let clean = r#"{"id":"req_scrubbed","a":"in organization org-scrubbed of "}"#;
        assert_eq!(scrub(text, &[]), clean);
        let secret = ["an odd key of 1".to_owned()];
        assert_eq!(scrub("key: an odd key of 1.", &secret), "key: scrubbed.");
        let plain = "sk-short, ask-me-later-please, tool_use: für Käse";
        assert_eq!(scrub(plain, &[]), plain);
    }

    #[test]
    fn a_response_is_split_into_frames() {
        let recording = |format| Recording {
            format,
            request: Value::Null,
            status: 200,
            headers: Vec::new(),
            frames: Vec::new(),
        };
        let frames = recording(Format::OpenAi).with_response("data: 1\n\ndata: [DONE]\n\n", &[]);
        assert_eq!(frames.frames, ["data: 1\n\n", "data: [DONE]\n\n"]);
        let frames = recording(Format::Gemini).with_response("data: 1\r\n\r\ndata: 2\r\n\r\n", &[]);
        assert_eq!(frames.frames, ["data: 1\r\n\r\n", "data: 2\r\n\r\n"]);
    }
}

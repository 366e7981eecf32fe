//! Conversations with a real provider, recorded by maintainers who have a key, and played again
//! without one.
//!
//! A file holds one exchange. Of the headers it keeps only what matters to the wire; in the bodies
//! keys and the ids of accounts and requests are struck out.

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

use super::formats::{Format, ProviderRequest};

/// One exchange with a provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Recording {
    pub(super) format: Format,
    pub(super) request: Value,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// The body of the answer, in the pieces that belong together.
    pub(super) frames: Vec<String>,
}

/// Recordings, to be played.
#[derive(Debug)]
pub struct Recordings {
    recordings: Vec<Recording>,
}

impl Recordings {
    /// Reads all files of a folder, in the order of their names.
    ///
    /// # Errors
    ///
    /// When the folder or one of its files cannot be read.
    pub fn load(folder: &Path) -> anyhow::Result<Self> {
        let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|it| it == "json"));
        paths.sort();
        let read = |path: &PathBuf| -> anyhow::Result<Recording> {
            Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
        };
        let recordings = paths.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { recordings })
    }

    /// The answer to the same turn of the same conversation; of another one where there is none.
    pub(super) fn find(&self, format: Format, asked: &ProviderRequest<'_>) -> Option<&Recording> {
        let turn = format.turns_before(asked);
        let fitting = self.recordings.iter().filter(|recording| {
            let its = ProviderRequest {
                body: &recording.request,
                ..*asked
            };
            recording.format == format && format.turns_before(&its) == turn
        });
        let mut fitting = fitting.peekable();
        let any = fitting.peek().copied();
        fitting
            .find(|recording| recording.request == *asked.body)
            .or(any)
    }
}

/// A real provider, and where exchanges with it are written.
#[derive(Debug)]
pub struct Upstream {
    url: String,
    folder: PathBuf,
    client: reqwest::Client,
    written: AtomicUsize,
}

/// What is not passed on, because it belongs to the connection or would hide the answer.
const OWN_HEADERS: [HeaderName; 5] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::ACCEPT_ENCODING,
];

/// What is kept of the headers of an answer.
const KEPT_HEADERS: [&str; 3] = ["content-type", "retry-after", "retry-after-ms"];

impl Upstream {
    /// The provider at `url`, without the path; exchanges are written into `folder`.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made.
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

    /// Passes a request on and the answer back, and writes both when all is said.
    pub(super) async fn forward(
        self: Arc<Self>,
        format: Format,
        path: &str,
        mut headers: HeaderMap,
        body: Bytes,
        done: impl FnOnce() + Send + 'static,
    ) -> reqwest::Result<Response<Body>> {
        let secrets = secrets(&headers);
        for own in OWN_HEADERS {
            headers.remove(own);
        }
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let url = format!("{}{path}", self.url);
        let asked = self.client.post(url).headers(headers).body(body);
        let answer = asked.send().await?;
        let mut response = Response::new(());
        *response.status_mut() = answer.status();
        let mut kept = Vec::new();
        for name in KEPT_HEADERS {
            let Some(value) = answer.headers().get(name) else {
                continue;
            };
            response.headers_mut().insert(name, value.clone());
            kept.push((
                name.to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            ));
        }
        let recording = Recording {
            format,
            request,
            status: answer.status().as_u16(),
            headers: kept,
            frames: Vec::new(),
        };
        let copied = RecordedBody {
            pieces: answer.bytes_stream().boxed(),
            copy: Vec::new(),
            finish: Some(Box::new(move |copy: &[u8]| {
                let recording = recording.with_answer(&String::from_utf8_lossy(copy), &secrets);
                self.write(&recording);
                done();
            })),
        };
        Ok(response.map(|()| Body::from_stream(stream::unfold(copied, RecordedBody::next))))
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

/// What is done with an answer that has come whole.
type Finish = Box<dyn FnOnce(&[u8]) + Send>;

/// An answer that passes and is kept.
struct RecordedBody {
    pieces: stream::BoxStream<'static, reqwest::Result<Bytes>>,
    copy: Vec<u8>,
    finish: Option<Finish>,
}

impl RecordedBody {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        match self.pieces.next().await {
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
    /// With this answer, and without anything that is nobody's business.
    fn with_answer(self, answer: &str, secrets: &[String]) -> Self {
        let request = scrub(&self.request.to_string(), secrets);
        let end = match self.format {
            Format::Ollama => "\n",
            Format::Gemini if answer.contains("\r\n\r\n") => "\r\n\r\n",
            _ => "\n\n",
        };
        let frames = answer.split_inclusive(end);
        Self {
            frames: frames.map(|frame| scrub(frame, secrets)).collect(),
            request: serde_json::from_str(&request).unwrap_or_default(),
            ..self
        }
    }
}

/// The keys that a request shows.
fn secrets(headers: &HeaderMap) -> Vec<String> {
    let values = ["authorization", "x-api-key", "x-goog-api-key"].map(|name| headers.get(name));
    let texts = values
        .into_iter()
        .flatten()
        .filter_map(|it| it.to_str().ok());
    let keys = texts.map(|text| text.trim_start_matches("Bearer ").to_owned());
    keys.filter(|key| !key.is_empty()).collect()
}

/// How keys and ids of accounts, projects, people and requests begin.
const SECRET_PREFIXES: [&str; 9] = [
    "sk-", "AIza", "org-", "org_", "proj_", "project-", "user-", "acct_", "req_",
];

/// A text without keys and ids.
fn scrub(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret, "scrubbed");
    }
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut clean = String::new();
    let mut rest = text.as_str();
    while let Some(begin) = rest.find(is_of_word) {
        clean.push_str(&rest[..begin]);
        rest = &rest[begin..];
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let prefix = SECRET_PREFIXES
            .iter()
            .find(|prefix| word.starts_with(**prefix));
        match prefix {
            Some(prefix) if word.len() >= 12 => {
                clean.push_str(prefix);
                clean.push_str("scrubbed");
            }
            _ => clean.push_str(word),
        }
        rest = behind;
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
    fn an_answer_is_kept_in_its_frames() {
        let recording = |format| Recording {
            format,
            request: Value::Null,
            status: 200,
            headers: Vec::new(),
            frames: Vec::new(),
        };
        let frames = recording(Format::OpenAi).with_answer("data: 1\n\ndata: [DONE]\n\n", &[]);
        assert_eq!(frames.frames, ["data: 1\n\n", "data: [DONE]\n\n"]);
        let frames = recording(Format::Gemini).with_answer("data: 1\r\n\r\ndata: 2\r\n\r\n", &[]);
        assert_eq!(frames.frames, ["data: 1\r\n\r\n", "data: 2\r\n\r\n"]);
        let frames = recording(Format::Ollama).with_answer("{}\n{}\n", &[]);
        assert_eq!(frames.frames, ["{}\n", "{}\n"]);
    }
}

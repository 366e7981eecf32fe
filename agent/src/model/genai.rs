//! Models of providers. Only this module knows `genai`, which writes requests and reads streams in
//! the words of each provider; what it leaves out or gets wrong is made good here:
//!
//! - `asking` writes a request: caching, thinking, a forced tool, results of calls;
//! - `frames` looks at what comes over the wire, for the end that `genai` would make up;
//! - `ending` makes a turn, or a failure, of what has come;
//! - `trouble` knows the errors, and `words` what of them may be shown.

mod asking;
mod ending;
mod frames;
mod kept;
mod names;
mod trouble;
mod words;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::ErrorCode;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use genai::adapter::AdapterKind;
use genai::chat::{ChatStream, ChatStreamEvent};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget};
use reqwest::Url;
use tokio::time::{Instant, timeout_at};

use self::frames::Frames;
use self::trouble::Teller;
use super::retrying::{Attempt, Trouble};
use super::{Event, ModelSettings, Provider, Request, Tool};
use crate::config::Secret;
use crate::failure::Failure;
use crate::outgoing;

/// Whom to ask for what, and with which key.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) provider: Provider,
    pub(super) model: String,
    pub(super) key: Option<Secret>,
}

/// A model of a provider.
pub(super) struct Hosted {
    client: Client,
    target: ServiceTarget,
    asking: asking::Asking,
    teller: Teller,
    patience: Patience,
}

/// How long to wait for a provider.
#[derive(Clone, Copy, Debug)]
struct Patience {
    first_token_within: Duration,
    silence: Duration,
}

impl fmt::Debug for Hosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hosted").field(&self.teller.label()).finish()
    }
}

impl Hosted {
    pub(super) fn new(access: Access, settings: &ModelSettings) -> Result<Self, Failure> {
        let Access {
            provider,
            model,
            key,
        } = access;
        let own = own_url(provider);
        let url = settings.base_url.clone().unwrap_or_else(|| own.clone());
        let is_own = url.host_str() == own.host_str();
        let http = outgoing::client(&url).map_err(|why| {
            let message = format!("no connection to {provider} can be made: {why}");
            Failure::new(ErrorCode::ModelUnavailable, message)
        })?;
        let client = Client::builder().with_reqwest(http).build();
        let client = client.map_err(|_| {
            let message = format!("{provider} cannot be spoken with");
            Failure::new(ErrorCode::AgentFailed, message)
        })?;
        let label = match is_own {
            true => format!("{provider} {model}"),
            false => format!(
                "{provider} {model} at {}",
                url.origin().ascii_serialization()
            ),
        };
        Ok(Self {
            client,
            target: target(provider, &model, &url, key.as_ref()),
            asking: asking::Asking {
                provider,
                model,
                is_own,
                thinking: settings.thinking,
                // genai sends Ollama no key.
                headers: key
                    .as_ref()
                    .filter(|_| provider == Provider::Ollama)
                    .map(|key| Headers::from(("authorization", bearer(key)))),
            },
            teller: Teller::new(provider, label, key),
            patience: Patience {
                first_token_within: settings.first_token_within,
                silence: settings.provider_silence,
            },
        })
    }
}

fn bearer(key: &Secret) -> String {
    format!("Bearer {}", key.text())
}

/// Where a provider's own API is.
fn own_url(provider: Provider) -> Url {
    let url = match provider {
        Provider::Anthropic => "https://api.anthropic.com/v1/",
        Provider::Openai => "https://api.openai.com/v1/",
        Provider::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
        Provider::Ollama | Provider::Commands => "http://localhost:11434/",
    };
    url.parse().expect("a URL that is written here")
}

fn target(provider: Provider, model: &str, url: &Url, key: Option<&Secret>) -> ServiceTarget {
    let kind = match provider {
        Provider::Anthropic => AdapterKind::Anthropic,
        Provider::Openai => AdapterKind::OpenAI,
        Provider::Gemini => AdapterKind::Gemini,
        Provider::Ollama | Provider::Commands => AdapterKind::Ollama,
    };
    let auth = match key {
        Some(key) => AuthData::from_single(key.text()),
        // Else genai would send an empty key, which some servers refuse.
        None if provider == Provider::Openai => AuthData::RequestOverride {
            url: format!("{url}chat/completions"),
            headers: Headers::default(),
        },
        None => AuthData::None,
    };
    ServiceTarget {
        endpoint: Endpoint::from_owned(url.as_str()),
        auth,
        model: ModelIden::new(kind, model),
    }
}

impl Attempt for Hosted {
    fn label(&self) -> &str {
        self.teller.label()
    }

    fn attempt(&self, request: &Request) -> BoxStream<'static, Result<Event, Trouble>> {
        let frames = Arc::new(Frames::new(self.asking.provider));
        let (chat, options) = self.asking.ask(request);
        let options = options.with_raw_frame_sink_arc(frames.clone());
        let (client, target, teller) = (
            self.client.clone(),
            self.target.clone(),
            self.teller.clone(),
        );
        let (patience, tools) = (self.patience, request.tools.clone());
        let begin = async move {
            let opened = client.exec_chat_stream(target, chat, Some(&options)).await;
            let stream = opened.map_err(|error| teller.trouble(error, false))?.stream;
            Ok(Listening {
                stream,
                frames,
                teller,
                tools,
                patience,
                asked: Instant::now(),
                has_spoken: false,
            })
        };
        stream::once(begin)
            .map(|begun| match begun {
                Ok(listening) => listening.events(),
                Err(trouble) => stream::iter([Err(trouble)]).boxed(),
            })
            .flatten()
            .boxed()
    }
}

/// An answer on its way. Dropping it closes the connection.
struct Listening {
    stream: ChatStream,
    frames: Arc<Frames>,
    teller: Teller,
    tools: Arc<[Tool]>,
    patience: Patience,
    asked: Instant,
    /// A word, a thought, or a piece of a call.
    has_spoken: bool,
}

impl Listening {
    fn events(self) -> BoxStream<'static, Result<Event, Trouble>> {
        stream::unfold(Some(self), |listening| async {
            Some(listening?.next().await)
        })
        .boxed()
    }

    async fn next(mut self) -> (Result<Event, Trouble>, Option<Self>) {
        match self.hear().await {
            Ok(event @ Event::End { .. }) => (Ok(event), None),
            Ok(event) => (Ok(event), Some(self)),
            Err(trouble) => (Err(trouble), None),
        }
    }

    /// The next event that somebody wants to hear.
    async fn hear(&mut self) -> Result<Event, Trouble> {
        loop {
            let event = match self.wait().await? {
                Some(Ok(event)) => event,
                Some(Err(_)) if self.frames.take_idle() => continue,
                Some(Err(error)) => return Err(self.failed(error)),
                None => return Err(self.ended_early()),
            };
            if self.frames.is_too_much() {
                return Err(Trouble::last(self.teller.too_much()));
            }
            match event {
                ChatStreamEvent::Chunk(piece) if !piece.content.is_empty() => {
                    self.has_spoken = true;
                    return Ok(Event::Text(piece.content));
                }
                ChatStreamEvent::ReasoningChunk(piece) if !piece.content.is_empty() => {
                    self.has_spoken = true;
                    return Ok(Event::Thinking(piece.content));
                }
                ChatStreamEvent::ToolCallChunk(_) => self.has_spoken = true,
                ChatStreamEvent::End(end) => return self.end(end),
                _ => {}
            }
        }
    }

    async fn wait(&mut self) -> Result<Option<genai::Result<ChatStreamEvent>>, Trouble> {
        loop {
            let until = self.until();
            match timeout_at(until, self.stream.next()).await {
                Ok(event) => return Ok(event),
                // Something has come that is no event: a comment, a ping.
                Err(_) if self.until() > until => {}
                Err(_) => return Err(self.silent()),
            }
        }
    }

    fn until(&self) -> Instant {
        match self.has_spoken {
            false => self.asked + self.patience.first_token_within,
            true => self.frames.last() + self.patience.silence,
        }
    }

    fn silent(&self) -> Trouble {
        Trouble::last(match self.has_spoken {
            false => self.teller.not_begun(self.patience.first_token_within),
            true => self.teller.silent(self.patience.silence),
        })
    }

    fn failed(&self, error: genai::Error) -> Trouble {
        match self.frames.refusal() {
            Some(words) => Trouble::last(self.teller.refused(&words)),
            None => self.teller.trouble(error, self.has_spoken),
        }
    }

    /// The stream is at its end, and nobody has said so.
    fn ended_early(&self) -> Trouble {
        match self.frames.error() {
            Some(error) => self.teller.event(&error, self.has_spoken),
            None => Trouble::last(self.teller.unfinished(self.has_spoken)),
        }
    }

    fn end(&self, end: genai::chat::StreamEnd) -> Result<Event, Trouble> {
        // genai makes up an end where the stream ends.
        if !self.frames.has_ended() {
            return Err(self.ended_early());
        }
        let refusal = self.frames.refusal();
        let (turn, usage) =
            ending::turn(end, refusal, &self.teller, &self.tools).map_err(Trouble::last)?;
        Ok(Event::End { turn, usage })
    }
}

#[cfg(test)]
mod tests;

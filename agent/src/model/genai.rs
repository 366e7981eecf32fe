//! Models of providers. Only this module knows `genai`, which writes requests and reads streams in
//! the words of each provider; what it leaves out or gets wrong is made good here:
//!
//! - `asking` and `thinking` write a request: caching, a forced tool, results of calls;
//! - `listening` hears an answer, and how long there is none;
//! - `frames` looks at what comes over the wire, for the end that `genai` would make up;
//! - `ending` makes a turn, or a failure, of what has come;
//! - `trouble` knows the errors, and `words` what of them may be shown.

mod asking;
mod ending;
mod frames;
mod kept;
mod listening;
mod names;
mod signs;
mod thinking;
mod trouble;
mod words;

use std::fmt;
use std::sync::Arc;

use bridge_protocol::ErrorCode;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget};
use reqwest::Url;

use self::frames::Frames;
use self::listening::{Listening, Patience};
use self::trouble::Teller;
use super::retrying::{Attempt, Trouble};
use super::{Event, ModelSettings, Provider, Request};
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
            Ok(Listening::new(stream, frames, teller, tools, patience))
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

#[cfg(test)]
mod tests;

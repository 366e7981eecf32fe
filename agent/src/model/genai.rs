//! Models of providers. Only this module knows `genai`, which writes requests and reads streams in
//! the words of each provider; what it leaves out or gets wrong is made good here:
//!
//! - `asking` and `thinking` write a request: caching, a forced tool, results of calls;
//! - `listening` hears an answer, and how long there is none;
//! - `frames` looks at what comes over the wire, for the end that `genai` would make up;
//! - `ending` makes a turn, or a failure, of what has come;
//! - `trouble` knows the errors, and `words` what of them may be shown.

mod completion;
mod error_classification;
mod error_text;
mod errors;
mod frame_inspector;
mod request;
mod response_stream;
mod thinking_effort;
mod thinking_state;
mod tool_names;

use std::fmt;
use std::sync::Arc;

use bridge_protocol::ErrorCode;
use bridge_service::{Secret, http_client};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget};
use reqwest::Url;

use super::{Event, ModelSettings, Provider, Request};
use crate::failure::Failure;
use crate::model::retry::{AttemptError, ProviderAttempt};
use errors::ErrorMapper;
use frame_inspector::FrameInspector;
use response_stream::{ResponseStream, StreamTimeouts};

/// Whom to ask for what, and with which key.
#[derive(Debug)]
pub(super) struct ProviderAccess {
    pub(super) provider: Provider,
    pub(super) model: String,
    pub(super) key: Option<Secret>,
}

/// A model of a provider.
pub(super) struct HostedModel {
    client: Client,
    target: ServiceTarget,
    request_builder: request::RequestBuilder,
    errors: ErrorMapper,
    timeouts: StreamTimeouts,
}

impl fmt::Debug for HostedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hosted").field(&self.errors.label()).finish()
    }
}

impl HostedModel {
    pub(super) fn new(access: ProviderAccess, settings: &ModelSettings) -> Result<Self, Failure> {
        let ProviderAccess {
            provider,
            model,
            key,
        } = access;
        let own = official_url(provider);
        let url = settings.base_url.clone().unwrap_or_else(|| own.clone());
        let is_own = url.host_str() == own.host_str();
        let http = http_client::build(&url).map_err(|why| {
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
            target: service_target(provider, &model, &url, key.as_ref()),
            request_builder: request::RequestBuilder {
                provider,
                model,
                is_official_api: is_own,
                thinking: settings.thinking,
                // genai sends Ollama no key.
                headers: key
                    .as_ref()
                    .filter(|_| provider == Provider::Ollama)
                    .map(|key| Headers::from(("authorization", bearer_value(key)))),
            },
            errors: ErrorMapper::new(provider, label, key),
            timeouts: StreamTimeouts {
                first_token: settings.first_token_within,
                idle: settings.provider_silence,
            },
        })
    }
}

fn bearer_value(key: &Secret) -> String {
    format!("Bearer {}", key.expose())
}

/// Where a provider's own API is.
fn official_url(provider: Provider) -> Url {
    let url = match provider {
        Provider::Anthropic => "https://api.anthropic.com/v1/",
        Provider::Openai => "https://api.openai.com/v1/",
        Provider::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
        Provider::Ollama | Provider::Commands => "http://localhost:11434/",
    };
    url.parse().expect("a URL that is written here")
}

fn service_target(
    provider: Provider,
    model: &str,
    url: &Url,
    key: Option<&Secret>,
) -> ServiceTarget {
    let kind = match provider {
        Provider::Anthropic => AdapterKind::Anthropic,
        Provider::Openai => AdapterKind::OpenAI,
        Provider::Gemini => AdapterKind::Gemini,
        Provider::Ollama | Provider::Commands => AdapterKind::Ollama,
    };
    let auth = match key {
        Some(key) => AuthData::from_single(key.expose()),
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

impl ProviderAttempt for HostedModel {
    fn label(&self) -> &str {
        self.errors.label()
    }

    fn attempt(&self, request: &Request) -> BoxStream<'static, Result<Event, AttemptError>> {
        let frames = Arc::new(FrameInspector::new(self.request_builder.provider));
        let (chat, options) = self.request_builder.build(request);
        let options = options.with_raw_frame_sink_arc(frames.clone());
        let (client, target, teller) = (
            self.client.clone(),
            self.target.clone(),
            self.errors.clone(),
        );
        let (patience, tools) = (self.timeouts, request.tools.clone());
        let begin = async move {
            let opened = client.exec_chat_stream(target, chat, Some(&options)).await;
            let stream = opened
                .map_err(|error| teller.map_error(error, false))?
                .stream;
            Ok(ResponseStream::new(stream, frames, teller, tools, patience))
        };
        stream::once(begin)
            .map(|begun| match begun {
                Ok(listening) => listening.into_events(),
                Err(trouble) => stream::iter([Err(trouble)]).boxed(),
            })
            .flatten()
            .boxed()
    }
}

#[cfg(test)]
mod tests;

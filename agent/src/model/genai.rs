//! The adapter to hosted models. Only this module uses the crate `genai`, which writes requests and
//! reads streams in the format of each provider. The modules below add what that crate lacks and
//! work around its errors:
//!
//! - [`request`] builds a request: caching, a forced tool, results of calls. [`thinking_effort`]
//!   sets how much the model thinks, [`tool_names`] maps reserved names of tools, [`tool_schema`]
//!   completes their schemas, and [`thinking_state`] stores what a provider requires to be sent
//!   back. A field that `ChatOptions` lacks goes into its `extra_body`, which `genai` does not send
//!   to Ollama.
//! - [`response_stream`] reads a response, within time limits. [`frame_inspector`] searches each
//!   frame for the actual end of the response, because `genai` also reports an end when a stream
//!   breaks off.
//! - [`arguments_reader`] finds what is new in each chunk of a call.
//! - [`completion`] converts a complete response to a turn.
//! - [`errors`] maps errors to failures; [`error_classification`] decides about retries, and
//!   [`error_text`] extracts the text that may be shown.

mod arguments_reader;
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
mod tool_schema;

use std::fmt;
use std::sync::Arc;

use agent_tools::AgentFailure;
use bridge_edge::http_client;
use bridge_protocol::ErrorCode;
use bridge_settings::Secret;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget};
use reqwest::Url;

use super::{ModelEvent, ModelSettings, Pictures, Provider, TurnRequest};
use crate::model::retry::{AttemptError, ProviderAttempt};
use errors::ErrorMapper;
use frame_inspector::FrameInspector;
use response_stream::{ResponseStream, StreamTimeouts};

/// The provider and model to use, with the key.
#[derive(Debug)]
pub(super) struct ProviderAccess {
    pub(super) provider: Provider,
    pub(super) model: String,
    pub(super) key: Option<Secret>,
}

/// A model that a provider hosts.
pub(super) struct HostedModel {
    client: Client,
    target: ServiceTarget,
    request_builder: request::RequestBuilder,
    errors: ErrorMapper,
    timeouts: StreamTimeouts,
}

impl fmt::Debug for HostedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostedModel")
            .field(&self.errors.label())
            .finish()
    }
}

impl HostedModel {
    pub(super) fn new(
        access: ProviderAccess,
        settings: &ModelSettings,
    ) -> Result<Self, AgentFailure> {
        let ProviderAccess {
            provider,
            model,
            key,
        } = access;
        let official = official_url(provider);
        let url = settings.base_url.clone();
        let url = url.unwrap_or_else(|| official.clone());
        let is_official = url.host_str() == official.host_str();
        let http = http_client::build(&url).map_err(|cause| {
            let message = format!("no connection to {provider} can be made: {cause}");
            AgentFailure::new(ErrorCode::ModelUnavailable, message)
        })?;
        let client = Client::builder().with_reqwest(http).build();
        let client = client.map_err(|_| {
            let message = format!("no client for {provider} can be made");
            AgentFailure::new(ErrorCode::AgentFailed, message)
        })?;
        let label = if is_official {
            format!("{provider} {model}")
        } else {
            let origin = url.origin().ascii_serialization();
            format!("{provider} {model} at {origin}")
        };
        Ok(Self {
            client,
            target: service_target(provider, &model, &url, key.as_ref()),
            request_builder: request::RequestBuilder {
                provider,
                model,
                is_official_api: is_official,
                thinking: settings.thinking,
                reads_pictures: reads_pictures(provider, is_official, settings.pictures),
                temperature: settings.temperature,
                stop_sequences: settings.stop_sequences.clone(),
                // genai sends no key to Ollama.
                headers: key
                    .as_ref()
                    .filter(|_| provider == Provider::Ollama)
                    .map(|key| Headers::from(("authorization", bearer_value(key)))),
            },
            errors: ErrorMapper::new(provider, is_official, label, key),
            timeouts: StreamTimeouts {
                first_token: settings.first_token_within,
                idle: settings.provider_silence,
            },
        })
    }
}

fn reads_pictures(provider: Provider, is_official: bool, setting: Pictures) -> bool {
    match setting {
        Pictures::Auto => is_official && provider != Provider::Ollama,
        Pictures::On => true,
        Pictures::Off => false,
    }
}

fn bearer_value(key: &Secret) -> String {
    format!("Bearer {}", key.expose())
}

/// Returns the URL of the provider's own API.
fn official_url(provider: Provider) -> Url {
    let url = match provider {
        Provider::Anthropic => "https://api.anthropic.com/v1/",
        Provider::Openai => "https://api.openai.com/v1/",
        Provider::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
        Provider::Ollama | Provider::Commands => "http://localhost:11434/",
    };
    url.parse().expect("the URLs above are valid")
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
        // Without this, genai would send an empty key, which some servers refuse.
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

    fn name(&self) -> &str {
        &self.request_builder.model
    }

    fn reads_media(&self, mime_type: &str) -> bool {
        self.request_builder.reads_media(mime_type)
    }

    fn attempt(
        &self,
        request: &TurnRequest,
    ) -> BoxStream<'static, Result<ModelEvent, AttemptError>> {
        let inspector = Arc::new(FrameInspector::new(self.request_builder.provider));
        let (chat, options) = self.request_builder.build(request);
        let options = options.with_raw_frame_sink_arc(inspector.clone());
        let (client, target) = (self.client.clone(), self.target.clone());
        let (errors, timeouts) = (self.errors.clone(), self.timeouts);
        let tools = request.tools.clone();
        let start = async move {
            let response = client.exec_chat_stream(target, chat, Some(&options)).await;
            let response = response.map_err(|error| errors.map_error(error, false))?;
            let stream = response.stream;
            Ok(ResponseStream::new(
                stream, inspector, errors, tools, timeouts,
            ))
        };
        stream::once(start)
            .map(|started| match started {
                Ok(response) => response.into_events(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            })
            .flatten()
            .boxed()
    }
}

#[cfg(test)]
mod tests;

//! A model behind an API: sends the request of a turn, and receives the response within time limits.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use agent_tools::AgentFailure;
use bridge_edge::body::repair_surrogates;
use bridge_edge::http_client;
use bridge_protocol::sse::{SseDecoder, SseText};
use bridge_protocol::{ErrorCode, TokenUsage};
use bridge_settings::Secret;
use bytes::Bytes;
use chrono::NaiveDate;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Url};
use tokio::time::{Instant, timeout_at};

mod endpoint;
mod error_body;
mod refused_parts;
mod response_format;

use super::api::Api;
use super::capabilities::Capability;
use super::errors::ErrorMapper;
use super::kept_turn::Issuer;
use super::prepared_turn::{ChosenModel, PreparedTurn};
use super::provider_key::ProviderKey;
use super::refusals::Refusal;
use super::retry::{AttemptError, ProviderAttempt};
use super::rules::{self, ModelFacts, ModelQuery, ThinkingFields};
use super::turn_builder::{FailedTurn, ReadError, TurnBuilder};
use super::wires::ResponseReader;
use super::wires::registry::wire;
use super::{ModelEvent, ModelSettings, Pictures, Price, Provider, Thinking, TurnRequest};
use error_body::MAX_ERROR_BYTES;
use refused_parts::{RefusedParts, TurnQuery};
use response_format::ResponseFormat;

/// The maximum size of an answer. No model produces this much in one turn, so a provider that sends
/// more is broken.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// The maximum size of one event. The last event of OpenAI's Responses repeats the whole answer, which
/// the maximum output of a model keeps far below.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// How long more is awaited after the reason to stop, on a connection that the server leaves open:
/// Gemini has no last event, and some servers with chat completions send none.
const AFTER_STOP: Duration = Duration::from_secs(5);

/// How long a connection may take. A provider that cannot be reached costs nothing, and is tried again.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// The default time before the first output of most turns.
const TIME_TO_BEGIN: Duration = Duration::from_secs(60);

/// The default time before the first output of a model that always thinks: not every API sends anything in
/// the meantime.
const TIME_TO_THINK: Duration = Duration::from_secs(300);

/// The default time before the first output of an answer with a format at Anthropic, which compiles the
/// grammar of a new schema for up to 180 seconds.
const TIME_FOR_GRAMMAR: Duration = Duration::from_secs(200);

/// The provider and model to use, with the key.
#[derive(Debug)]
pub(super) struct ProviderAccess {
    pub(super) provider: Provider,
    pub(super) model: String,
    pub(super) key: Option<Secret>,
}

/// A model behind an API.
pub(super) struct HostedModel(Arc<Server>);

struct Server {
    provider: Provider,
    client: Client,
    url: Url,
    key: ProviderKey,
    model: ChosenModel,
    facts: ModelFacts,
    refused_parts: RefusedParts,
    reads_pictures: bool,
    /// Whether the server is known to send thoughts apart from the text.
    separates_thoughts: bool,
    errors: ErrorMapper,
    /// The setting of the operator.
    first_token_within: Option<Duration>,
    silence: Duration,
}

impl fmt::Debug for HostedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostedModel").field(&self.label()).finish()
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
        let (url, is_official) = endpoint::choose(provider, settings.base_url.as_ref());
        let api = settings.api(provider, is_official);
        let client = http_client::builder(&url).and_then(|client| {
            let client = client.connect_timeout(CONNECT_WITHIN).build();
            client.map_err(|error| http_client::last_cause(&error))
        });
        let client = client.map_err(|cause| {
            let message = format!("no connection to {provider} can be made: {cause}");
            AgentFailure::new(ErrorCode::ModelUnavailable, message)
        })?;
        let query = ModelQuery {
            provider,
            api,
            is_official,
            model: &model,
        };
        let (rules, facts) = rules::find(query, settings.model_rules.as_deref())?;
        if !rules.tools {
            return Err(offers_no_tools(provider, &model));
        }
        if let Some(day) = &facts.ends {
            tracing::warn!(%model, %day, "the provider ends this model: choose another one before");
        }
        if settings.temperature.is_some() && !rules.temperature {
            tracing::warn!(%model, "the model accepts no temperature, so that none is sent");
        }
        if !settings.stop_sequences.is_empty() && !rules.stop_sequences {
            tracing::warn!(%model, "the model accepts no stop sequences, so that none are sent");
        }
        if has_no_effect(settings.thinking, &rules.thinking) {
            let thinking = settings.thinking;
            tracing::warn!(%model, ?thinking, "the model does not think more in this API");
        }
        let label = if is_official {
            format!("{provider} {model}")
        } else {
            let origin = url.origin().ascii_serialization();
            format!("{provider} {model} at {origin}")
        };
        let enforces_formats = is_official && provider != Provider::Ollama;
        let refused_parts = RefusedParts::new(&model, enforces_formats);
        let secret = key.as_ref().map(Secret::expose);
        let issuer = Issuer::new(api, is_official, url.as_str(), &model, secret);
        let key = ProviderKey::new(key, settings.api_key_file.clone());
        Ok(Self(Arc::new(Server {
            provider,
            client,
            url,
            key: key.clone(),
            model: ChosenModel {
                api,
                name: model,
                is_official,
                issuer,
                rules,
                thinking: settings.thinking,
                temperature: settings.temperature,
                stop_sequences: settings.stop_sequences.clone(),
            },
            facts,
            reads_pictures: reads_pictures(provider, is_official, settings.pictures),
            // Ollama cannot parse the template of each model.
            separates_thoughts: is_official && provider != Provider::Ollama,
            errors: ErrorMapper::new(provider, is_official, label, key),
            first_token_within: settings.first_token_within,
            refused_parts,
            silence: settings.provider_silence,
        })))
    }
}

/// Whether a setting asks for thoughts that no field of a request can ask for.
fn has_no_effect(setting: Thinking, fields: &ThinkingFields) -> bool {
    let is_least = fields.always && !fields.fields(setting).is_empty();
    setting != Thinking::Off && fields.is_same_as_off(setting) && !is_least
}

fn reads_pictures(provider: Provider, is_official: bool, setting: Pictures) -> bool {
    match setting {
        Pictures::Auto => is_official && provider != Provider::Ollama,
        Pictures::On => true,
        Pictures::Off => false,
    }
}

/// Creates the failure for a model that cannot call tools: each query would fail.
fn offers_no_tools(provider: Provider, model: &str) -> AgentFailure {
    let message = format!("{model} cannot call tools in this API of {provider}");
    AgentFailure::new(ErrorCode::ModelRequestRefused, message).with_remedy(
        "set `openai_api` to `responses`; if the server accepts tools, say so in `model_rules` with \
         `tools = true`",
    )
}

impl ProviderAttempt for HostedModel {
    fn label(&self) -> &str {
        self.0.errors.label()
    }

    fn name(&self) -> &str {
        &self.0.model.name
    }

    fn provider(&self) -> &'static str {
        match self.0.provider {
            Provider::Gemini => "gcp.gemini",
            provider => provider.name(),
        }
    }

    fn price(&self, day: NaiveDate) -> Option<Price> {
        self.0.facts.prices.as_ref()?.on(day)
    }

    fn max_output_tokens(&self, of_answer: u32) -> u32 {
        let ChosenModel {
            rules, thinking, ..
        } = &self.0.model;
        rules.max_output_tokens(*thinking, of_answer)
    }

    fn reads_media(&self, mime_type: &str) -> bool {
        let server = &self.0;
        match mime_type {
            "image/gif" if server.model.api == Api::Gemini => false,
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => server.reads_pictures,
            "application/pdf" => {
                let has_files = server.model.api != Api::ChatCompletions;
                server.reads_pictures && server.model.is_official && has_files
            }
            _ => false,
        }
    }

    fn attempt(
        &self,
        request: &TurnRequest,
    ) -> BoxStream<'static, Result<ModelEvent, AttemptError>> {
        let server = Arc::clone(&self.0);
        let request = request.clone();
        let started = async move { server.start(&request).await };
        stream::once(started)
            .map(|started| match started {
                Ok(response) => response.into_events(),
                Err(failed) => stream::iter(failed.into_events()).boxed(),
            })
            .flatten()
            .boxed()
    }
}

impl Server {
    /// Sends the request of a turn. If the server refuses a part of it without which the turn is still
    /// possible, sends it once more without that part. Only if that is accepted, the part is also left
    /// out later.
    async fn start(self: Arc<Self>, turn: &TurnRequest) -> Result<Response, FailedAttempt> {
        let started = Instant::now();
        let mut refusals: Vec<Refusal> = Vec::new();
        let mut has_new_key = false;
        loop {
            let switched_off = self.refused_parts.for_all.union(&turn.switched_off);
            for refusal in &refusals {
                switched_off.add(refusal.capability);
            }
            let prepared = PreparedTurn::new(turn, &self.model, &switched_off);
            let within = self.first_token_within(&prepared);
            let mut key = None;
            let sending = async {
                key = self.key.read().await;
                self.send(&prepared, key.as_ref()).await
            };
            let response = timeout_at(started + within, sending).await;
            let response = response.map_err(|_| FailedAttempt {
                error: AttemptError::permanent(self.errors.first_token_timeout(within)),
                spent: Some(TokenUsage::default()),
            })??;
            let status = response.status().as_u16();
            let headers = response.headers().clone();
            if status == 200 {
                let query = TurnQuery::of(turn);
                let response = Response::new(self, query, response, &prepared, started);
                return Ok(Response {
                    refusals,
                    ..response
                });
            }
            // The key may have been replaced while the request was on its way.
            if matches!(status, 400 | 401 | 403)
                && !has_new_key
                && self.key.has_changed(key.as_ref()).await
            {
                has_new_key = true;
                continue;
            }
            let body = error_body::read(response.bytes_stream()).await;
            let body = self.key.hide_replaced(key, body);
            // Without thoughts of earlier queries, those of this one may be refused.
            let is_earlier = |it: &Refusal| it.capability == Capability::EarlierThoughts;
            let found = match status {
                400 | 422 if refusals.iter().all(is_earlier) => prepared.refusals(&body),
                _ => Vec::new(),
            };
            if found.is_empty() {
                return Err(self.errors.map_status(status, &headers, &body).into());
            }
            tracing::warn!(
                model = self.model.name,
                capabilities = ?found.iter().map(|it| it.capability).collect::<Vec<_>>(),
                text = self.errors.loggable_text(&body),
                "the server refuses a part of the request: it is sent again without that part"
            );
            refusals.extend(found);
        }
    }

    async fn send(
        &self,
        prepared: &PreparedTurn,
        key: Option<&Secret>,
    ) -> Result<reqwest::Response, AttemptError> {
        let request = &prepared.request;
        let invalid = || AttemptError::permanent(self.errors.unwritable());
        let url = self.url.join(&request.path).map_err(|_| invalid())?;
        let body = serde_json::to_vec(&request.body).map_err(|_| invalid())?;
        let mut sending = self.client.post(url).headers(request.headers.clone());
        if let Some(key) = key {
            let (name, value) = wire(self.model.api).key_header(key.expose());
            let mut value = HeaderValue::from_str(&value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            sending = sending.header(name, value);
        }
        let sending = sending
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(body);
        let response = sending.send().await;
        response.map_err(|error| self.errors.map_connection_error(&error))
    }

    /// Returns the time in which the first output of a turn must come.
    fn first_token_within(&self, prepared: &PreparedTurn) -> Duration {
        let has_grammar = prepared.has_format() && self.model.api == Api::Messages;
        let default = match self.model.rules.thinking.always {
            true => TIME_TO_THINK,
            false if has_grammar => TIME_FOR_GRAMMAR,
            false => TIME_TO_BEGIN,
        };
        self.first_token_within.unwrap_or(default)
    }
}

/// A response that is being received. Dropping it closes the connection.
struct Response {
    server: Arc<Server>,
    query: TurnQuery,
    /// The refused parts of the request, until it begins to answer the request without it.
    refusals: Vec<Refusal>,
    max_output_tokens: u32,
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    format: ResponseFormat,
    decoder: SseDecoder<SseText>,
    reader: Box<dyn ResponseReader>,
    turn: TurnBuilder,
    bytes: usize,
    /// When the request was sent, and the time in which the answer must begin.
    started: Instant,
    first_token_within: Duration,
    last_chunk_at: Instant,
    /// Whether an event with output had no reason to stop, so that the server does not send it in each.
    has_unstopped_output: bool,
    /// When the model has stopped.
    stopped_at: Option<Instant>,
    /// The last events of a turn that has ended.
    last_events: VecDeque<Result<ModelEvent, AttemptError>>,
    has_ended: bool,
}

impl Response {
    fn new(
        server: Arc<Server>,
        query: TurnQuery,
        response: reqwest::Response,
        prepared: &PreparedTurn,
        started: Instant,
    ) -> Self {
        let api = server.model.api;
        Self {
            chunks: response.bytes_stream().boxed(),
            format: ResponseFormat::Unknown,
            decoder: SseDecoder::new(MAX_EVENT_BYTES),
            reader: wire(api).reader(server.separates_thoughts),
            turn: prepared.builder(api),
            bytes: 0,
            started,
            first_token_within: server.first_token_within(prepared),
            last_chunk_at: Instant::now(),
            has_unstopped_output: false,
            stopped_at: None,
            last_events: VecDeque::new(),
            has_ended: false,
            max_output_tokens: prepared.max_output_tokens,
            query,
            refusals: Vec::new(),
            server,
        }
    }

    fn into_events(self) -> BoxStream<'static, Result<ModelEvent, AttemptError>> {
        stream::unfold(self, |mut response| async {
            let event = response.next_event().await?;
            Some((event, response))
        })
        .boxed()
    }

    async fn next_event(&mut self) -> Option<Result<ModelEvent, AttemptError>> {
        loop {
            let event = self.turn.next_event();
            if let Some(event) = event.or_else(|| self.turn.changed_usage()) {
                return Some(Ok(event));
            }
            if self.has_ended {
                return self.last_events.pop_front();
            }
            if let Err(error) = self.advance().await {
                let spent = self.turn.is_charged().then(|| self.turn.usage());
                self.end_with(FailedAttempt { error, spent });
            }
        }
    }

    /// Reads until there are events, or the response has ended.
    async fn advance(&mut self) -> Result<(), AttemptError> {
        if self.turn.is_ended() {
            self.finish();
            return Ok(());
        }
        let server = Arc::clone(&self.server);
        let errors = &server.errors;
        if let Some(event) = self.decoder.next_event() {
            let too_large = |_| AttemptError::permanent(errors.too_large());
            let Some(data) = event.map_err(too_large)?.data else {
                return Ok(());
            };
            let data = repair_surrogates(data.into_string().into_bytes().into());
            let data = String::from_utf8_lossy(&data);
            let read = self.reader.read(&data, &mut self.turn);
            self.note_stop();
            if self.turn.has_begun() {
                let refusals = mem::take(&mut self.refusals);
                server.refused_parts.switch_off(&refusals, &self.query);
            }
            return read.map_err(|error| match error {
                ReadError::Reported(body) => errors.map_event(&body, self.turn.has_output()),
                ReadError::Unreadable => AttemptError::permanent(errors.unreadable()),
                ReadError::TooLarge => AttemptError::permanent(errors.too_large()),
            });
        }
        let (deadline, is_silent) = self.deadline();
        let Ok(chunk) = timeout_at(deadline, self.chunks.next()).await else {
            // Output and reason may be in one event, and nothing else follows.
            if self.turn.has_stopped() && !self.turn.continues_after_stop() {
                self.finish();
                return Ok(());
            }
            // A model that thinks for long uses tokens before it sends anything.
            let spent = Some(self.turn.usage());
            let failure = if is_silent {
                errors.idle_timeout(server.silence)
            } else {
                errors.first_token_timeout(self.first_token_within)
            };
            let error = AttemptError::permanent(failure);
            self.end_with(FailedAttempt { error, spent });
            return Ok(());
        };
        match chunk {
            Some(Ok(chunk)) => {
                self.last_chunk_at = Instant::now();
                self.bytes += chunk.len();
                if self.bytes > MAX_ANSWER_BYTES {
                    return Err(AttemptError::permanent(errors.too_large()));
                }
                self.format.read(&chunk);
                match self.format.json() {
                    Some(body) if body.len() > MAX_ERROR_BYTES => {
                        return Err(errors.map_json(&String::from_utf8_lossy(body)));
                    }
                    Some(_) => {}
                    None => self.decoder.decode(&chunk),
                }
            }
            Some(Err(error)) => return Err(errors.map_connection_error(&error)),
            None => match self.format.json() {
                Some(body) => return Err(errors.map_json(&String::from_utf8_lossy(body))),
                None => self.finish(),
            },
        }
        Ok(())
    }

    /// Notes when the model has stopped. Some servers send the reason in each event: only their last
    /// event, which nothing shows, would make the turn whole.
    fn note_stop(&mut self) {
        let has_stopped = self.turn.has_stopped();
        self.has_unstopped_output |= self.turn.has_output() && !has_stopped;
        if self.turn.continues_after_stop() {
            self.stopped_at = None;
        } else if has_stopped && self.has_unstopped_output {
            self.stopped_at.get_or_insert_with(Instant::now);
        }
    }

    /// Returns until when the next bytes must come, and whether it is the time limit within an answer.
    /// A model that thinks may be silent longer than within its answer, until its first output.
    fn deadline(&self) -> (Instant, bool) {
        let silent_until = self.last_chunk_at + self.server.silence;
        let first_token_until = self.started + self.first_token_within;
        if let Some(stopped_at) = self.stopped_at {
            return (silent_until.min(stopped_at + AFTER_STOP), true);
        }
        let is_thinking = self.turn.has_begun() && silent_until > first_token_until;
        if self.turn.has_output() || is_thinking {
            (silent_until, true)
        } else {
            (first_token_until, false)
        }
    }

    /// Ends the turn. Without the reason why the model has stopped, it is not whole.
    fn finish(&mut self) {
        let server = &self.server;
        self.reader.finish(&mut self.turn);
        let is_charged = self.turn.is_charged();
        let turn = mem::replace(&mut self.turn, TurnBuilder::empty(server.model.api));
        match turn.finish(&server.errors) {
            Ok((events, turn, usage)) => {
                // Not every server says that it has cut an answer.
                let may_be_cut = usage.output >= u64::from(self.max_output_tokens)
                    || !server.model.stop_sequences.is_empty();
                let parts = &server.refused_parts;
                parts.check_format(&turn, &self.query, may_be_cut);
                self.last_events.extend(events.into_iter().map(Ok));
                let end = ModelEvent::End { turn, usage };
                self.last_events.push_back(Ok(end));
                self.has_ended = true;
            }
            Err(FailedTurn { failure, usage }) => self.end_with(FailedAttempt {
                error: AttemptError::permanent(failure),
                spent: is_charged.then_some(usage),
            }),
        }
    }

    fn end_with(&mut self, failed: FailedAttempt) {
        self.last_events.extend(failed.into_events());
        self.has_ended = true;
    }
}

/// Why an attempt has failed, and what it has cost.
struct FailedAttempt {
    error: AttemptError,
    /// The tokens that the provider has counted, unless it has not begun to work on the request.
    spent: Option<TokenUsage>,
}

impl FailedAttempt {
    fn into_events(self) -> impl Iterator<Item = Result<ModelEvent, AttemptError>> {
        let spent = self.spent.map(|usage| Ok(ModelEvent::Spent(usage)));
        spent.into_iter().chain([Err(self.error)])
    }
}

impl From<AttemptError> for FailedAttempt {
    fn from(error: AttemptError) -> Self {
        Self { error, spent: None }
    }
}

#[cfg(test)]
mod tests;

//! Builds the request for one turn.
//!
//! A field that the operator sets is sent to every server, which may then refuse the request. An
//! optional field that the agent adds, such as a cache key, is sent only to the provider itself:
//! compatible servers may reject it.

use genai::Headers;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatRole, ContentPart, MessageContent,
    Tool as ProviderTool, ToolChoice, ToolName, ToolResponse,
};
use serde_json::{Value, json};

use super::{thinking_state, tool_names, tool_schema};
use crate::model::{
    CallResult, Media, ModelMessage, ModelTool, Provider, Thinking, ToolSelection, TurnRequest,
    UserMessage,
};

/// Builds requests for one model.
#[derive(Debug)]
pub(super) struct RequestBuilder {
    pub(super) provider: Provider,
    pub(super) model: String,
    /// Whether requests go to the provider itself, and not to a compatible server.
    pub(super) is_official_api: bool,
    pub(super) thinking: Thinking,
    /// Whether the model gets pictures.
    pub(super) reads_pictures: bool,
    pub(super) temperature: Option<f64>,
    pub(super) stop_sequences: Vec<String>,
    pub(super) headers: Option<Headers>,
}

impl RequestBuilder {
    pub(super) fn build(&self, request: &TurnRequest) -> (ChatRequest, ChatOptions) {
        let mut chat = ChatRequest::new(self.messages(request));
        if self.provider != Provider::Anthropic && !request.system.is_empty() {
            chat.system = Some(request.system.clone());
        }
        let tools = self.tools(request);
        if !tools.is_empty() {
            chat.tools = Some(tools);
        }
        (chat, self.options(request))
    }

    fn messages(&self, request: &TurnRequest) -> Vec<ChatMessage> {
        // A model that does not think needs no thoughts, and may reject them.
        let with_thinking = !self.is_thinking_disabled(&request.tool_selection);
        let history = request.history.iter();
        let mut messages: Vec<_> = history
            .flat_map(|message| self.convert_message(message, with_thinking))
            .collect();
        if self.provider == Provider::Anthropic {
            messages = merge_user_messages(messages);
            // The next request begins with all messages of this one, which the provider can then
            // cache.
            if let Some(last) = messages.last_mut() {
                last.options = Some(CacheControl::Ephemeral.into());
            }
            if !request.system.is_empty() {
                let system = ChatMessage::system(request.system.as_str());
                messages.insert(0, system.with_options(CacheControl::Ephemeral));
            }
        }
        messages
    }

    fn convert_message(&self, message: &ModelMessage, with_thinking: bool) -> Vec<ChatMessage> {
        match message {
            ModelMessage::User(message) => vec![ChatMessage::user(user_parts(message))],
            ModelMessage::Model(turn) => {
                let parts = thinking_state::turn_parts(turn, self.provider, with_thinking);
                if parts.is_empty() {
                    return Vec::new();
                }
                vec![ChatMessage::assistant(MessageContent::from_parts(parts))]
            }
            ModelMessage::Results(results) => {
                let mut messages = if self.provider == Provider::Ollama {
                    separate_results(results)
                } else {
                    let parts = results.iter().map(|result| self.result_part(result));
                    let parts: Vec<_> = parts.collect();
                    vec![ChatMessage::tool(MessageContent::from_parts(parts))]
                };
                if self.provider != Provider::Anthropic {
                    messages.extend(media_message(results));
                }
                messages
            }
        }
    }

    /// Returns whether the model reads this media type.
    pub(super) fn reads_media(&self, mime_type: &str) -> bool {
        match mime_type {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => self.reads_pictures,
            "application/pdf" => {
                let has_files = !matches!(self.provider, Provider::Ollama | Provider::Commands);
                self.reads_pictures && self.is_official_api && has_files
            }
            _ => false,
        }
    }

    fn result_part(&self, result: &CallResult) -> ContentPart {
        // genai has no fields for `is_error` and pictures.
        let is_custom = result.is_error || !result.media.is_empty();
        if self.provider == Provider::Anthropic && is_custom {
            return ContentPart::from_custom(anthropic_result(result), None);
        }
        let name = tool_names::to_provider(self.provider, &result.tool);
        ToolResponse::new(result.id.as_str(), result_text(result))
            .with_fn_name(name)
            .into()
    }

    fn tools(&self, request: &TurnRequest) -> Vec<ProviderTool> {
        let forced = match &request.tool_selection {
            ToolSelection::Only(name) if self.forces_by_single_tool() => Some(name),
            ToolSelection::Only(_) | ToolSelection::Auto => None,
        };
        let tools = request.tools.iter();
        let tools = tools.filter(|tool| forced.is_none_or(|name| tool.name == *name));
        let mut tools: Vec<ProviderTool> = tools.map(|tool| self.convert_tool(tool)).collect();
        if self.provider == Provider::Anthropic
            && let Some(last) = tools.last_mut()
        {
            last.cache_control = Some(CacheControl::Ephemeral);
        }
        tools
    }

    fn convert_tool(&self, tool: &ModelTool) -> ProviderTool {
        let name = tool_names::to_provider(self.provider, &tool.name).into_owned();
        // Without a description, genai sends `null` to some providers, and llama.cpp then refuses
        // the whole request.
        let description = tool.description.as_ref().unwrap_or(&tool.name);
        let schema = tool_schema::normalize(&tool.input_schema, self.provider);
        ProviderTool::new(ToolName::Custom(name))
            .with_description(tool_schema::describe(description, &schema, self.provider))
            .with_schema(schema)
    }

    /// Returns whether a tool is forced by offering no other tool. Ollama has no parameter to force
    /// a tool, and servers that are compatible with a provider treat the name of one differently:
    /// LM Studio accepts only "auto", "none" and "required", and llama.cpp calls any tool.
    fn forces_by_single_tool(&self) -> bool {
        match self.provider {
            Provider::Anthropic | Provider::Gemini | Provider::Openai => !self.is_official_api,
            Provider::Ollama | Provider::Commands => true,
        }
    }

    fn options(&self, request: &TurnRequest) -> ChatOptions {
        let effort = self.reasoning_effort(&request.tool_selection);
        let mut options = ChatOptions::default()
            .with_max_tokens(
                request
                    .max_output_tokens
                    .saturating_add(self.thinking_budget()),
            )
            .with_capture_content(true)
            .with_capture_tool_calls(true)
            .with_capture_usage(true)
            // For Gemini this requests thoughts, which not every model has.
            .with_capture_reasoning_content(
                self.provider != Provider::Gemini || self.thinking != Thinking::Off,
            )
            .with_reasoning_effort(effort);
        options.tool_choice = self.tool_choice(&request.tool_selection);
        options.temperature = self.temperature;
        options.stop_sequences.clone_from(&self.stop_sequences);
        options.extra_headers = self.headers.clone();
        if self.provider == Provider::Openai && self.is_official_api {
            options.prompt_cache_key = Some(cache_key(request.query.as_str()));
        }
        options
    }

    fn tool_choice(&self, selection: &ToolSelection) -> Option<ToolChoice> {
        let ToolSelection::Only(name) = selection else {
            return None;
        };
        match self.provider {
            Provider::Ollama | Provider::Commands => None,
            _ if self.forces_by_single_tool() => Some(ToolChoice::Required),
            _ => Some(ToolChoice::tool(tool_names::to_provider(
                self.provider,
                name,
            ))),
        }
    }
}

/// Returns a `tool_result` block of Anthropic's API.
fn anthropic_result(result: &CallResult) -> Value {
    let pictures = result.media.iter().map(|picture| {
        json!({ "type": "image", "source": {
            "type": "base64", "media_type": picture.mime_type, "data": &*picture.data } })
    });
    let text = json!({ "type": "text", "text": result.text });
    // No block of text may be empty.
    let text = (!result.text.is_empty()).then_some(text);
    json!({
        "type": "tool_result",
        "tool_use_id": result.id,
        "content": text.into_iter().chain(pictures).collect::<Vec<_>>(),
        "is_error": result.is_error,
    })
}

fn user_parts(message: &UserMessage) -> MessageContent {
    let media = message.media.iter().map(media_part);
    let text = ContentPart::from_text(message.text.as_str());
    MessageContent::from_parts(media.chain([text]).collect::<Vec<_>>())
}

fn media_part(media: &Media) -> ContentPart {
    ContentPart::from_binary_base64(
        media.mime_type.as_str(),
        media.data.clone(),
        media.name.clone(),
    )
}

/// Returns the message with the pictures of results. Except Anthropic's, the APIs take only text in a
/// result.
fn media_message(results: &[CallResult]) -> Option<ChatMessage> {
    let results = results.iter().filter(|result| !result.media.is_empty());
    let parts = results.flat_map(|result| {
        let caption = format!("What `{}` returned besides text:", result.tool);
        let media = result.media.iter().map(media_part);
        [ContentPart::from_text(caption)].into_iter().chain(media)
    });
    let parts: Vec<_> = parts.collect();
    (!parts.is_empty()).then(|| ChatMessage::user(MessageContent::from_parts(parts)))
}

/// The length of the longest cache key that OpenAI accepts.
const MAX_CACHE_KEY_CHARS: usize = 64;

fn cache_key(query: &str) -> String {
    query.chars().take(MAX_CACHE_KEY_CHARS).collect()
}

/// Returns the text of a result. Most providers have no other way to mark a failed call.
fn result_text(result: &CallResult) -> String {
    if result.is_error {
        format!("Error: {}", result.text)
    } else {
        result.text.clone()
    }
}

/// Merges results with a message of the user that follows them, so that messages of model and user
/// alternate.
fn merge_user_messages(messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
    let mut merged: Vec<ChatMessage> = Vec::new();
    for message in messages {
        match merged.last_mut() {
            Some(last) if is_user_message(last) && is_user_message(&message) => {
                last.role = ChatRole::User;
                last.content.extend(message.content);
            }
            _ => merged.push(message),
        }
    }
    merged
}

fn is_user_message(message: &ChatMessage) -> bool {
    matches!(message.role, ChatRole::User | ChatRole::Tool)
}

/// Creates one message for each result, for Ollama: genai would send only the last result of a
/// message. It also drops the name of the tool, so each text starts with the name if there are
/// several results.
fn separate_results(results: &[CallResult]) -> Vec<ChatMessage> {
    let text = |result: &CallResult| match results.len() {
        1 => result_text(result),
        _ => format!("{}: {}", result.tool, result_text(result)),
    };
    let responses = results
        .iter()
        .map(|result| ToolResponse::new(result.id.as_str(), text(result)));
    responses.map(ChatMessage::from).collect()
}

#[cfg(test)]
mod tests;

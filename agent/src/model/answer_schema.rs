//! Schemas of answers, in the dialect that each API accepts as the format of a text.
//!
//! | API | schema |
//! |---|---|
//! | Messages, Gemini | converted: keywords that the API does not know are words of the description |
//! | Responses | as for tools, and enforced only if it is already in the strict dialect |
//! | chat completions | as for tools |
//!
//! A converted schema may admit more than that of the tool, against which answers are validated later.
//! It excludes at most properties that the tool's schema does not list. A schema whose correct answers could
//! need them has no format.

use serde_json::Value;

use super::api::Api;
use super::model_tool::ModelTool;

mod conversion;
mod keywords;
mod references;
mod strict;

/// The maximum size of a schema that becomes a format, in bytes of JSON. OpenAI has this limit for names
/// and values, and the grammars of larger schemas are refused elsewhere. It also bounds the time that a
/// page can make each turn take.
const MAX_SCHEMA_BYTES: usize = 120_000;

/// The format of the text of a turn: the arguments of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AnswerFormat {
    /// The own name of the tool.
    pub(super) tool: String,
    pub(super) schema: Value,
    /// Whether the schema is one that OpenAI enforces (`strict`).
    pub(super) is_strict: bool,
}

impl AnswerFormat {
    /// Creates the format of a tool's arguments. Returns `None` if the API cannot express the schema:
    /// the model then calls the tool.
    pub(super) fn new(tool: &ModelTool, api: Api) -> Option<Self> {
        if tool.input_schema.to_string().len() > MAX_SCHEMA_BYTES {
            return None;
        }
        let root = references::without_root_reference(&tool.input_schema)?;
        let schema = match api {
            Api::Messages | Api::Gemini => conversion::convert(&root, api)?,
            Api::Responses | Api::ChatCompletions => {
                let schema = super::tool_schema::normalize(&root, api);
                references::are_accepted(&schema, api).then_some(schema)?
            }
        };
        let is_openai = matches!(api, Api::Responses | Api::ChatCompletions);
        Some(Self {
            tool: tool.name.clone(),
            is_strict: is_openai && strict::is_strict(&schema),
            schema,
        })
    }
}

#[cfg(test)]
mod tests;

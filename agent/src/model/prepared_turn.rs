//! Decides what the request of a turn contains, by the rules of the model: which tools, whether one is
//! forced, and whether the answer is text in the format of a schema.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::answer_schema::AnswerFormat;
use super::api::Api;
use super::capabilities::{Capability, SwitchedOff, UsedCapabilities, has_binding};
use super::foreign_turns::{TurnPrefix, drop_foreign_turns};
use super::kept_turn::{Issuer, TurnOrigin};
use super::refusals::Refusal;
use super::rules::{ForcedTools, ModelRules, StructuredOutput};
use super::turn_builder::{AnswerText, TurnBuilder};
use super::wires::registry::wire;
use super::wires::tool::{WireTool, sent_name};
use super::wires::{WireChoice, WireRequest, WireTurn};
use super::{ModelMessage, ModelTool, Thinking, ToolSelection, TurnRequest};
pub(crate) use converted_tools::ConvertedTools;

mod converted_tools;

/// A model at a server, as the settings choose it.
#[derive(Debug)]
pub(super) struct ChosenModel {
    pub(super) api: Api,
    pub(super) name: String,
    pub(super) is_official: bool,
    /// The issuer of the turns that the model may get back as they came.
    pub(super) issuer: Issuer,
    pub(super) rules: ModelRules,
    pub(super) thinking: Thinking,
    pub(super) temperature: Option<f64>,
    pub(super) stop_sequences: Vec<String>,
}

/// The request of a turn, and what is needed to read its response and to repeat it.
#[derive(Debug)]
pub(super) struct PreparedTurn {
    pub(super) request: WireRequest,
    tools: Arc<[WireTool]>,
    answer: Option<AnswerText>,
    /// The origin of the turn that the response contains.
    origin: TurnOrigin,
    /// The maximum output in tokens, those of thoughts included.
    pub(super) max_output_tokens: u32,
    used: UsedCapabilities,
}

impl PreparedTurn {
    /// Writes the request of a turn.
    pub(super) fn new(turn: &TurnRequest, model: &ChosenModel, switched_off: &SwitchedOff) -> Self {
        let rules = switched_off.without(&model.rules);
        let earlier = ..turn.earlier_messages.min(turn.history.len());
        let mut history = turn.history.clone();
        if switched_off.contains(Capability::EarlierThoughts) {
            for message in &mut history[earlier] {
                message.drop_kept();
            }
        }
        let plan = Plan::new(turn, &rules, model);
        let is_forced = matches!(plan.choice, Choice::Only(_) | Choice::Required);
        let thinking = if is_forced && rules.forced_tools == ForcedTools::WithoutThinking {
            Thinking::Off
        } else {
            model.thinking
        };
        let mut thinking_fields = rules.thinking.fields(thinking).clone();
        if switched_off.contains(Capability::Thinking) {
            thinking_fields.clear();
        }
        if switched_off.contains(Capability::ThinkingSummary) {
            remove(&mut thinking_fields, "reasoning", "summary");
            remove(&mut thinking_fields, "thinking", "display");
        }
        if switched_off.contains(Capability::Binding) {
            remove(&mut thinking_fields, "thinking", "block_binding");
        }
        let with_thoughts = (thinking == model.thinking || rules.thinking.always)
            && !switched_off.contains(Capability::FormerThoughts);
        let prefix = rules
            .bound_thoughts
            .then(|| TurnPrefix::new(&turn.system, &plan.tools, with_thoughts));
        let origin = drop_foreign_turns(&mut history, &model.issuer, prefix);
        let max_output_tokens = rules.max_output_tokens(thinking, turn.max_output_tokens);
        let wire_turn = WireTurn {
            api: model.api,
            model: &model.name,
            rules: &rules,
            is_official: model.is_official,
            system: &turn.system,
            history: &history,
            cache_group: &turn.cache_group,
            tools: &plan.tools,
            choice: plan.choice.on_the_wire(),
            answer: plan.answer.as_ref(),
            with_thoughts,
            max_output_tokens,
            // Claude accepts none while it thinks.
            temperature: model.temperature.filter(|_| {
                rules.temperature && (model.api != Api::Messages || thinking == Thinking::Off)
            }),
            stop_sequences: if rules.stop_sequences {
                &model.stop_sequences
            } else {
                &[]
            },
        };
        let mut request = wire(model.api).request(&wire_turn);
        merge(&mut request.body, &thinking_fields);
        for (name, value) in &rules.headers {
            request.headers.insert(name.clone(), value.clone());
        }
        let used = UsedCapabilities {
            thinking: !thinking_fields.is_empty(),
            binding: has_binding(&rules.headers),
            earlier_thoughts: with_thoughts && has_kept_turn(&history[earlier]),
            former_thoughts: with_thoughts && has_kept_turn(&history),
            tools: !plan.tools.is_empty(),
            format: plan.answer.is_some(),
            forced_tool: is_forced,
            forbidden_tools: matches!(plan.choice, Choice::None),
            cache_marks: rules.cache_marks && model.is_official,
            media_in_results: rules.media_in_results && has_media_in_results(&turn.history),
        };
        Self {
            request,
            answer: plan.answer.map(|format| AnswerText {
                tool: format.tool,
                has_tools: !plan.tools.is_empty() && matches!(plan.choice, Choice::Auto),
            }),
            tools: plan.tools.into(),
            origin,
            max_output_tokens,
            used,
        }
    }

    /// Whether the text of the response has a format, for which a server may compile a grammar first.
    pub(super) fn has_format(&self) -> bool {
        self.answer.is_some()
    }

    /// Returns the parts of the request that an error of its server refuses.
    pub(super) fn refusals(&self, error: &str) -> Vec<Refusal> {
        Refusal::find(error, &self.request.body, self.used)
    }

    /// Creates what assembles the response.
    pub(super) fn builder(&self, api: Api) -> TurnBuilder {
        TurnBuilder::new(api, Arc::clone(&self.tools), self.answer.clone())
            .with_max_output_tokens(self.max_output_tokens)
            .with_origin(self.origin.clone())
    }
}

/// Which tools a request lists, and how the model is made to answer.
#[derive(Debug)]
struct Plan {
    tools: Vec<WireTool>,
    choice: Choice,
    answer: Option<AnswerFormat>,
}

#[derive(Debug)]
enum Choice {
    Auto,
    None,
    Required,
    /// With the name at the provider.
    Only(String),
}

impl Choice {
    fn on_the_wire(&self) -> WireChoice<'_> {
        match self {
            Self::Auto => WireChoice::Auto,
            Self::None => WireChoice::None,
            Self::Required => WireChoice::Required,
            Self::Only(name) => WireChoice::Only(name),
        }
    }
}

impl Plan {
    fn new(turn: &TurnRequest, rules: &ModelRules, model: &ChosenModel) -> Self {
        let forced = match &turn.tool_selection {
            ToolSelection::Only(name) => Some(name.as_str()),
            ToolSelection::Auto | ToolSelection::None => None,
        };
        let converted = turn.converted_tools.of(&turn.tools, model.api);
        // A gateway refuses calls in the history without their tools. A server that obeys no choice at all
        // would call them.
        let needs_tools = has_calls(&turn.history) && rules.forced_tools != ForcedTools::No;
        let may_have_format = forced.is_none() || !needs_tools || rules.lists_tools_beside_format();
        let answer = may_have_format
            .then(|| answer_format(turn, forced, rules, model, |tool| converted.format(tool)))
            .flatten();
        let convert = |tool: &ModelTool| converted.tool(tool);
        let except_answer = |tool: &&ModelTool| {
            // The tool of a schema is not one that the model could also call.
            answer.is_none() || turn.answer_tool.as_ref() != Some(&tool.name)
        };
        let all = || {
            turn.tools
                .iter()
                .filter(except_answer)
                .map(convert)
                .collect()
        };
        let only = |name: &str| {
            let tools = turn.tools.iter().filter(|tool| tool.name == name);
            tools.map(convert).collect()
        };
        let (tools, choice): (Vec<_>, _) = match (forced, &answer) {
            (None, _) if turn.tool_selection == ToolSelection::Auto => (all(), Choice::Auto),
            (None, _) if rules.tool_choice_none => (all(), Choice::None),
            (None, _) if needs_tools => (all(), Choice::Auto),
            (None, _) => (Vec::new(), Choice::Auto),
            (Some(_), Some(_)) if rules.lists_tools_beside_format() => (all(), Choice::None),
            (Some(_), Some(_)) => (Vec::new(), Choice::Auto),
            (Some(name), None) => match rules.forced_tools {
                ForcedTools::ByName | ForcedTools::WithoutThinking => {
                    (all(), Choice::Only(sent_name(model.api, name).into_owned()))
                }
                ForcedTools::Required => (only(name), Choice::Required),
                ForcedTools::No => (only(name), Choice::Auto),
            },
        };
        let choice = match choice {
            Choice::None if tools.is_empty() => Choice::Auto,
            choice => choice,
        };
        Self {
            tools,
            choice,
            answer,
        }
    }
}

/// Returns the format of the text if the text is to be the answer: to a query with a schema, or in the
/// place of a call that cannot be forced.
fn answer_format(
    turn: &TurnRequest,
    forced: Option<&str>,
    rules: &ModelRules,
    model: &ChosenModel,
    convert: impl FnOnce(&ModelTool) -> Option<AnswerFormat>,
) -> Option<AnswerFormat> {
    let name = match (turn.answer_tool.as_deref(), forced) {
        (Some(answer), _) => answer,
        (None, Some(forced)) if rules.forced_tools == ForcedTools::No => forced,
        (None, _) => return None,
    };
    let is_alone = forced.is_some() || turn.tools.len() == 1;
    let skips_calls = rules.structured_output_alone && model.thinking == Thinking::Off;
    match rules.structured_output {
        StructuredOutput::WithTools if is_alone || !skips_calls => {}
        StructuredOutput::Alone if is_alone => {}
        StructuredOutput::WithTools | StructuredOutput::Alone | StructuredOutput::No => {
            return None;
        }
    }
    let tool = turn.tools.iter().find(|tool| tool.name == name)?;
    convert(tool)
}

fn has_kept_turn(history: &[ModelMessage]) -> bool {
    let mut turns = history.iter();
    turns.any(|message| matches!(message, ModelMessage::Model(turn) if turn.kept.is_some()))
}

fn has_calls(history: &[ModelMessage]) -> bool {
    let mut turns = history.iter();
    turns.any(|message| {
        matches!(message, ModelMessage::Model(turn) if WireTurn::calls(turn).next().is_some())
    })
}

fn has_media_in_results(history: &[ModelMessage]) -> bool {
    history.iter().any(|message| match message {
        ModelMessage::Results(results) => results.iter().any(|result| !result.media.is_empty()),
        ModelMessage::User(_) | ModelMessage::Model(_) => false,
    })
}

/// Removes a field of an object within an object.
fn remove(fields: &mut Map<String, Value>, outer: &str, inner: &str) {
    if let Some(Value::Object(fields)) = fields.get_mut(outer) {
        fields.shift_remove(inner);
    }
}

/// Adds fields to an object, also within the objects that both have.
fn merge(target: &mut Map<String, Value>, fields: &Map<String, Value>) {
    for (name, value) in fields {
        match (target.get_mut(name), value) {
            (Some(Value::Object(target)), Value::Object(fields)) => merge(target, fields),
            _ => {
                target.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod recorded_requests;
#[cfg(test)]
mod tests;

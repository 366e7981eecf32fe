//! The tools of a query as an API accepts them. A page can make their conversion slow, so that the turns
//! of a query and their attempts share it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::model::answer_schema::AnswerFormat;
use crate::model::api::Api;
use crate::model::model_tool::ModelTool;
use crate::model::tool_schema;
use crate::model::wires::tool::{WireTool, sent_name};

/// The last conversion of the tools of a query.
#[derive(Debug, Default)]
pub(crate) struct ConvertedTools(Mutex<Option<Arc<Conversion>>>);

/// Tools in the form of one API. Each is converted when a request first needs it.
#[derive(Debug)]
pub(super) struct Conversion {
    tools: Arc<[ModelTool]>,
    api: Api,
    converted: Vec<Converted>,
}

#[derive(Debug, Default)]
struct Converted {
    tool: OnceLock<WireTool>,
    format: OnceLock<Option<AnswerFormat>>,
}

impl ConvertedTools {
    /// Returns the conversion of tools: the last one, unless they have changed.
    pub(super) fn of(&self, tools: &Arc<[ModelTool]>, api: Api) -> Arc<Conversion> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |it: &&Arc<Conversion>| Arc::ptr_eq(&it.tools, tools) && it.api == api;
        if let Some(conversion) = last.as_ref().filter(is_same) {
            return Arc::clone(conversion);
        }
        let conversion = Arc::new(Conversion {
            tools: Arc::clone(tools),
            api,
            converted: tools.iter().map(|_| Converted::default()).collect(),
        });
        *last = Some(Arc::clone(&conversion));
        conversion
    }
}

impl Conversion {
    /// Returns a tool as the provider gets it.
    pub(super) fn tool(&self, tool: &ModelTool) -> WireTool {
        let convert = || convert_tool(tool, self.api);
        match self.converted(tool) {
            Some(converted) => converted.tool.get_or_init(convert).clone(),
            None => convert(),
        }
    }

    /// Returns the format of a tool's arguments, if the API can express it.
    pub(super) fn format(&self, tool: &ModelTool) -> Option<AnswerFormat> {
        let convert = || AnswerFormat::new(tool, self.api);
        match self.converted(tool) {
            Some(converted) => converted.format.get_or_init(convert).clone(),
            None => convert(),
        }
    }

    fn converted(&self, tool: &ModelTool) -> Option<&Converted> {
        let index = self.tools.iter().position(|it| std::ptr::eq(it, tool))?;
        self.converted.get(index)
    }
}

fn convert_tool(tool: &ModelTool, api: Api) -> WireTool {
    let schema = tool_schema::normalize(&tool.input_schema, api);
    WireTool {
        sent_name: sent_name(api, &tool.name).into_owned(),
        own_name: tool.name.clone(),
        // llama.cpp refuses a tool without a description.
        description: tool_schema::describe(
            tool.description.as_deref().unwrap_or(&tool.name),
            &schema,
            api,
        ),
        schema,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_converted_once_until_the_tools_change() {
        let tools = || -> Arc<[ModelTool]> {
            let tool = |name: &str| ModelTool {
                name: name.to_owned(),
                description: None,
                input_schema: json!({ "type": "object", "properties": {},
                    "additionalProperties": false }),
            };
            Arc::new(["find", "answer"].map(tool))
        };
        let (first, changed) = (tools(), tools());
        let converted = ConvertedTools::default();
        let conversion = converted.of(&first, Api::Messages);
        assert_eq!(conversion.tool(&first[1]).own_name, "answer");
        assert_eq!(conversion.format(&first[1]).unwrap().tool, "answer");
        let again = converted.of(&Arc::clone(&first), Api::Messages);
        assert!(Arc::ptr_eq(&conversion, &again));
        let has = |index: usize| {
            let Converted { tool, format } = &again.converted[index];
            (tool.get().is_some(), format.get().is_some())
        };
        assert_eq!([has(0), has(1)], [(false, false), (true, true)]);
        for (tools, api) in [(&changed, Api::Messages), (&first, Api::Gemini)] {
            assert!(!Arc::ptr_eq(&conversion, &converted.of(tools, api)));
        }
    }
}

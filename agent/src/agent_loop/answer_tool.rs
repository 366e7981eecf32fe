//! The synthetic tool of a query with a `responseSchema`: its arguments are the answer.

use std::sync::Arc;

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, Query};
use bridge_schema::{Validator, dialect, walk};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use tokio::task::{JoinError, spawn_blocking};

use crate::model::ModelTool;

/// The name of the tool. Pages see it in `tool-arguments`.
const NAME: &str = "answer";

/// The property that holds an answer that is not an object.
const VALUE_PROPERTY: &str = "value";

/// The tool whose arguments are the answer.
#[derive(Debug)]
pub(super) struct AnswerTool {
    tool: ModelTool,
    validator: Arc<Validator>,
    /// Whether the schema allows more than objects, so that the answer is in [`VALUE_PROPERTY`].
    is_wrapped: bool,
}

impl AnswerTool {
    /// Creates the tool of a query, if it has a `responseSchema`. A large schema takes a while: it is
    /// read and compiled on a thread that may block.
    pub(super) async fn for_query(query: &Query) -> Result<Option<Self>, AgentFailure> {
        let Some(schema) = &query.response_schema else {
            return Ok(None);
        };
        if query.response_tool.is_some() {
            return Err(invalid(
                "`responseTool` is also set: set one of them".to_owned(),
            ));
        }
        let schema = schema.clone();
        let building = spawn_blocking(move || Self::from_json(schema.get()).map(Some));
        building.await.map_err(|error| fault(&error))?
    }

    fn from_json(schema: &str) -> Result<Self, AgentFailure> {
        let schema: Value =
            serde_json::from_str(schema).map_err(|error| invalid(error.to_string()))?;
        let is_wrapped = !describes_object(&schema);
        let schema = if is_wrapped { wrap(schema) } else { schema };
        let schema = dialect::to_2020_12(Some(&schema)).map_err(invalid)?;
        let tool = ModelTool {
            name: NAME.to_owned(),
            description: Some(
                "Gives the answer to the request. Its arguments are the answer.".to_owned(),
            ),
            input_schema: schema.clone(),
        };
        Ok(Self {
            tool,
            validator: Arc::new(Validator::new(schema).map_err(invalid)?),
            is_wrapped,
        })
    }

    pub(super) fn tool(&self) -> &ModelTool {
        &self.tool
    }

    /// Returns the answer in the arguments of a call, or the violations that the model must correct.
    pub(super) async fn read(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<Result<Value, String>, AgentFailure> {
        let arguments = Value::Object(arguments.clone());
        let validator = Arc::clone(&self.validator);
        let validating = spawn_blocking(move || (validator.validate(&arguments), arguments));
        let (validated, arguments) = validating.await.map_err(|error| fault(&error))?;
        Ok(match (validated, arguments) {
            (Err(violations), _) => Err(violations.to_string()),
            (Ok(()), Value::Object(mut fields)) if self.is_wrapped => {
                Ok(fields.remove(VALUE_PROPERTY).unwrap_or_default())
            }
            (Ok(()), whole) => Ok(whole),
        })
    }
}

fn describes_object(schema: &Value) -> bool {
    let kind = schema.get("type");
    kind.is_some_and(|kind| kind == "object")
        || kind.is_none() && schema.get("properties").is_some()
}

/// The fields of the root of a schema that stay there when the schema is wrapped.
const ROOT_FIELDS: [&str; 4] = ["$schema", "$id", "$defs", "definitions"];

/// Makes a schema of any value the schema of an object, because arguments are one. References within
/// the schema stay valid.
fn wrap(mut schema: Value) -> Value {
    walk::for_each_subschema(&mut schema, &mut |fields: &mut Map<String, Value>| {
        if let Some(Value::String(reference)) = fields.get_mut("$ref") {
            move_reference(reference);
        }
    });
    let mut root = Map::new();
    if let Some(fields) = schema.as_object_mut() {
        for field in ROOT_FIELDS {
            root.extend(fields.remove(field).map(|value| (field.to_owned(), value)));
        }
    }
    root.extend([
        ("type".to_owned(), "object".into()),
        ("properties".to_owned(), json!({ VALUE_PROPERTY: schema })),
        ("required".to_owned(), json!([VALUE_PROPERTY])),
        ("additionalProperties".to_owned(), false.into()),
    ]);
    Value::Object(root)
}

/// Makes a reference to a place of the schema point to where that place is in the wrapped one.
fn move_reference(reference: &mut String) {
    let is_pointer = |pointer: &str| pointer.is_empty() || pointer.starts_with('/');
    let Some(pointer) = reference.strip_prefix('#').filter(|it| is_pointer(it)) else {
        return;
    };
    // In a fragment, `$` may be `%24` (RFC 6901 section 6).
    let decode = |field| percent_decode_str(field).decode_utf8_lossy();
    let field = pointer.split('/').nth(1).map(decode);
    if field.is_none_or(|field| !ROOT_FIELDS.contains(&&*field)) {
        *reference = format!("#/properties/{VALUE_PROPERTY}{pointer}");
    }
}

fn fault(error: &JoinError) -> AgentFailure {
    tracing::error!(%error, "an answer cannot be compared with its schema");
    AgentFailure::fault()
}

fn invalid(reason: String) -> AgentFailure {
    let message = format!("`responseSchema` cannot be used: {reason}");
    AgentFailure::new(ErrorCode::ProtocolViolation, message)
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;

    use super::*;

    fn query(schema: Value) -> Query {
        Query {
            response_schema: to_raw_value(&schema).ok(),
            ..Query::new("q", "p")
        }
    }

    async fn tool_for(schema: Value) -> AnswerTool {
        let tool = AnswerTool::for_query(&query(schema)).await;
        tool.unwrap().unwrap()
    }

    async fn read(tool: &AnswerTool, arguments: Value) -> Result<String, String> {
        let answer = tool.read(arguments.as_object().unwrap()).await.unwrap()?;
        Ok(answer.to_string())
    }

    #[tokio::test]
    async fn an_object_is_the_arguments_and_anything_else_a_property() {
        let object = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        let tool = tool_for(object.clone()).await;
        assert_eq!(tool.tool.input_schema["properties"], object["properties"]);
        assert_eq!(
            read(&tool, json!({ "n": 1 })).await,
            Ok(r#"{"n":1}"#.to_owned())
        );
        let error = read(&tool, json!({ "n": "one" })).await.unwrap_err();
        assert!(error.contains("/n"), "{error}");

        let tool = tool_for(json!({ "type": "array", "items": { "type": "string" } })).await;
        assert_eq!(
            read(&tool, json!({ "value": ["a"] })).await,
            Ok(r#"["a"]"#.to_owned())
        );
        assert!(read(&tool, json!({ "value": [1] })).await.is_err());
        assert!(read(&tool, json!({})).await.unwrap_err().contains("value"));
    }

    #[tokio::test]
    async fn references_in_a_schema_of_any_value_stay_valid() {
        let tree = json!({ "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": { "name": { "type": "string" } },
            "type": "array", "items": { "anyOf": [{ "$ref": "#/definitions/name" }, { "$ref": "#" }] } });
        let tool = tool_for(tree).await;
        let nested = json!({ "value": ["a", ["b", []]] });
        assert_eq!(
            read(&tool, nested).await,
            Ok(r#"["a",["b",[]]]"#.to_owned())
        );
        assert!(read(&tool, json!({ "value": ["a", [1]] })).await.is_err());
        let encoded = tool_for(json!({ "$defs": { "q": { "type": "string" } },
            "type": "array", "items": { "$ref": "#/%24defs/q" } }))
        .await;
        assert!(read(&encoded, json!({ "value": ["a"] })).await.is_ok());
        assert!(read(&encoded, json!({ "value": [1] })).await.is_err());
        let twice = tool_for(json!({ "type": "array", "prefixItems": [
            { "type": "string" }, { "$ref": "#/prefixItems/0" } ] }))
        .await;
        assert!(read(&twice, json!({ "value": ["a", "b"] })).await.is_ok());
        assert!(read(&twice, json!({ "value": ["a", 1] })).await.is_err());
        let any = tool_for(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] })).await;
        assert_eq!(
            read(&any, json!({ "value": null })).await,
            Ok("null".to_owned())
        );
    }

    #[tokio::test]
    async fn a_schema_that_cannot_be_used_is_a_failure_of_the_query() {
        let mut both = query(json!({ "type": "object" }));
        both.response_tool = serde_json::from_value(json!({ "name": "plan" })).unwrap();
        for (query, part) in [
            (both, "`responseTool`"),
            (query(json!({ "type": 7 })), "cannot be used"),
        ] {
            let failure = AnswerTool::for_query(&query).await.unwrap_err();
            assert_eq!(failure.code, ErrorCode::ProtocolViolation);
            assert!(failure.message.contains(part), "{failure}");
        }
        assert!(
            AnswerTool::for_query(&Query::new("q", "p"))
                .await
                .unwrap()
                .is_none()
        );
    }
}

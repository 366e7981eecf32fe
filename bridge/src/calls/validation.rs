//! Arguments and results against the schemas of their tool, off the I/O threads if they are large.

use std::sync::Arc;

use serde_json::Value;

use crate::schema::Misfit;
use crate::tool::Tool;

/// Values larger than this many bytes are validated on a thread of their own.
const VALIDATE_INLINE_BYTES: usize = 64 * 1024;

#[derive(Clone, Copy)]
pub(super) enum Part {
    Input,
    Output,
}

pub(super) async fn check(tool: &Arc<Tool>, part: Part, value: Value) -> Result<(), Misfit> {
    fn check(tool: &Tool, part: Part, value: &Value) -> Result<(), Misfit> {
        match part {
            Part::Input => tool.input().check(value),
            Part::Output => tool.output().map_or(Ok(()), |schema| schema.check(value)),
        }
    }
    if rough_bytes(&value) <= VALIDATE_INLINE_BYTES {
        return check(tool, part, &value);
    }
    let tool = Arc::clone(tool);
    let checked = tokio::task::spawn_blocking(move || check(&tool, part, &value)).await;
    checked.unwrap_or_else(|_| Err(Misfit::BadSchema("validation stopped".to_owned())))
}

/// About how much there is to look at.
fn rough_bytes(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| key.len() + rough_bytes(value))
            .sum(),
        Value::Array(items) => items.iter().map(rough_bytes).sum(),
        Value::String(text) => text.len(),
        _ => 8,
    }
}

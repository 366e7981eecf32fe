//! The work of the CPU pool that is a pass over a result.

use bridge_auth::RealmId;
use bridge_results::encoded_size;
use bridge_results::tool_result::ToolResult;
use serde_json::{Map, Value};

use crate::cpu_pool::WorkOrder;

/// Work of a token that is a pass over a result.
pub(crate) fn work_on_result(realm: RealmId, result: &ToolResult) -> WorkOrder {
    WorkOrder::for_json(realm, encoded_size::estimated_result_len(result))
}

/// Work of a token that is a pass over an object.
pub(crate) fn work_on_object(realm: RealmId, fields: &Map<String, Value>) -> WorkOrder {
    WorkOrder::for_json(realm, encoded_size::estimated_object_len(fields))
}

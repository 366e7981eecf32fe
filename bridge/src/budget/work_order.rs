//! Work for the CPU pool: whose it is, and how long it takes.

use bridge_auth::RealmId;
use bridge_mcp_results::encoded_size;
use bridge_mcp_results::tool_result::CallToolResult;
use serde_json::{Map, Value};

/// JSON of at least this many bytes is parsed, converted and measured in the pool, because that
/// takes about a millisecond.
pub(crate) const INLINE_LIMIT: usize = 256 * 1024;

/// More definitions than this, in bytes, are parsed and analysed in the pool. A few small tools take
/// less time than a change of threads would.
const INLINE_DEFINITION_BYTES: usize = 8 * 1024;

/// Work on more JSON than this, in bytes, is long.
const MAX_SHORT_BYTES: usize = 1024 * 1024;

/// Work on more definitions than this, in bytes, is long.
const MAX_SHORT_DEFINITION_BYTES: usize = 128 * 1024;

/// How long a piece of work may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WorkLength {
    /// Some ten milliseconds at most.
    Short,
    /// Up to about a second.
    Long,
}

impl WorkLength {
    /// The length of work that is a pass over this many bytes of JSON.
    pub(crate) fn for_json(bytes: usize) -> Self {
        if bytes <= MAX_SHORT_BYTES {
            Self::Short
        } else {
            Self::Long
        }
    }
}

/// The owner of the work, and its amount.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkOrder {
    pub(crate) realm: RealmId,
    pub(crate) length: WorkLength,
    /// The size of the JSON that waits with the work, in bytes.
    pub(crate) bytes: usize,
}

impl WorkOrder {
    /// Work that is a pass over this many bytes of JSON.
    pub(crate) fn for_json(realm: RealmId, bytes: usize) -> Self {
        Self {
            realm,
            length: WorkLength::for_json(bytes),
            bytes,
        }
    }

    /// Work that is a pass over a result.
    pub(crate) fn for_result(realm: RealmId, result: &CallToolResult) -> Self {
        Self::for_json(realm, encoded_size::estimated_result_len(result))
    }

    /// Work that is a pass over an object.
    pub(crate) fn for_object(realm: RealmId, fields: &Map<String, Value>) -> Self {
        Self::for_json(realm, encoded_size::estimated_object_len(fields))
    }

    /// Work that parses and analyses this many bytes of definitions; `None` if they are few.
    pub(crate) fn for_definitions(realm: RealmId, bytes: usize) -> Option<Self> {
        if bytes <= INLINE_DEFINITION_BYTES {
            return None;
        }
        let length = if bytes <= MAX_SHORT_DEFINITION_BYTES {
            WorkLength::Short
        } else {
            WorkLength::Long
        };
        Some(Self {
            realm,
            length,
            bytes,
        })
    }

    /// Work that builds a list of definitions with this many bytes, of which this many are not
    /// encoded; `None` if they are few.
    pub(crate) fn for_list(realm: RealmId, bytes: usize, unencoded_bytes: usize) -> Option<Self> {
        let copy = (bytes > INLINE_LIMIT).then(|| Self::for_json(realm, bytes));
        let encode = Self::for_definitions(realm, unencoded_bytes);
        copy.into_iter()
            .chain(encode)
            .max_by_key(|order| order.length)
    }
}

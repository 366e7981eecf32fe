//! A bridge without sockets and clocks that has the limits of a configuration, for the simulations
//! in `e2e`; and parts of the bridge for its benchmarks.

use bridge_raw_json::escape::escape_content;
use bridge_realm::PageMessageLimits;
pub use bridge_realm::in_memory::*;
use bridge_realm::realm::RealmLimits;
use bridge_schema::Validator;
use serde_json::Value;

use crate::Config;
use crate::hub::limits::{page_message_limits, realm_limits};

/// Creates a bridge without connections. Its clock begins at `unix_ms`.
pub fn new_bridge(
    config: &Config,
    id: &str,
    unix_ms: u64,
    token_lifetime: TokenLifetime,
) -> InMemoryBridge {
    let (realm, page) = limits(config);
    InMemoryBridge::new(realm, page, id, unix_ms, token_lifetime)
}

/// Returns the limits of a bridge with this configuration.
pub fn limits(config: &Config) -> (RealmLimits, PageMessageLimits) {
    (realm_limits(config), page_message_limits(config))
}

/// A compiled JSON Schema as tools use it, for benchmarks of the validation.
#[derive(Debug)]
pub struct Schema(Validator);

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Returns the reason why a page may not register the schema.
    pub fn new(schema: Value) -> Result<Self, String> {
        Validator::new(schema).map(Self)
    }

    /// Whether a value is valid against the schema.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.validate(value).is_ok()
    }
}

/// Escapes JSON text as the content of a JSON string, so that benchmarks can compare other
/// implementations with that of the bridge.
pub fn escape(json: &[u8], out: &mut Vec<u8>) {
    escape_content(json, out);
}

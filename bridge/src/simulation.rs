//! A bridge without sockets and clocks that has the limits of a configuration, for the simulations
//! in `e2e`.

pub use bridge_realm::simulation::*;

use crate::Config;
use crate::hub::limits::{page_message_limits, realm_limits};

/// Creates a bridge without connections. Its clock begins at `unix_ms`.
pub fn new_bridge(
    config: &Config,
    id: &str,
    unix_ms: u64,
    token_lifetime: TokenLifetime,
) -> Bridge {
    let (realm, page) = (realm_limits(config), page_message_limits(config));
    Bridge::new(realm, page, id, unix_ms, token_lifetime)
}

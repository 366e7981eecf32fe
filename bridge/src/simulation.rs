//! A bridge without sockets and clocks, with the limits of a configuration: for the simulations in `e2e`.

pub use bridge_realm::simulation::*;

use crate::Config;
use crate::hub::limits::{page_message_limits, realm_limits};

/// A bridge that nobody is connected to. Its clock shows `unix_ms` at the beginning.
pub fn new_bridge(
    config: &Config,
    id: &str,
    unix_ms: u64,
    token_lifetime: TokenLifetime,
) -> Bridge {
    let (realm, page) = (realm_limits(config), page_message_limits(config));
    Bridge::new(realm, page, id, unix_ms, token_lifetime)
}

//! Faults of the process, for tests of the connection.

use crate::McpWeb;
use crate::events::Event;

pub use crate::events::Fault;

/// Causes a fault.
pub fn cause(app: &McpWeb, fault: Fault) {
    app.send(Event::Fault(fault));
}

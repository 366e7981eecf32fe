//! Registrations with long definitions, which are parsed and analysed in the CPU pool.

use std::sync::Arc;

use bridge_auth::RealmId;
use bridge_protocol::PageToBridge;
use bridge_realm::page_messages::{PageEvent, definition_bytes};

use super::codec::InboundMessage;
use super::page_session::PageSession;
use crate::budget::WorkOrder;

/// The work to parse the definitions in a message; `None` if there are few or none.
pub(super) fn work_order(realm: RealmId, message: &PageToBridge) -> Option<WorkOrder> {
    WorkOrder::for_definitions(realm, definition_bytes(message))
}

/// Parses the definitions in a message of this page, on any thread.
pub(super) fn parser(
    page: &PageSession,
    message: PageToBridge,
) -> impl FnOnce() -> InboundMessage + Send + 'static {
    let hub = Arc::clone(&page.hub);
    move || match PageEvent::from_message(message, &hub.page_limits, &hub.definitions) {
        Ok(event) => InboundMessage::Event(event),
        Err(close_frame) => InboundMessage::Invalid(close_frame),
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{Definition, Kind, Register};
    use serde_json::value::RawValue;

    use super::*;
    use crate::budget::WorkLength;

    #[test]
    fn only_long_definitions_are_parsed_in_the_pool() {
        let realm = RealmId::from_token("token");
        let length = |count: usize, bytes: usize| {
            let text = format!(r#"{{"name":"t","description":"{}"}}"#, "x".repeat(bytes));
            let definition = Definition {
                kind: Kind::Tool,
                definition: RawValue::from_string(text).unwrap(),
            };
            let message = PageToBridge::Register(Register {
                registration_id: "r".into(),
                items: vec![definition; count],
            });
            work_order(realm, &message).map(|order| order.length)
        };
        // Three small tools stay on the task of their page.
        assert_eq!(length(3, 500), None);
        assert_eq!(length(20, 500), Some(WorkLength::Short));
        assert_eq!(length(1, 29_000), Some(WorkLength::Short));
        assert_eq!(length(20, 50_000), Some(WorkLength::Long));
        assert!(work_order(realm, &PageToBridge::Activity {}).is_none());
    }
}

//! The id of a conversation, and its owner.

use agent_tools::AgentFailure;
use bridge_protocol::limits::MAX_CONVERSATION_ID_BYTES;
use bridge_protocol::{ErrorCode, QueryCaller, is_conversation_id};

/// The owner of conversations: a person in an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConversationOwner {
    pub(super) user: String,
    pub(super) app: String,
    /// Whether the user has a token that the page has made itself, so that there can be any number of
    /// such users.
    pub(super) is_self_made: bool,
}

/// The id of a conversation and its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConversationKey {
    pub(super) owner: ConversationOwner,
    pub(super) id: String,
}

impl ConversationOwner {
    /// Returns the owner of the conversations of a caller.
    pub(crate) fn new(caller: &QueryCaller) -> Self {
        Self {
            user: caller.user.clone(),
            app: caller.app.clone(),
            is_self_made: caller.self_made,
        }
    }

    /// Returns the key of a conversation of this owner.
    pub(crate) fn key(self, id: &str) -> Result<ConversationKey, AgentFailure> {
        check_conversation_id(id)?;
        let id = id.to_owned();
        Ok(ConversationKey { owner: self, id })
    }
}

/// Checks the id of a conversation.
pub(crate) fn check_conversation_id(id: &str) -> Result<(), AgentFailure> {
    if !is_conversation_id(id) {
        let message = format!(
            "the id of a conversation must have 1 to {MAX_CONVERSATION_ID_BYTES} visible ASCII \
             characters, and is neither `.` nor `..`"
        );
        return Err(AgentFailure::new(ErrorCode::ProtocolViolation, message));
    }
    Ok(())
}

#[cfg(test)]
impl ConversationOwner {
    /// Returns a user with a self-made token in an app.
    pub(super) fn of(user: &str, app: &str) -> Self {
        Self {
            user: user.to_owned(),
            app: app.to_owned(),
            is_self_made: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_can_be_a_segment_of_a_path() {
        for id in ["...", "a/b", &*"c".repeat(MAX_CONVERSATION_ID_BYTES)] {
            assert!(check_conversation_id(id).is_ok(), "{id}");
        }
        for id in [".", "..", "", "a b"] {
            let failure = check_conversation_id(id).unwrap_err();
            assert_eq!(failure.code, ErrorCode::ProtocolViolation);
            assert!(failure.message.contains("neither `.` nor `..`"), "{id}");
        }
    }
}

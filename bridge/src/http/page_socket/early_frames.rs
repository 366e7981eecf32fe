//! The frames that a page may send before it has authenticated, besides `authenticate`.

use bridge_compat::page_codec::{self, Inbound, StrictMode};

/// The number of frames per second, of any kind, that are read before a page has authenticated. A
/// page of mcp-web 0.1 sends one for each movement of the mouse, which browsers report as often as
/// they draw: at most 240 times per second.
pub(super) const MAX_EARLY_FRAMES_PER_SECOND: u32 = 1_000;

/// The number of pings and pongs. Browsers do not send any by themselves, and other programs send
/// one every few seconds.
const MAX_EARLY_PINGS: u8 = 8;

/// The number of `activity` messages that are parsed. Further ones are dropped unread.
const MAX_EARLY_ACTIVITY: u8 = 64;

/// The maximum length of an `activity` message, in bytes. Pages of mcp-web 0.1 send less than 60.
const MAX_EARLY_ACTIVITY_BYTES: usize = 256;

/// How every page of mcp-web 0.1 begins an `activity` message.
const ACTIVITY_PREFIX: &str = r#"{"type":"activity""#;

/// Counts the frames of a page that has not authenticated.
#[derive(Debug, Default)]
pub(super) struct EarlyFrames {
    pings: u8,
    activity: u8,
}

impl EarlyFrames {
    /// Counts a ping or pong. Returns whether the page may send it.
    pub(super) fn allows_ping(&mut self) -> bool {
        self.pings = self.pings.saturating_add(1);
        self.pings <= MAX_EARLY_PINGS
    }

    /// Counts a message. Returns whether it is the `activity` of a page of mcp-web 0.1, which is
    /// ignored however often it comes.
    pub(super) fn allows_activity(&mut self, text: &str) -> bool {
        if text.len() > MAX_EARLY_ACTIVITY_BYTES {
            return false;
        }
        if self.activity == MAX_EARLY_ACTIVITY {
            return text.starts_with(ACTIVITY_PREFIX);
        }
        let message = page_codec::decode(text, StrictMode(false));
        let is_activity = matches!(message, Ok(Inbound::Activity(_)));
        self.activity += u8::from(is_activity);
        is_activity
    }

    /// Whether the page has sent `activity`, so that it is a page of mcp-web 0.1.
    pub(super) fn is_compat(&self) -> bool {
        self.activity > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTIVITY: &str = r#"{"type":"activity","timestamp":1700000000000}"#;

    #[test]
    fn eight_pings_are_allowed() {
        let mut early = EarlyFrames::default();
        let allowed = (0..20).filter(|_| early.allows_ping()).count();
        assert_eq!(allowed, usize::from(MAX_EARLY_PINGS));
        assert!(!early.is_compat());
    }

    #[test]
    fn activity_is_allowed_however_often_it_comes() {
        let mut early = EarlyFrames::default();
        assert!(!early.allows_activity(r#"{"type":"authenticate"}"#));
        assert!(!early.is_compat());
        for n in 0..10_000 {
            assert!(early.allows_activity(ACTIVITY), "{n}");
            assert!(early.is_compat());
        }
        assert!(!early.allows_activity(r#"{"type":"authenticate"}"#));
    }

    #[test]
    fn excess_activity_is_not_parsed() {
        let mut early = EarlyFrames::default();
        let broken = r#"{"type":"activity","timestamp":"#;
        assert!(!early.allows_activity(broken));
        for _ in 0..MAX_EARLY_ACTIVITY {
            assert!(early.allows_activity(ACTIVITY));
        }
        assert!(early.allows_activity(broken));
    }

    #[test]
    fn long_messages_are_not_activity() {
        let mut early = EarlyFrames::default();
        let padded = |bytes: usize| {
            let spaces = " ".repeat(bytes - ACTIVITY.len());
            ACTIVITY.replace('}', &format!("{spaces}}}"))
        };
        assert!(early.allows_activity(&padded(MAX_EARLY_ACTIVITY_BYTES)));
        assert!(!early.allows_activity(&padded(MAX_EARLY_ACTIVITY_BYTES + 1)));
    }
}

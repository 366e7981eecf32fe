//! The visibility and activity that the page reports, and the state that the bridge has received.

use crate::effect::Effects;
use crate::messages::PageToBridge;

/// The minimum interval between two messages about user activity.
pub const ACTIVITY_INTERVAL_MS: u64 = 5_000;

/// The visibility, focus and title of the document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageVisibility {
    /// `document.visibilityState` is `visible`.
    pub visible: bool,
    /// `document.hasFocus()`.
    pub focused: bool,
    /// `document.title`.
    pub title: String,
}

/// Tracks the visibility of the page, and the state that was last sent to the bridge.
#[derive(Debug)]
pub(super) struct VisibilityTracker {
    pub(super) current: PageVisibility,
    /// The browser is about to suspend the page.
    frozen: bool,
    /// The bridge may not have received the latest freeze. It ends the calls that it has sent by
    /// then.
    pub(super) freeze_unconfirmed: bool,
    /// The number of the last `calls-check` before the latest freeze: its answer does not show that
    /// the bridge has received the freeze.
    check_before_freeze: u64,
    /// The title that was sent last.
    sent_title: String,
    /// The visibility, and whether the page is frozen, as sent last on this connection.
    last_sent: Option<(PageVisibility, bool)>,
    /// When user activity was sent last.
    last_activity_ms: Option<u64>,
}

impl VisibilityTracker {
    pub(super) fn new(current: PageVisibility) -> Self {
        Self {
            current,
            frozen: false,
            freeze_unconfirmed: false,
            check_before_freeze: 0,
            sent_title: String::new(),
            last_sent: None,
            last_activity_ms: None,
        }
    }

    /// `authenticate` was sent, which contains the title and no other state.
    pub(super) fn mark_title_sent(&mut self) {
        self.sent_title = self.current.title.clone();
        self.last_sent = None;
        self.freeze_unconfirmed = false;
    }

    pub(super) fn set_frozen(&mut self, frozen: bool, last_check: u64) {
        self.frozen = frozen;
        if frozen {
            self.freeze_unconfirmed = true;
            self.check_before_freeze = last_check;
        }
    }

    /// The bridge has answered the check with this number. If the page sent it after the latest freeze, the bridge has
    /// received that freeze.
    pub(super) fn confirm(&mut self, answered_check: u64) {
        if answered_check > self.check_before_freeze {
            self.freeze_unconfirmed = self.frozen;
        }
    }

    /// Sends the state if it has changed since it was sent last.
    pub(super) fn send_changes<J>(&mut self, effects: &mut Effects<J>) {
        let now = Some((self.current.clone(), self.frozen));
        if self.last_sent == now {
            return;
        }
        self.last_sent = now;
        let title = &self.current.title;
        let page_title = (*title != self.sent_title).then(|| title.clone());
        self.sent_title = title.clone();
        effects.send(PageToBridge::PageState {
            visible: self.current.visible,
            focused: self.current.focused,
            frozen: self.frozen,
            page_title,
        });
    }

    /// Sends user activity, at most once in [`ACTIVITY_INTERVAL_MS`].
    pub(super) fn send_activity<J>(&mut self, now_ms: u64, effects: &mut Effects<J>) {
        let is_due = |sent_ms| now_ms - sent_ms >= ACTIVITY_INTERVAL_MS;
        if self.last_activity_ms.is_none_or(is_due) {
            self.last_activity_ms = Some(now_ms);
            effects.send(PageToBridge::Activity);
        }
    }
}

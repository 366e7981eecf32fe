//! What the user sees and does, as far as the bridge hears of it.

use super::Page;
use crate::core::effect::Effects;
use crate::core::messages::PageToBridge;

/// The bridge hears of the user's deeds at most this often.
pub const ACTIVITY_INTERVAL_MS: u64 = 5_000;

/// What the user sees of the document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageVisibility {
    /// `document.visibilityState` is `visible`.
    pub visible: bool,
    /// `document.hasFocus()`.
    pub focused: bool,
    /// `document.title`.
    pub title: String,
}

/// What there is to see, and what the bridge knows of it.
#[derive(Debug)]
pub(super) struct VisibilityTracker {
    pub(super) current: PageVisibility,
    /// The browser is about to suspend the page.
    frozen: bool,
    /// The bridge may not have heard of that yet: it ends what it sends until then.
    pub(super) freeze_unconfirmed: bool,
    /// The title as the bridge knows it.
    sent_title: String,
    /// What the bridge knows on this connection: the sight, and whether the page is frozen.
    last_sent: Option<(PageVisibility, bool)>,
    /// When the bridge last heard that the user did something.
    last_activity_ms: Option<u64>,
}

impl VisibilityTracker {
    pub(super) fn new(current: PageVisibility) -> Self {
        Self {
            current,
            frozen: false,
            freeze_unconfirmed: false,
            sent_title: String::new(),
            last_sent: None,
            last_activity_ms: None,
        }
    }

    /// The bridge hears the title with `authenticate`, and nothing else yet.
    pub(super) fn mark_title_sent(&mut self) {
        self.sent_title = self.current.title.clone();
        self.last_sent = None;
        self.freeze_unconfirmed = false;
    }

    /// The bridge has answered something that was asked after it was told.
    pub(super) fn confirm(&mut self) {
        self.freeze_unconfirmed = self.frozen;
    }

    pub(super) fn send_changes<V>(&mut self, effects: &mut Effects<V>) {
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
}

impl<V: Clone> Page<V> {
    /// Visibility, focus or title may have changed, or the page is not frozen any more.
    pub fn visibility_changed(&mut self, sight: PageVisibility) {
        self.visibility.current = sight;
        self.set_frozen(false);
    }

    /// The browser is about to suspend the page. [`Page::visibility_changed`] is the end of that.
    pub fn froze(&mut self) {
        self.set_frozen(true);
    }

    fn set_frozen(&mut self, frozen: bool) {
        self.visibility.frozen = frozen;
        self.visibility.freeze_unconfirmed |= frozen;
        if self.connection.is_ready() {
            self.visibility.send_changes(&mut self.effects);
        }
    }

    /// The user did something in the page.
    pub fn user_acted(&mut self) {
        let now_ms = self.clock.now_ms;
        let told = self.visibility.last_activity_ms;
        let is_news = told.is_none_or(|told| now_ms - told >= ACTIVITY_INTERVAL_MS);
        if is_news && self.connection.is_ready() {
            self.visibility.last_activity_ms = Some(now_ms);
            self.effects.send(PageToBridge::Activity);
        }
    }
}

//! What the user sees and does, as far as the bridge hears of it.

use super::Page;
use crate::core::effect::Effects;
use crate::core::messages::PageToBridge;

/// The bridge hears of the user's deeds at most this often.
pub const ACTIVITY_EVERY_MS: u64 = 5_000;

/// What the user sees of the document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// `document.visibilityState` is `visible`.
    pub visible: bool,
    /// `document.hasFocus()`.
    pub focused: bool,
    /// `document.title`.
    pub title: String,
}

/// What there is to see, and what the bridge knows of it.
#[derive(Debug)]
pub(super) struct Seeing {
    pub(super) sight: Sight,
    /// The browser is about to suspend the page.
    frozen: bool,
    /// The bridge may not have heard of that yet: it ends what it sends until then.
    pub(super) unsure: bool,
    /// The title as the bridge knows it.
    told_title: String,
    /// What the bridge knows on this connection: the sight, and whether the page is frozen.
    told: Option<(Sight, bool)>,
    /// When the bridge last heard that the user did something.
    told_activity_ms: Option<u64>,
}

impl Seeing {
    pub(super) fn new(sight: Sight) -> Self {
        Self {
            sight,
            frozen: false,
            unsure: false,
            told_title: String::new(),
            told: None,
            told_activity_ms: None,
        }
    }

    /// The bridge hears the title with `authenticate`, and nothing else yet.
    pub(super) fn introduced(&mut self) {
        self.told_title = self.sight.title.clone();
        self.told = None;
        self.unsure = false;
    }

    /// The bridge has answered something that was asked after it was told.
    pub(super) fn heard(&mut self) {
        self.unsure = self.frozen;
    }

    pub(super) fn tell<V>(&mut self, effects: &mut Effects<V>) {
        let now = Some((self.sight.clone(), self.frozen));
        if self.told == now {
            return;
        }
        self.told = now;
        let title = &self.sight.title;
        let page_title = (*title != self.told_title).then(|| title.clone());
        self.told_title = title.clone();
        effects.send(PageToBridge::PageState {
            visible: self.sight.visible,
            focused: self.sight.focused,
            frozen: self.frozen,
            page_title,
        });
    }
}

impl<V: Clone> Page<V> {
    /// Visibility, focus or title may have changed, or the page is not frozen any more.
    pub fn sight_changed(&mut self, sight: Sight) {
        self.seeing.sight = sight;
        self.set_frozen(false);
    }

    /// The browser is about to suspend the page. [`Page::sight_changed`] is the end of that.
    pub fn froze(&mut self) {
        self.set_frozen(true);
    }

    fn set_frozen(&mut self, frozen: bool) {
        self.seeing.frozen = frozen;
        self.seeing.unsure |= frozen;
        if self.connection.is_ready() {
            self.seeing.tell(&mut self.effects);
        }
    }

    /// The user did something in the page.
    pub fn acted(&mut self) {
        let now_ms = self.clock.now_ms;
        let told = self.seeing.told_activity_ms;
        let is_news = told.is_none_or(|told| now_ms - told >= ACTIVITY_EVERY_MS);
        if is_news && self.connection.is_ready() {
            self.seeing.told_activity_ms = Some(now_ms);
            self.effects.send(PageToBridge::Activity);
        }
    }
}

//! The elements of a window, as Slint has them.

use i_slint_core::accessibility::{
    AccessibilityAction, AccessibleStringProperty, SupportedAccessibilityAction,
    find_text_input_with_rc, nearest_accessible_item,
};
use i_slint_core::input::FocusReason;
use i_slint_core::item_tree::{ItemTreeRc, ItemTreeRef, ItemWeak, ParentItemTraversalMode};
use i_slint_core::items::{
    AccessibleRole, Clip, Flickable, FocusScope, InputType, ItemRc, TextInput, TouchArea,
    WindowItem,
};
use i_slint_core::lengths::{LogicalPoint, LogicalRect};
use i_slint_core::window::WindowInner;
use slint::platform::WindowEvent;

pub(crate) use i_slint_core::accessibility::AccessibleStringProperty as Property;

/// An element of a window. It keeps the element, so it is held only while the thread of the window
/// works.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Item(ItemRc);

/// An element that may be gone.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct WeakItem(ItemWeak);

/// Where an element lies in memory: a key as long as a [`WeakItem`] of it exists.
pub(crate) type Address = (usize, u32);

/// What assistive technologies can do to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemAction {
    Default,
    Increment,
    Decrement,
    Expand,
    SetValue,
}

impl WeakItem {
    pub(crate) fn upgrade(&self) -> Option<Item> {
        self.0.upgrade().map(Item)
    }
}

impl Item {
    /// Returns the outermost element of a window, after all that is to be shown was created.
    pub(crate) fn root(window: &slint::Window) -> Option<Self> {
        let window = WindowInner::from_pub(window);
        window.ensure_tree_instantiated();
        window.try_component().map(|it| Self(ItemRc::new_root(it)))
    }

    /// Returns what is open over a window: menus, and lists of choices.
    pub(crate) fn popups(window: &slint::Window) -> Vec<Self> {
        let window = WindowInner::from_pub(window);
        let popups = window.active_popups();
        let roots = popups
            .iter()
            .map(|it| ItemRc::new_root(it.component.clone()));
        roots.map(Self).collect()
    }

    /// Returns the element that has the focus: the one that a user would call so.
    pub(crate) fn focused(window: &slint::Window) -> Option<Self> {
        let focused = WindowInner::from_pub(window)
            .focus_item
            .borrow()
            .upgrade()?;
        let item = Self(nearest_accessible_item(focused));
        item.is_accessible().then_some(item)
    }

    pub(crate) fn downgrade(&self) -> WeakItem {
        WeakItem(self.0.downgrade())
    }

    pub(crate) fn address(&self) -> Address {
        let tree = ItemTreeRef::as_ptr(ItemTreeRc::borrow(self.0.item_tree()));
        (tree.as_ptr() as usize, self.0.index())
    }

    pub(crate) fn children(&self) -> impl Iterator<Item = Self> + use<> {
        std::iter::successors(self.0.first_child(), ItemRc::next_sibling).map(Self)
    }

    /// Returns what the element is in, up to the window or the popup.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = Self> + use<> {
        let parent = |item: &ItemRc| item.parent_item(ParentItemTraversalMode::StopAtPopups);
        std::iter::successors(parent(&self.0), parent).map(Self)
    }

    pub(crate) fn contains(&self, other: &Self) -> bool {
        self == other || other.ancestors().any(|it| it == *self)
    }

    pub(crate) fn is_accessible(&self) -> bool {
        self.0.is_accessible() && self.0.accessible_role() != AccessibleRole::None
    }

    pub(crate) fn accessible_role(&self) -> AccessibleRole {
        self.0.accessible_role()
    }

    pub(crate) fn property(&self, property: AccessibleStringProperty) -> Option<String> {
        let value = self.0.accessible_string_property(property)?;
        Some(value.to_string())
    }

    /// Returns whether a property is `true`, if the element has it.
    pub(crate) fn flag(&self, property: AccessibleStringProperty) -> Option<bool> {
        self.property(property).map(|value| value == "true")
    }

    /// Returns the qualified id such as `Main::plus`, if the program was built with debug information.
    pub(crate) fn id(&self) -> Option<String> {
        let names = self.0.element_type_names_and_ids(0)?;
        let mut ids = names.into_iter().map(|(_, id)| id.to_string());
        ids.find(|id| !id.is_empty())
    }

    pub(crate) fn can(&self, action: ItemAction) -> bool {
        let flag = match action {
            ItemAction::Default => SupportedAccessibilityAction::Default,
            ItemAction::Increment => SupportedAccessibilityAction::Increment,
            ItemAction::Decrement => SupportedAccessibilityAction::Decrement,
            ItemAction::Expand => SupportedAccessibilityAction::Expand,
            ItemAction::SetValue => SupportedAccessibilityAction::SetValue,
        };
        self.0.supported_accessibility_actions().contains(flag)
    }

    pub(crate) fn act(&self, action: ItemAction, value: &str) {
        self.0.accessible_action(&match action {
            ItemAction::Default => AccessibilityAction::Default,
            ItemAction::Increment => AccessibilityAction::Increment,
            ItemAction::Decrement => AccessibilityAction::Decrement,
            ItemAction::Expand => AccessibilityAction::Expand,
            ItemAction::SetValue => AccessibilityAction::SetValue(value.into()),
        });
    }

    /// Returns whether a text that is typed here is a secret.
    pub(crate) fn is_password(&self) -> bool {
        self.0.accessible_role() == AccessibleRole::TextInput
            && find_text_input_with_rc(&self.0)
                .is_some_and(|(_, input)| input.as_pin_ref().input_type() == InputType::Password)
    }

    /// Returns whether the app shows nothing of what is in the element: `visible: false`.
    pub(crate) fn hides_content(&self) -> bool {
        self.0.downcast::<Clip>().is_some_and(|clip| {
            let clip = clip.as_pin_ref();
            clip.is_visibility_clip() && clip.clip()
        })
    }

    /// Returns whether the app shows the element, even if it must be scrolled to.
    pub(crate) fn is_shown(&self) -> bool {
        let size = self.rectangle().size;
        size.width > 0.0
            && size.height > 0.0
            && !self.hides_content()
            && !self.ancestors().any(|it| it.hides_content())
    }

    /// Returns whether some of the element is in the part of the window that is seen now.
    pub(crate) fn is_in_view(&self) -> bool {
        self.0.is_visible()
    }

    /// Returns the place of the element in its window, in logical pixels.
    pub(crate) fn rectangle(&self) -> LogicalRect {
        let geometry = self.0.geometry();
        LogicalRect::new(self.0.map_to_native_window(geometry.origin), geometry.size)
    }

    pub(crate) fn center(&self) -> LogicalPoint {
        // The middle is mapped, not computed: what is around the element may scale or turn it.
        self.0.map_to_native_window(self.0.geometry().center())
    }

    /// Returns whether what is outside of the element is cut off.
    pub(crate) fn clips(&self) -> bool {
        self.0.borrow().as_ref().clips_children()
    }

    pub(crate) fn scrolls(&self) -> bool {
        self.0.downcast::<Flickable>().is_some()
    }

    /// Returns whether a press of the pointer ends here, and not at what is below.
    pub(crate) fn takes_pointer(&self) -> bool {
        let area = self.0.downcast::<TouchArea>();
        area.is_some_and(|area| area.as_pin_ref().enabled())
            || self.0.downcast::<TextInput>().is_some()
    }

    /// Gives the focus to the element, or to what in it takes keys. Returns whether it has it now.
    pub(crate) fn focus(&self) -> bool {
        let takes_focus =
            self.0.downcast::<TextInput>().is_some() || self.0.downcast::<FocusScope>().is_some();
        if takes_focus && let Some(adapter) = self.0.window_adapter() {
            let window = WindowInner::from_pub(adapter.window());
            window.set_focus_item(&self.0, true, FocusReason::Programmatic);
            let focused = window.focus_item.borrow().upgrade();
            if focused.as_ref() == Some(&self.0) {
                return true;
            }
        }
        self.children().any(|child| child.focus())
    }

    /// Sends an event to the window that shows the element. Returns whether something has taken it.
    pub(crate) fn send(&self, event: WindowEvent) -> bool {
        let Some(adapter) = self.0.window_adapter() else {
            return false;
        };
        send(adapter.window(), event)
    }

    /// Returns the title, if this is a window.
    pub(crate) fn title(&self) -> Option<String> {
        let window = self.0.downcast::<WindowItem>()?;
        Some(window.as_pin_ref().title().to_string())
    }
}

/// Sends an event to a window. Returns whether something has taken it.
pub(crate) fn send(window: &slint::Window, event: WindowEvent) -> bool {
    let result = window.dispatch_event_with_result(event);
    result.is_ok_and(|it| it == i_slint_core::platform::WindowEventDispatchResult::Accepted)
}

//! The elements of a window, as Slint stores them.

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

/// An element of a window. It is a strong reference, so it is held only while the thread of the
/// window runs a task.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Item(ItemRc);

/// A weak reference to an element.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct WeakItem(ItemWeak);

/// The address of an element in memory. It is a valid key while a [`WeakItem`] of the element
/// exists.
pub(crate) type Address = (usize, u32);

/// The actions of assistive technologies on an element.
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
    /// Returns the outermost element of a window, after creating all elements that are to be shown.
    pub(crate) fn root(window: &slint::Window) -> Option<Self> {
        let window = WindowInner::from_pub(window);
        window.ensure_tree_instantiated();
        window.try_component().map(|it| Self(ItemRc::new_root(it)))
    }

    /// Returns the popups of a window: menus, and lists of choices.
    pub(crate) fn popups(window: &slint::Window) -> Vec<Self> {
        let window = WindowInner::from_pub(window);
        let popups = window.active_popups();
        let roots = popups
            .iter()
            .map(|it| ItemRc::new_root(it.component.clone()));
        roots.map(Self).collect()
    }

    /// Returns the focused element, from the point of view of a user.
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

    /// Returns the ancestors of the element, up to the window or the popup.
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

    /// Returns the qualified id, such as `Main::plus`, if the program was built with debug
    /// information.
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

    /// Returns whether text that is typed here is secret.
    pub(crate) fn is_password(&self) -> bool {
        self.0.accessible_role() == AccessibleRole::TextInput
            && find_text_input_with_rc(&self.0)
                .is_some_and(|(_, input)| input.as_pin_ref().input_type() == InputType::Password)
    }

    /// Returns whether the app hides the whole content of the element: `visible: false`.
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

    /// Returns whether part of the element is in the visible area of the window.
    pub(crate) fn is_in_view(&self) -> bool {
        self.0.is_visible()
    }

    /// Returns the position of the element in its window, in logical pixels.
    pub(crate) fn rectangle(&self) -> LogicalRect {
        let geometry = self.0.geometry();
        LogicalRect::new(self.0.map_to_native_window(geometry.origin), geometry.size)
    }

    pub(crate) fn center(&self) -> LogicalPoint {
        // The centre is mapped, not computed, because ancestors may scale or rotate the element.
        self.0.map_to_native_window(self.0.geometry().center())
    }

    /// Returns whether the element clips content outside of it.
    pub(crate) fn clips(&self) -> bool {
        self.0.borrow().as_ref().clips_children()
    }

    pub(crate) fn scrolls(&self) -> bool {
        self.0.downcast::<Flickable>().is_some()
    }

    /// Returns whether the element consumes a press of the pointer, instead of the element below.
    pub(crate) fn takes_pointer(&self) -> bool {
        let area = self.0.downcast::<TouchArea>();
        area.is_some_and(|area| area.as_pin_ref().enabled())
            || self.0.downcast::<TextInput>().is_some()
    }

    /// Gives the focus to the element, or to a descendant that accepts keys. Returns whether it has
    /// the focus now.
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

    /// Sends an event to the window that shows the element. Returns whether the event was accepted.
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

/// Sends an event to a window. Returns whether the event was accepted.
pub(crate) fn send(window: &slint::Window, event: WindowEvent) -> bool {
    let result = window.dispatch_event_with_result(event);
    result.is_ok_and(|it| it == i_slint_core::platform::WindowEventDispatchResult::Accepted)
}

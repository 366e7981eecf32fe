//! Inspects the target of an action: whether a user could act on it now.

use i_slint_core::lengths::{LogicalPoint, LogicalVector};
use mcp_web_sdk::page::{ActionCode, ActionFailure, TargetFacts};
use slint::platform::WindowEvent;

use crate::item::{Item, ItemAction, Property};
use crate::role;
use crate::tree::describe;
use crate::window::OpenWindow;

/// Scrolls an element into view and returns its facts.
pub(crate) fn facts(window: &slint::Window, item: &Item) -> TargetFacts {
    scroll_into_view(item);
    TargetFacts {
        label: label(item),
        disabled: (item.flag(Property::Enabled) == Some(false)).then(|| "disabled".to_owned()),
        read_only: item.flag(Property::ReadOnly) == Some(true),
        hidden: !item.is_shown() || !item.is_in_view(),
        covered_by: cover(window, item).map(|cover| label(&cover)),
        editable: takes_value(item),
        ..TargetFacts::default()
    }
}

/// Refuses an element that can no longer be used: it may have changed since it was inspected.
pub(crate) fn check_usable(item: &Item) -> Result<(), ActionFailure> {
    let label = label(item);
    if item.flag(Property::Enabled) == Some(false) {
        let message = format!("{label} is disabled: look in the page for what enables it");
        return Err(ActionFailure::new(ActionCode::TargetDisabled, message));
    }
    if !item.is_shown() {
        let message = format!("{label} is not shown any more: take a page_snapshot");
        return Err(ActionFailure::new(ActionCode::TargetHidden, message));
    }
    Ok(())
}

/// Refuses a pointer action that another element would receive.
pub(crate) fn check_uncovered(window: &slint::Window, item: &Item) -> Result<(), ActionFailure> {
    let Some(cover) = cover(window, item) else {
        return Ok(());
    };
    let message = format!(
        "{} is covered by {}: close that first, or scroll",
        label(item),
        label(&cover)
    );
    Err(ActionFailure::new(ActionCode::TargetCovered, message))
}

/// Returns an element as the page's text describes it.
pub(crate) fn label(item: &Item) -> String {
    let role = role::of_item(item);
    match describe(item, role).name {
        Some(name) => format!("{role} {}", serde_json::Value::from(name)),
        None => role.to_owned(),
    }
}

/// Returns whether `setValue` can set the value of an element.
pub(crate) fn takes_value(item: &Item) -> bool {
    item.can(ItemAction::SetValue) || (is_checkable(item) && item.can(ItemAction::Default))
}

pub(crate) fn is_checkable(item: &Item) -> bool {
    item.flag(Property::Checkable) == Some(true)
        || matches!(role::of_item(item), "checkbox" | "radio" | "switch")
}

/// Turns the wheel over each scrolling ancestor, as far as the element is out of its view.
fn scroll_into_view(item: &Item) {
    let parts: Vec<_> = item.ancestors().filter(Item::scrolls).collect();
    for part in parts {
        let view = part.rectangle();
        let target = item.rectangle();
        let distance = |start: f32, end: f32, view_start: f32, view_end: f32| {
            if start < view_start {
                view_start - start
            } else {
                // If the element is larger than the view, its beginning takes precedence.
                (view_end - end).min(0.0).max(view_start - start)
            }
        };
        let way = LogicalVector::new(
            distance(target.min_x(), target.max_x(), view.min_x(), view.max_x()),
            distance(target.min_y(), target.max_y(), view.min_y(), view.max_y()),
        );
        if way != LogicalVector::default() {
            let center = part.center();
            part.send(WindowEvent::PointerScrolled {
                position: slint::LogicalPosition::new(center.x, center.y),
                delta_x: way.x,
                delta_y: way.y,
            });
        }
    }
}

/// Returns the element that would receive a press of the pointer at the centre of another.
fn cover(window: &slint::Window, item: &Item) -> Option<Item> {
    let mut search = CoverSearch {
        item,
        center: item.center(),
        has_passed: false,
        cover: None,
    };
    let roots = OpenWindow::roots(window);
    for (index, root) in roots.iter().enumerate() {
        let is_popup = index > 0;
        // A menu receives all presses inside it.
        if is_popup && search.has_passed && root.rectangle().contains(search.center) {
            search.cover = Some(root.clone());
        }
        search.visit(root);
    }
    let cover = search.cover?;
    let named = |it: &Item| it.is_accessible() && !it.contains(item);
    let known = std::iter::once(cover.clone()).chain(cover.ancestors());
    Some(known.into_iter().find(named).unwrap_or(cover))
}

/// Looks at the elements from back to front.
struct CoverSearch<'a> {
    item: &'a Item,
    center: LogicalPoint,
    /// Whether the element itself is behind the one that is checked now.
    has_passed: bool,
    cover: Option<Item>,
}

impl CoverSearch<'_> {
    fn visit(&mut self, item: &Item) {
        if item == self.item {
            self.has_passed = true;
            return;
        }
        let has_center = item.rectangle().contains(self.center);
        if item.hides_content() || (item.clips() && !has_center && !item.contains(self.item)) {
            return;
        }
        if self.has_passed && has_center && item.takes_pointer() {
            self.cover = Some(item.clone());
        }
        for child in item.children() {
            self.visit(&child);
        }
    }
}

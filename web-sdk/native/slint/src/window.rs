//! A window that AI clients may use, in the window's thread.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use i_slint_core::window::{WindowAdapter, WindowInner};
use mcp_web_sdk::page::{ActionFailure, Tree, TreeOptions};

use crate::handles::{Handles, Named};
use crate::item::Item;
use crate::tree::TreeBuilder;

/// A window with the handles of its elements.
pub(crate) struct OpenWindow {
    adapter: Weak<dyn WindowAdapter>,
    handles: RefCell<Handles>,
    max_handles: usize,
}

impl OpenWindow {
    pub(crate) fn new(window: &slint::Window, max_handles: usize) -> Self {
        Self {
            adapter: Rc::downgrade(&WindowInner::from_pub(window).window_adapter()),
            handles: RefCell::default(),
            max_handles,
        }
    }

    /// Returns the window if it is visible to its user.
    pub(crate) fn adapter(&self) -> Option<Rc<dyn WindowAdapter>> {
        let adapter = self.adapter.upgrade()?;
        adapter.window().is_visible().then_some(adapter)
    }

    /// Returns the tree of the window.
    pub(crate) fn tree(
        &self,
        window: &slint::Window,
        options: &TreeOptions,
    ) -> Result<Tree, ActionFailure> {
        let within = match &options.within {
            Some(reference) => Some(self.target(window, reference)?),
            None => None,
        };
        let mut handles = self.handles.borrow_mut();
        handles.forget_gone(self.max_handles);
        let builder = TreeBuilder::new(&mut handles, options, Item::focused(window));
        let roots = match within {
            Some(item) => vec![item],
            None => Self::roots(window),
        };
        Ok(builder.build(&roots))
    }

    /// Returns the element with the given handle, or with the app's own id if that is unique.
    ///
    /// # Errors
    /// Fails if the element no longer exists or never did.
    pub(crate) fn target(
        &self,
        window: &slint::Window,
        reference: &str,
    ) -> Result<Item, ActionFailure> {
        // Elements that are no longer shown are removed now instead of with the next frame.
        let roots = Self::roots(window);
        let named = self.handles.borrow().item(reference);
        match named {
            Named::Item(item) if roots.iter().any(|root| root.contains(&item)) => Ok(item),
            Named::Item(_) | Named::Stale => Err(ActionFailure::stale(reference)),
            Named::Unknown => {
                let mut found = Vec::new();
                for root in &roots {
                    collect_with_id(root, reference, &mut found);
                }
                match <[Item; 1]>::try_from(found) {
                    Ok([item]) => Ok(item),
                    Err(_) => Err(ActionFailure::unknown(reference)),
                }
            }
        }
    }

    pub(crate) fn handle_of(&self, item: &Item) -> String {
        self.handles.borrow_mut().of(item)
    }

    /// Returns the window's own element and its popups, from back to front.
    pub(crate) fn roots(window: &slint::Window) -> Vec<Item> {
        let mut roots: Vec<_> = Item::root(window).into_iter().collect();
        roots.extend(Item::popups(window));
        roots
    }
}

fn collect_with_id(item: &Item, id: &str, found: &mut Vec<Item>) {
    use crate::item::Property;
    let has_id = || item.property(Property::Id).as_deref() == Some(id);
    if item.is_accessible() && (has_id() || item.id().as_deref() == Some(id)) {
        found.push(item.clone());
    }
    for child in item.children() {
        collect_with_id(&child, id, found);
    }
}

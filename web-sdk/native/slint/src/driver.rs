//! The driver of page tools for a Slint window.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mcp_web_sdk::page::{
    Action, ActionCode, ActionFailure, ActionKind, Driver, Inspection, Node, NodeValue, Outcome,
    PageInfo, PageState, Picture, ReadBack, Tree, TreeOptions,
};
use serde_json::{Map, Value};
use slint::platform::PointerEventButton;

use crate::action::{self, Trigger};
use crate::item::Item;
use crate::window_thread::WindowThread;
use crate::{inspect, keys, pointer, screenshot, value};

/// Maximum time to wait for animations to end. Some never end.
const MAX_REST: Duration = Duration::from_secs(1);
/// Time between two checks of a moving or awaited element: a few frames.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Default number of moves of a drag.
const DEFAULT_DRAG_STEPS: u32 = 8;
/// The supported actions, for the error of an unsupported one.
const POSSIBLE: &str =
    "use setValue, triggerEvent, callMethod, pressKey, hover, scroll, drag or waitFor";

/// The driver of one window. It runs in the thread of the connection.
pub(crate) struct WindowDriver {
    thread: WindowThread,
    page: PageInfo,
    /// The elements with handles before an action, with their appearance.
    before: Option<BTreeMap<String, String>>,
    warnings: Vec<String>,
    /// Whether the window has not responded during this action. It is not called again before the
    /// next action.
    is_blocked: bool,
}

impl WindowDriver {
    pub(crate) fn new(thread: WindowThread, page: PageInfo) -> Self {
        Self {
            thread,
            page,
            before: None,
            warnings: Vec::new(),
            is_blocked: false,
        }
    }

    async fn look(&mut self, options: TreeOptions) -> Result<Tree, ActionFailure> {
        let looked = self.thread.run(move |open, window| {
            let title = Item::root(window).and_then(|root| root.title());
            (open.tree(window, &options), title)
        });
        let (tree, title) = looked.await?;
        if let Some(title) = title.filter(|title| !title.is_empty()) {
            self.page.title = title;
        }
        tree
    }

    /// Works with the target of an action.
    async fn with_target<Output: Send + 'static>(
        &self,
        reference: &str,
        work: impl FnOnce(&slint::Window, &Item) -> Result<Output, ActionFailure> + Send + 'static,
    ) -> Result<Output, ActionFailure> {
        let reference = reference.to_owned();
        self.thread
            .run(move |open, window| work(window, &open.target(window, &reference)?))
            .await?
    }

    async fn elements(&mut self) -> Option<BTreeMap<String, String>> {
        let options = TreeOptions {
            limit: usize::MAX,
            ..TreeOptions::default()
        };
        let tree = self.look(options).await.ok()?;
        let mut elements = BTreeMap::new();
        collect_elements(&tree.root, &mut elements);
        Some(elements)
    }

    async fn do_action(
        &mut self,
        action: &Action,
        fields: &Value,
        reference: Option<&str>,
        to: Option<&str>,
    ) -> Result<(), ActionFailure> {
        let target = reference.unwrap_or_default();
        match &action.kind {
            ActionKind::SetValue => {
                let wanted = fields["value"].clone();
                self.with_target(target, move |_, item| value::set(item, &wanted))
                    .await
            }
            ActionKind::TriggerEvent { event } => self.trigger(target, event).await,
            ActionKind::CallMethod { method } => {
                let method = method.clone();
                self.with_target(target, move |_, item| action::call_method(item, &method))
                    .await
            }
            ActionKind::PressKey { key } => self.press_key(reference, key, fields).await,
            ActionKind::Hover => {
                self.with_target(target, |_, item| {
                    pointer::hover(item);
                    Ok(())
                })
                .await
            }
            ActionKind::Scroll => self.scroll(reference, fields).await,
            ActionKind::Drag { .. } => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the core has checked that it is from 2 to 50"
                )]
                let steps = fields["steps"]
                    .as_f64()
                    .map_or(DEFAULT_DRAG_STEPS, |steps| steps as u32);
                pointer::drag(&self.thread, target, to.unwrap_or_default(), steps).await
            }
            kind => Err(ActionFailure::unsupported(kind.name(), POSSIBLE)),
        }
    }

    async fn trigger(&self, target: &str, event: &str) -> Result<(), ActionFailure> {
        let (button, times) = match Trigger::parse(event)? {
            Trigger::Click => {
                let clicked = self.with_target(target, |_, item| action::run_default_action(item));
                if clicked.await? {
                    return Ok(());
                }
                (PointerEventButton::Left, 1)
            }
            Trigger::PointerClick => (PointerEventButton::Left, 1),
            Trigger::DoubleClick => (PointerEventButton::Left, 2),
            Trigger::ContextMenu => (PointerEventButton::Right, 1),
            Trigger::Focus => {
                return self
                    .with_target(target, |_, item| action::focus(item))
                    .await;
            }
        };
        self.with_target(target, |window, item| {
            inspect::check_uncovered(window, item)
        })
        .await?;
        pointer::click(&self.thread, target, button, times).await
    }

    async fn press_key(
        &self,
        reference: Option<&str>,
        key: &str,
        fields: &Value,
    ) -> Result<(), ActionFailure> {
        let key = key.to_owned();
        let names = fields["modifiers"].as_array().into_iter().flatten();
        let names = names.filter_map(|name| name.as_str().map(str::to_owned));
        let modifiers: Vec<_> = names.collect();
        let reference = reference.map(str::to_owned);
        let pressed = self.thread.run(move |open, window| {
            if let Some(reference) = reference {
                let item = open.target(window, &reference)?;
                if Item::focused(window).as_ref() != Some(&item) {
                    action::focus(&item)?;
                }
            }
            keys::press(window, &key, &modifiers)
        });
        pressed.await?
    }

    async fn scroll(
        &mut self,
        reference: Option<&str>,
        fields: &Value,
    ) -> Result<(), ActionFailure> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a window counts in this precision"
        )]
        let [x, y] = ["deltaX", "deltaY"].map(|name| fields[name].as_f64().unwrap_or(0.0) as f32);
        let reference = reference.map(str::to_owned);
        let scrolled = self.thread.run(move |open, window| {
            let item = match reference {
                Some(reference) => Some(open.target(window, &reference)?),
                None => Item::root(window),
            };
            Ok(item.is_some_and(|item| pointer::scroll(&item, x, y)))
        });
        if !scrolled.await?? {
            let warning = "nothing scrolls there: scroll a list, or an element around it";
            self.warnings.push(warning.to_owned());
        }
        Ok(())
    }
}

impl Driver for WindowDriver {
    async fn page(&mut self) -> PageInfo {
        self.page.clone()
    }

    async fn tree(&mut self, options: TreeOptions) -> Result<Tree, ActionFailure> {
        self.look(options).await
    }

    async fn inspect(
        &mut self,
        reference: &str,
        action: &Action,
    ) -> Result<Inspection, ActionFailure> {
        // An accessibility action does not need a pointer.
        let is_pointed_at = !matches!(action.kind, ActionKind::SetValue);
        let facts = self.with_target(reference, move |window, item| {
            let mut facts = inspect::facts(window, item);
            if !is_pointed_at {
                facts.covered_by = None;
            }
            Ok(facts)
        });
        match facts.await {
            Ok(facts) => Ok(Inspection::Facts(facts)),
            Err(failure) if failure == ActionFailure::stale(reference) => Ok(Inspection::Stale),
            Err(failure) if failure == ActionFailure::unknown(reference) => Ok(Inspection::Unknown),
            Err(failure) => Err(failure),
        }
    }

    async fn focused(&mut self) -> Option<String> {
        let focused = self.thread.run(|open, window| {
            let item = Item::focused(window)?;
            Some(open.handle_of(&item))
        });
        focused.await.ok()?
    }

    async fn begin_action(&mut self) {
        self.is_blocked = false;
        self.warnings.clear();
        self.before = self.elements().await;
    }

    async fn apply(
        &mut self,
        action: &Action,
        fields: &Value,
        reference: Option<&str>,
        to: Option<&str>,
    ) -> Result<(), ActionFailure> {
        // The state of the window is unknown until the end of this call.
        self.is_blocked = true;
        let done = self.do_action(action, fields, reference, to).await;
        self.is_blocked = matches!(&done, Err(failure) if is_timeout(failure));
        done
    }

    async fn rest(&mut self, is_brief: bool) {
        let started = Instant::now();
        while let Ok(true) = self
            .thread
            .run(|_, window| window.has_active_animations())
            .await
        {
            if is_brief || started.elapsed() > MAX_REST {
                return;
            }
            tokio::time::sleep(LOOK_INTERVAL).await; // sleep: the animation continues
        }
    }

    async fn read_back(
        &mut self,
        reference: &str,
        fields: &Value,
    ) -> Result<Option<ReadBack>, ActionFailure> {
        let wanted = fields["value"].clone();
        self.with_target(reference, move |_, item| {
            Ok(value::read_back(item, &wanted))
        })
        .await
    }

    async fn end_action(&mut self) -> Outcome {
        let mut outcome = Outcome {
            warnings: std::mem::take(&mut self.warnings),
            ..Outcome::default()
        };
        let Some(before) = self.before.take().filter(|_| !self.is_blocked) else {
            return outcome;
        };
        let after = self.elements().await.unwrap_or_default();
        let changed = after
            .into_iter()
            .filter(|(reference, now)| before.get(reference).is_some_and(|then| then != now));
        outcome.changed = changed.map(|(reference, _)| reference).collect();
        outcome
    }

    async fn change(&mut self, at_most: Duration) {
        let span = at_most.min(LOOK_INTERVAL);
        tokio::time::sleep(span).await; // sleep: a window does not report changes
    }

    async fn state(&mut self) -> PageState {
        let options = TreeOptions {
            limit: usize::MAX,
            ..TreeOptions::default()
        };
        let mut values = Map::new();
        if let Ok(tree) = self.look(options).await {
            collect_values(&tree.root, &mut values);
        }
        PageState {
            state: values.into(),
            ..PageState::default()
        }
    }

    async fn screenshot(&mut self, reference: Option<&str>) -> Result<Picture, ActionFailure> {
        let reference = reference.map(str::to_owned);
        let taken = self.thread.run(move |open, window| {
            let item = match &reference {
                Some(reference) => Some(open.target(window, reference)?),
                None => None,
            };
            screenshot::take(window, item.as_ref())
        });
        let pixels = taken.await??;
        let encoded = tokio::task::spawn_blocking(move || pixels.encode());
        encoded.await.map_err(|error| {
            let message = format!("the picture cannot be written: {error}");
            ActionFailure::new(ActionCode::ActionFailed, message)
        })?
    }
}

fn is_timeout(failure: &ActionFailure) -> bool {
    failure.code() == ActionCode::ActionTimeout
}

/// Collects the appearance of each element with a handle.
fn collect_elements(node: &Node, elements: &mut BTreeMap<String, String>) {
    if let Some(reference) = &node.reference {
        let looks = format!(
            "{:?}",
            (&node.name, &node.value, &node.states, &node.description)
        );
        elements.insert(reference.clone(), looks);
    }
    for child in &node.children {
        collect_elements(child, elements);
    }
}

/// Collects the values of the controls, by the app's own id or the name.
fn collect_values(node: &Node, values: &mut Map<String, Value>) {
    let key = node.test_id.as_ref().or(node.id.as_ref());
    let key = key.or(node.name.as_ref());
    if let (Some(key), Some(NodeValue::One(value))) = (key, &node.value) {
        values.insert(key.clone(), value.clone().into());
    }
    for child in &node.children {
        collect_values(child, values);
    }
}

//! The interface between page tools and a user interface.

use std::future::Future;
use std::time::Duration;

use page_tools::page_text::PageInfo;
use page_tools::refusal::Failure;
use page_tools::{Action, ActionCode, Inspection, Outcome, ReadBack, Tree};
use serde_json::Value;

/// The part of a user interface to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeOptions {
    /// The handle of the element whose content is wanted.
    pub within: Option<String>,
    /// Maximum number of elements with names and values; elements beyond it are only counted.
    pub limit: usize,
    /// Whether only elements with a handle and their ancestors are wanted.
    pub interactive: bool,
    /// Whether all elements with a text have a handle: the target of an action may be a text that
    /// is not a control.
    pub every_text: bool,
}

/// A page of the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSummary {
    /// The id that `navigate` opens it by.
    pub page_id: String,
    /// Its title for people.
    pub title: String,
}

/// The result of `get_state`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageState {
    /// The state of the page.
    pub state: Value,
    /// The state that all pages share.
    pub global: Value,
    /// The latest answers to requests.
    pub requests: Value,
}

/// A picture of the user interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// For example `image/png`.
    pub mime_type: String,
}

/// Why an action failed, or a handle could not be resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionFailure(pub(super) Failure);

impl ActionFailure {
    /// Creates a failure with a message that says what to do next.
    pub fn new(code: ActionCode, message: impl Into<String>) -> Self {
        Self(Failure::new(code, message))
    }

    /// Returns the reason for programs.
    pub fn code(&self) -> ActionCode {
        self.0.code
    }

    /// Creates the failure of a handle whose element no longer exists.
    pub fn stale(reference: &str) -> Self {
        Self(Failure::stale(reference))
    }

    /// Creates the failure of a handle that never existed.
    pub fn unknown(reference: &str) -> Self {
        Self(Failure::unknown(reference))
    }

    /// Creates the failure of an action that this user interface does not support.
    pub fn unsupported(what: &str, possible: &str) -> Self {
        let message = format!("{what} cannot be done here: {possible}");
        Self::new(ActionCode::ActionUnsupported, message)
    }
}

/// A user interface. Only one call of page tools uses it at a time. If a future is dropped, the
/// time limit of its action has passed.
pub trait Driver: Send + 'static {
    /// Returns the identity of the open page.
    fn page(&mut self) -> impl Future<Output = PageInfo> + Send;

    /// Returns the tree of the user interface.
    ///
    /// # Errors
    /// Fails if `within` no longer exists, or with [`ActionCode::ActionTimeout`] if the user
    /// interface does not respond.
    fn tree(
        &mut self,
        options: TreeOptions,
    ) -> impl Future<Output = Result<Tree, ActionFailure>> + Send;

    /// Scrolls the target of an action into view and returns its facts.
    ///
    /// # Errors
    /// Fails if the user interface does not respond. The action then fails without an effect.
    fn inspect(
        &mut self,
        reference: &str,
        action: &Action,
    ) -> impl Future<Output = Result<Inspection, ActionFailure>> + Send;

    /// Returns the handle of the focused element, which receives keys.
    fn focused(&mut self) -> impl Future<Output = Option<String>> + Send;

    /// Begins to record the reactions of the user interface during an action.
    fn begin_action(&mut self) -> impl Future<Output = ()> + Send;

    /// Performs an action. `fields` is the action as the client sent it; `reference` is the handle
    /// of its target, and `to` that of the drop target.
    ///
    /// # Errors
    /// Fails if the action could not be performed.
    fn apply(
        &mut self,
        action: &Action,
        fields: &Value,
        reference: Option<&str>,
        to: Option<&str>,
    ) -> impl Future<Output = Result<(), ActionFailure>> + Send;

    /// Waits until the effects of the action have ended. `is_brief` is set if the next action also
    /// sets a value.
    fn rest(&mut self, is_brief: bool) -> impl Future<Output = ()> + Send;

    /// Compares the value of an element with the value that an action has set.
    ///
    /// # Errors
    /// Fails if the current value is unknown.
    fn read_back(
        &mut self,
        reference: &str,
        fields: &Value,
    ) -> impl Future<Output = Result<Option<ReadBack>, ActionFailure>> + Send;

    /// Ends the recording, and returns it.
    fn end_action(&mut self) -> impl Future<Output = Outcome> + Send;

    /// Waits for a change of the user interface, at most for the given time.
    fn change(&mut self, at_most: Duration) -> impl Future<Output = ()> + Send;

    /// Returns the pages that `navigate` can open.
    fn pages(&mut self) -> impl Future<Output = Vec<PageSummary>> + Send {
        std::future::ready(Vec::new())
    }

    /// Returns the state of the app.
    fn state(&mut self) -> impl Future<Output = PageState> + Send {
        std::future::ready(PageState::default())
    }

    /// Returns a picture of the user interface, or of one element.
    ///
    /// # Errors
    /// Fails if there is no picture, or the handle is unknown.
    fn screenshot(
        &mut self,
        reference: Option<&str>,
    ) -> impl Future<Output = Result<Picture, ActionFailure>> + Send {
        let _ = reference;
        std::future::ready(Err(ActionFailure::unsupported(
            "a picture",
            "take a page_snapshot",
        )))
    }
}

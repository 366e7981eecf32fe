//! What page tools need of a user interface.

use std::future::Future;
use std::time::Duration;

use page_tools::page_text::PageInfo;
use page_tools::refusal::Failure;
use page_tools::{Action, ActionCode, Inspection, Outcome, ReadBack, Tree};
use serde_json::Value;

/// What part of a user interface is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeOptions {
    /// The handle of the element whose inside is looked at.
    pub within: Option<String>,
    /// The elements with names and values; those beyond are only counted.
    pub limit: usize,
    /// Whether only elements with a handle, and what leads to them, are looked at.
    pub interactive: bool,
    /// Whether all elements with a text have a handle: an action may mean a text that is no control.
    pub every_text: bool,
}

/// A page of the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSummary {
    /// What `navigate` opens it by.
    pub page_id: String,
    /// Its title for people.
    pub title: String,
}

/// What `get_state` returns.
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
    /// Such as `image/png`.
    pub mime_type: String,
}

/// Why an action failed, or a handle names nothing.
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

    /// Creates the failure of a handle whose element is gone.
    pub fn stale(reference: &str) -> Self {
        Self(Failure::stale(reference))
    }

    /// Creates the failure of a handle that never existed.
    pub fn unknown(reference: &str) -> Self {
        Self(Failure::unknown(reference))
    }

    /// Creates the failure of what this user interface cannot do.
    pub fn unsupported(what: &str, possible: &str) -> Self {
        let message = format!("{what} cannot be done here: {possible}");
        Self::new(ActionCode::ActionUnsupported, message)
    }
}

/// A user interface. One call of page tools uses it at a time. A future that is dropped has ended: the
/// time of its action is over.
pub trait Driver: Send + 'static {
    /// Returns the page that is open.
    fn page(&mut self) -> impl Future<Output = PageInfo> + Send;

    /// Looks at the user interface.
    ///
    /// # Errors
    /// Fails when `within` is not there any more, or with [`ActionCode::ActionTimeout`] when the user
    /// interface does not answer.
    fn tree(
        &mut self,
        options: TreeOptions,
    ) -> impl Future<Output = Result<Tree, ActionFailure>> + Send;

    /// Returns what is known of the target of an action, after it was scrolled into view.
    ///
    /// # Errors
    /// Fails when the user interface does not answer. The action fails then, and nothing is done.
    fn inspect(
        &mut self,
        reference: &str,
        action: &Action,
    ) -> impl Future<Output = Result<Inspection, ActionFailure>> + Send;

    /// Returns the handle of the element that has the focus: keys go there.
    fn focused(&mut self) -> impl Future<Output = Option<String>> + Send;

    /// Begins to record what the user interface does, for the time of an action.
    fn begin_action(&mut self) -> impl Future<Output = ()> + Send;

    /// Does an action. `fields` is the action as the client has sent it; `reference` is the handle of
    /// its target, `to` that of where something is dragged.
    ///
    /// # Errors
    /// Fails when the action could not be done.
    fn apply(
        &mut self,
        action: &Action,
        fields: &Value,
        reference: Option<&str>,
        to: Option<&str>,
    ) -> impl Future<Output = Result<(), ActionFailure>> + Send;

    /// Waits until what was begun has ended. If it is brief, another value follows.
    fn rest(&mut self, is_brief: bool) -> impl Future<Output = ()> + Send;

    /// Compares the value of an element with the one that an action has set.
    ///
    /// # Errors
    /// Fails when it is not known where the value is.
    fn read_back(
        &mut self,
        reference: &str,
        fields: &Value,
    ) -> impl Future<Output = Result<Option<ReadBack>, ActionFailure>> + Send;

    /// Ends the record, and returns it.
    fn end_action(&mut self) -> impl Future<Output = Outcome> + Send;

    /// Waits for a change of the user interface, at most so long.
    fn change(&mut self, at_most: Duration) -> impl Future<Output = ()> + Send;

    /// Returns the pages that `navigate` opens.
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
    /// Fails when there is none, or the handle names nothing.
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

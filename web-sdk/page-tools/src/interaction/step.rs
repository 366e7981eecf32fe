//! The steps that an interaction requests from its driver, and the driver's answers.

use crate::node::Node;
use crate::refusal::{Failure, TargetFacts};

/// The next step of the driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Look at the whole page, and pass [`Event::Looked`].
    Look {
        /// Whether all elements with a text have a handle: the target of an action may be a text
        /// that is not a control.
        every_text: bool,
    },
    /// Find the element that has the focus, and pass [`Event::Focused`].
    FindFocus,
    /// Look at the target of an action, and pass [`Event::Inspected`].
    Inspect {
        /// The index of the action, from 0.
        index: usize,
        /// The handle.
        reference: String,
    },
    /// Ask the app whether the action may be done, and pass [`Event::Confirmed`].
    Confirm {
        /// The index of the action, from 0.
        index: usize,
        /// The handle of the target, if the action has one.
        reference: Option<String>,
        /// The handle of the element where something is released.
        to: Option<String>,
    },
    /// Perform the action, and pass [`Event::Applied`].
    Apply {
        /// The index of the action, from 0.
        index: usize,
        /// The handle of the target, if the action has one.
        reference: Option<String>,
        /// The handle of the element where something is released.
        to: Option<String>,
    },
    /// Wait until the effects of the action have ended, and pass [`Event::Rested`].
    Rest {
        /// Whether one task is enough, because the next action also sets a value.
        is_brief: bool,
    },
    /// Compare the value with the value that was set, and pass [`Event::Compared`].
    ReadBack {
        /// The index of the action, from 0.
        index: usize,
        /// The handle.
        reference: String,
    },
    /// End the action, and pass [`Event::Ended`] with the page's reactions.
    End,
    /// Wait for a change of the page, up to a time limit, and pass [`Event::Changed`].
    AwaitChange {
        /// The time limit in milliseconds.
        ms: f64,
    },
    /// Do nothing: the list has ended.
    Done,
}

/// An event at the driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The call begins.
    Started,
    /// The page, cleaned.
    Looked(Vec<Node>),
    /// The handle of the element that has the focus, if one has it.
    Focused(Option<String>),
    /// The facts about a target.
    Inspected(Inspection),
    /// Whether the app allows the action.
    Confirmed(bool),
    /// Whether the action could be performed.
    Applied(Result<(), Failure>),
    /// The effects of the action have ended.
    Rested,
    /// The comparison of the value with the value that was set.
    Compared(Result<Option<ReadBack>, Failure>),
    /// The page's reactions to the action.
    Ended(Outcome),
    /// The page has changed, or the time limit has passed.
    Changed,
    /// The time limit of the action or the call has passed: see
    /// [`Interaction::deadline`](super::Interaction::deadline).
    TimedOut,
    /// The person at the page was asked a question and has not answered within the time that a call
    /// waits for it. The step was not performed.
    PersonAsked,
}

/// The result of looking up a handle.
#[derive(Debug, Clone, PartialEq)]
pub enum Inspection {
    /// An element.
    Facts(TargetFacts),
    /// An element that no longer exists.
    Stale,
    /// The handle never existed.
    Unknown,
}

/// The value that was set, and the current value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadBack {
    /// The value that was set.
    pub expected: String,
    /// The current value.
    pub actual: String,
    /// Whether both have the same meaning.
    pub matches: bool,
}

/// The page's reactions to an action.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// The handles of the changed elements.
    pub changed: Vec<String>,
    /// The address that the page navigated to.
    pub navigated: Option<String>,
    /// The dialogs of the browser.
    pub dialog: Option<String>,
    /// The status and the text that the page announced to its user.
    pub messages: Vec<(String, String)>,
    /// Errors of the page.
    pub warnings: Vec<String>,
}

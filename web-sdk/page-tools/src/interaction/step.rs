//! What an interaction asks of its driver, and what the driver answers.

use crate::node::Node;
use crate::refusal::{Failure, TargetFacts};

/// What the driver does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Look at the whole page, and pass [`Event::Looked`].
    Look {
        /// Whether all elements with a text have a handle: an action may mean a text that is no
        /// control.
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
    /// Do the action, and pass [`Event::Applied`].
    Apply {
        /// The index of the action, from 0.
        index: usize,
        /// The handle of the target, if the action has one.
        reference: Option<String>,
        /// The handle of the element where something is released.
        to: Option<String>,
    },
    /// Wait until what the action began has ended, and pass [`Event::Rested`].
    Rest {
        /// Whether one task suffices, because another value follows.
        is_brief: bool,
    },
    /// Compare the value with the one that was set, and pass [`Event::Compared`].
    ReadBack {
        /// The index of the action, from 0.
        index: usize,
        /// The handle.
        reference: String,
    },
    /// End the action, and pass [`Event::Ended`] with what the page did meanwhile.
    End,
    /// Wait for a change of the page, at most so many milliseconds, and pass [`Event::Changed`].
    AwaitChange {
        /// The milliseconds.
        ms: f64,
    },
    /// Nothing: the list has ended.
    Done,
}

/// What happened at the driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The call begins.
    Started,
    /// The page, cleaned.
    Looked(Vec<Node>),
    /// The handle of the element that has the focus, if one has it.
    Focused(Option<String>),
    /// What is known of a target.
    Inspected(Inspection),
    /// Whether the app allows the action.
    Confirmed(bool),
    /// Whether the action could be done.
    Applied(Result<(), Failure>),
    /// What was begun has ended.
    Rested,
    /// How the value compares with the one that was set.
    Compared(Result<Option<ReadBack>, Failure>),
    /// What the page did.
    Ended(Outcome),
    /// The page has changed, or the time is over.
    Changed,
    /// The time of the action or of the call is over: see [`Interaction::deadline`].
    TimedOut,
    /// The person at the page was asked something instead, and has not answered for as long as a call
    /// waits for that: the step was not done.
    PersonAsked,
}

/// What a handle names.
#[derive(Debug, Clone, PartialEq)]
pub enum Inspection {
    /// An element.
    Facts(TargetFacts),
    /// An element that is gone.
    Stale,
    /// Nothing: there was no such handle.
    Unknown,
}

/// The value that was set, and the one that is there now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadBack {
    /// What was set.
    pub expected: String,
    /// What is there.
    pub actual: String,
    /// Whether they mean the same.
    pub matches: bool,
}

/// What the page did during an action.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// The handles of what was changed.
    pub changed: Vec<String>,
    /// Where the page went.
    pub navigated: Option<String>,
    /// The dialogs of the browser.
    pub dialog: Option<String>,
    /// What the page said to its user: a status and a text.
    pub messages: Vec<(String, String)>,
    /// Errors of the page.
    pub warnings: Vec<String>,
}

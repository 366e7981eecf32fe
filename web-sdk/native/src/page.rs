//! Page tools for a user interface that is not a web page: AI clients see a window as text and use
//! it as its user does.
//!
//! A [`Driver`] looks and acts. The crate `page-tools` has the rules of actions, the texts and the
//! refusals, as for web pages.

mod arguments;
mod driver;
mod executor;
mod tools;
mod values;

pub use driver::{ActionFailure, Driver, PageState, PageSummary, Picture, TreeOptions};
pub use tools::{PageTools, PageToolsOptions};

pub use page_tools::page_text::{Format, PageInfo};
pub use page_tools::{
    Action, ActionCode, ActionKind, Category, Choice, Find, Inspection, Limits, Node, NodeValue,
    Outcome, ReadBack, Rows, State, Target, TargetFacts, Tree,
};

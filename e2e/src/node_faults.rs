//! Faults of several bridges that serve as one, under load: real processes, pages with the SDK, and callers
//! at each bridge and at the balancer in front of them.
//!
//! Each call has its own number. Pages record in the [`Ledger`] that they run a call, and callers how it
//! ended. [`NodeFaultRun::finish`] compares the two:
//! - no call runs twice;
//! - no caller gets a result of a call that has not run, or an answer that denies a call which has run;
//! - each failure has an ending that the fault may cause;
//! - all pages are back, all callers get results again, and each user has one owner, with all pages.

mod callers;
mod ending;
mod first_tabs;
mod ledger;
mod owners;
mod report;
mod run;
mod tabs;

pub use first_tabs::FirstTabs;
pub use ledger::{CallRecord, Entry};
pub use run::{ENTRIES, FaultSetup, NodeFaultRun};

//! What the bridge does with the results of tool calls, which are in the crate `bridge-results`:
//! [`truncate`] shortens a result that exceeds the limits of its client, and [`store`] stores
//! results for clients that fetch them later.

pub(crate) mod store;
pub(crate) mod truncate;

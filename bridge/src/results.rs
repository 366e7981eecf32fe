//! What the bridge does with the results of tool calls, which are in the crate `bridge-results`:
//! [`truncate`] shortens a result that exceeds the limits of its client, [`store`] stores results
//! for clients that fetch them later, [`unread`] limits the bytes that wait for clients to read
//! them, and [`work`] orders passes over them from the CPU pool.

pub(crate) mod store;
pub(crate) mod truncate;
pub(crate) mod unread;
pub(crate) mod work;

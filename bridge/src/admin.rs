//! Administration of a running bridge: the operator lists and ends what there is, and denies access to
//! users and tokens.
//!
//! `mcp-web admin` is the client ([`command`], `table` prints its answers). It sends one line of
//! JSON to the Unix socket of the bridge and receives one (`messages`). `socket` has both ends of the
//! connection, `requests` executes a request and logs it, `listing` has the lists, `user_selector`
//! finds users, and `denials` stores who is denied. `administration` is what all of them use.

mod administration;
pub(crate) mod command;
mod denials;
mod listing;
mod messages;
#[cfg(not(unix))]
mod no_socket;
mod requests;
#[cfg(unix)]
mod socket;
mod table;
mod user_selector;

pub(crate) use administration::Administration;
pub(crate) use command::AdminArguments;
pub(crate) use denials::{DenialsError, StoredDenials};
#[cfg(not(unix))]
pub(crate) use no_socket::{NoAdminServer as AdminServer, check};
#[cfg(unix)]
pub(crate) use socket::{AdminServer, check};

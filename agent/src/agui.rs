//! The AG-UI protocol (<https://docs.ag-ui.com/spec/1.0>), with which other frontends use an
//! agent. A run is a query, and a thread is a conversation.
//!
//! - [`run_input`] is the request, [`messages`] are its messages, and [`thread`] interprets them.
//! - [`events`] are the events of a run, and [`run_encoder`] makes them from the progress of a
//!   query. [`call_states`] tracks its calls, and [`run_usage`] counts its tokens.
//! - [`run`] reads that progress. Where the query waits for the client, the run ends, and
//!   [`suspended_runs`] stores it for the next request.

mod call_states;
mod events;
mod messages;
mod run;
mod run_encoder;
mod run_input;
mod run_usage;
mod suspended_runs;
mod thread;

pub(crate) use events::AguiEvent;
pub(crate) use run::{AguiRun, RunPhase};
pub(crate) use run_input::RunInput;
pub(crate) use suspended_runs::{SuspendedRuns, ThreadKey};

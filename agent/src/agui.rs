//! The AG-UI protocol (<https://docs.ag-ui.com/spec/1.0>), in which frontends of other makers ask an
//! agent. A run is a query, and a thread is a conversation.
//!
//! - [`run_input`] is the request, [`messages`] are its messages, and [`request`] is what they ask
//!   for now.
//! - [`events`] are the events of a run, and [`run_encoder`] makes them from the progress of a query.

mod events;
mod messages;
mod request;
mod run_encoder;
mod run_input;

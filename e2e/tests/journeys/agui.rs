//! The AG-UI protocol at the agent, with clients of others as they are published: `HttpAgent` of
//! `@ag-ui/client`, CopilotKit and assistant-ui. Each brings its own version of the protocol.

mod clients;
mod guide;
mod page;
mod recorded_runs;

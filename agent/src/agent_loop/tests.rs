//! Queries answered by a fake model, with the tools of a page behind a real bridge.

mod answer_schema;
mod call_ends;
mod cancellation;
mod conversation;
mod costs;
mod fake_model;
mod limits;
mod outcomes;
mod pipeline;
mod sources;
mod test_bed;
mod tool_calls;

pub(crate) use fake_model::FakeModel;
use fake_model::{call_turn, text_turn, tool_definition};
use raw_page::{Page, call_input, with_deadline};
use test_bed::{TestBed, no_page_actions};

//! The rules by which the providers of models refuse requests, by model.
//!
//! They were written from the documents of the providers and the types of their SDKs, without the code
//! of the agent, so that both can be wrong only independently. `provider_rules/table.toml` has each rule
//! with its words, its document and its date.
//!
//! A request is checked as a whole: headers, fields, order of messages, pairs of calls and results,
//! thinking, effort, forced tools, sampling, schemas, cache marks, and whether signatures come back
//! with the prefix for which they were issued. `MockProvider` applies the rules and answers.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod fields;
pub(crate) mod gemini;
mod openai;
mod request;
pub(crate) mod responses;
mod schema;
mod table;

pub use request::ChatServer;
pub(crate) use request::{Accepted, ProviderRequest};
pub(crate) use table::{Check, Refusal, refuse};
pub use table::{RuleSource, rule_sources};

/// Everything that a provider has given to its clients and checks when it comes back.
#[derive(Debug, Default)]
pub(crate) struct Issued {
    pub(crate) anthropic: anthropic::IssuedThinking,
    pub(crate) responses: responses::IssuedItems,
    pub(crate) chat: chat::IssuedCalls,
    pub(crate) gemini: gemini::IssuedSignatures,
    numbers: usize,
}

impl Issued {
    /// Returns the next number for an id.
    pub(crate) fn next_number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }
}

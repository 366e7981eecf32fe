//! A page asks: native pages, real bridges and real agents, and a provider that says what a script
//! says, on the wires of four real ones.
#![allow(clippy::unwrap_used)]

mod asking;
mod cancelling;
mod credentials;
mod curl;
mod direct;
mod failures;
mod figures;
mod gone;
mod mock;
mod reloaded;
mod rounds;
mod tools;

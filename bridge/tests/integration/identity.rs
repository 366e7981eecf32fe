//! Signed tokens: who may do what, with which keys, until when.

mod algorithms;
mod asking;
mod caller;
mod expiry;
mod issuer;
mod metadata;
mod people;
mod renewal;
mod rotation;
mod routes;
mod secrecy;
mod start;
mod tls;
mod ways;

//! Tests of the whole crate: tables of schemas and values.

mod hostile_schemas;
mod keyword_table;

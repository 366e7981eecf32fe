//! client-stdio

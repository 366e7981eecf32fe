//! web-sdk

//! Signed tokens: their verification, scopes, keys and expiry.

mod access_control;
mod algorithms;
mod caller;
#[cfg(unix)]
mod denied_users;
mod issuers;
mod jwks_tls;
mod key_rotation;
mod mock_issuer;
mod protected_routes;
mod query_scope;
mod redaction;
mod refused_tokens;
mod resource_metadata;
mod startup_errors;
mod token_expiry;
mod token_renewal;
mod users;

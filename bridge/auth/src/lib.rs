//! Authentication: which realm of the bridge a token belongs to, and what it grants.
//!
//! 1. [`bearer_token`] finds the token of a request.
//! 2. [`Authenticator`] checks it. [`opaque`] compares opaque tokens by their hashes; [`jwt`]
//!    verifies signed tokens of each [`trusted_issuer`]: [`algorithm`] has the algorithms,
//!    [`verification_key`] the keys, which [`jwk`] parses and [`jwks`] fetches, [`claims`] validates
//!    the claims of a token, [`claim_scopes`] finds the scopes that they grant, and
//!    [`verified_cache`] caches the tokens that were valid.
//! 3. The result is a [`Principal`]: its realm ([`RealmId`]), subject, [`Scopes`] and expiry. One on
//!    the [`DenyList`] is refused.
//!
//! An agent that answers a query has a [`query_token`] instead, which is valid until the query
//! ends. Tokens are hashed on arrival, and no `Debug` output and no error contains one.

pub mod algorithm;
mod base64url;
mod bearer;
pub mod claim_scopes;
pub mod claims;
mod deny_list;
mod error;
pub mod jwk;
pub mod jwks;
pub mod jwt;
mod jwt_settings;
pub mod opaque;
mod principal;
pub mod query_token;
mod realm_id;
mod scopes;
mod tokens;
pub mod trusted_issuer;
pub mod verification_key;
pub mod verified_cache;

pub use bearer::bearer_token;
pub use deny_list::{Denial, DenyList, DenyListFull, MAX_DENIALS, unix_seconds};
pub use error::AuthError;
pub use jwt::KeySetStatus;
pub use jwt_settings::JwtSettings;
pub use principal::{InsufficientScope, Principal};
pub use query_token::{QueryToken, is_query_token};
pub use realm_id::RealmId;
pub use scopes::{Scope, Scopes};
pub use tokens::{Authenticator, TokenChanges};

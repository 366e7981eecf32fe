//! Stored secrets: the tokens that sources of tools and MCP servers need, of the agent or of a user.
//!
//! 1. [`cipher`] encrypts under the [`master_key`], which is never in the same file as the secrets.
//! 2. [`encrypted_secret`] is an entry of the file: bound to its name and its user.
//! 3. [`store_file`] is the text of the file, which as a whole is also bound to the master key, so
//!    that a removed entry is noticed. An older copy of the whole file is not recognized.
//! 4. [`private_file`] reads, locks and replaces files that no other user may read.
//! 5. [`store`] finds and changes secrets, also while other processes change them.
//! 6. [`redactor`] replaces the values in texts, in each of their [`encoded_forms`].
//!    [`checks`] validates names, users and values.
//! 7. [`commands`] has the actions of `mcp-web agent secrets …`.
#![warn(missing_docs)]

mod checks;
mod cipher;
mod commands;
mod encoded_forms;
mod encrypted_secret;
mod error;
mod limits;
mod master_key;
mod private_file;
mod redactor;
mod secret_text;
mod store;
mod store_file;
#[cfg(test)]
mod tests;

pub use commands::{generate_key, list_secrets, remove_secret, rotate_key, set_secret};
pub use error::SecretsError;
pub use master_key::{MASTER_KEY_VARIABLE, MasterKey};
pub use secret_text::SecretText;
pub use store::SecretStore;

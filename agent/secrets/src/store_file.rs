//! The text of a file of secrets: JSON, with an authentication tag over all of it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use sha2::{Digest, Sha256};

use super::cipher::Ciphertext;
use super::encrypted_secret::{EncryptedSecret, FORMAT, push_part};
use super::error::SecretsError;
use super::limits::{MAX_FILE_BYTES, MAX_SECRETS};
use super::master_key::{KeyId, MasterKey};

/// The first part of the data that the authentication tag of a file covers.
const CONTEXT: &[u8] = b"mcp-web-agent secrets: file";

/// The part of a file that every version has.
#[derive(Deserialize)]
struct FileFormat {
    format: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileContent {
    format: u32,
    key_id: KeyId,
    /// An empty text, encrypted so that its authentication tag covers all secrets.
    authentication: Ciphertext,
    /// Sorted by name and user, each pair at most once.
    secrets: Vec<EncryptedSecret>,
}

/// Parses a file, and checks that a holder of the key has written it. Errors name `path`.
pub(super) fn parse(
    bytes: &[u8],
    key: &MasterKey,
    path: &Path,
) -> Result<Vec<EncryptedSecret>, SecretsError> {
    let malformed = |problem: String| SecretsError::Malformed(path.to_owned(), problem);
    let json_error = |error: serde_json::Error| malformed(describe(&error));
    let FileFormat { format } = serde_json::from_slice(bytes).map_err(json_error)?;
    if format != FORMAT {
        return Err(SecretsError::UnknownFormat(path.to_owned(), format));
    }
    let content: FileContent = serde_json::from_slice(bytes).map_err(json_error)?;
    if content.key_id != key.id() {
        return Err(SecretsError::OtherKey {
            path: path.to_owned(),
            file_key: content.key_id,
            given_key: key.id(),
        });
    }
    let secrets = content.secrets;
    let data = authenticated_data(&secrets);
    if key.decrypt(&content.authentication, &data).is_none() {
        return Err(SecretsError::Changed(path.to_owned()));
    }
    // The tag is right, so a program with the key has written the entry: this one has a bug.
    if secrets.len() > MAX_SECRETS
        || !secrets.iter().all(EncryptedSecret::is_well_formed)
        || !secrets.is_sorted_by(|one, next| one.owner() < next.owner())
    {
        return Err(malformed("an entry in it is invalid".to_owned()));
    }
    Ok(secrets)
}

/// Returns the text of a file. Errors name `path`.
pub(super) fn to_bytes(
    secrets: &[EncryptedSecret],
    key: &MasterKey,
    path: &Path,
) -> Result<Vec<u8>, SecretsError> {
    let content = FileContent {
        format: FORMAT,
        key_id: key.id(),
        authentication: key
            .encrypt(b"", &authenticated_data(secrets))
            .map_err(SecretsError::NoRandomness)?,
        secrets: secrets.to_vec(),
    };
    let mut bytes = serde_json::to_vec_pretty(&content)
        .map_err(|error| SecretsError::Malformed(path.to_owned(), describe(&error)))?;
    bytes.push(b'\n');
    if bytes.len() > MAX_FILE_BYTES {
        return Err(SecretsError::FileFull(path.to_owned()));
    }
    Ok(bytes)
}

/// Returns the data that the authentication tag of a file covers: a hash of all secrets.
fn authenticated_data(secrets: &[EncryptedSecret]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for secret in secrets {
        let mut data = Vec::new();
        push_part(&mut data, &secret.associated_data());
        push_part(&mut data, &secret.value.nonce);
        push_part(&mut data, &secret.value.ciphertext);
        hash.update(&data);
    }
    let mut data = Vec::new();
    push_part(&mut data, CONTEXT);
    push_part(&mut data, &FORMAT.to_be_bytes());
    push_part(&mut data, &hash.finalize());
    data
}

/// Describes where a text is malformed. The messages of the parser are not used: they quote the text,
/// which may be a secret if the path is that of another file.
fn describe(error: &serde_json::Error) -> String {
    let problem = match error.classify() {
        Category::Eof => "it ends too early",
        Category::Syntax => "this is not JSON",
        Category::Data | Category::Io => "a field is invalid, missing or unknown",
    };
    format!(
        "line {}, column {}: {problem}",
        error.line(),
        error.column()
    )
}

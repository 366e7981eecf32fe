//! The proof of a bridge that it has the secret of the user.

use bridge_edge::derive_key;
use bridge_settings::Secret;
use uuid::Uuid;

/// The route of the proof, before a slash and the challenge.
pub(super) const ROUTE: &str = "started-bridge";

/// The beginning of a proof, by which it is recognized.
const PREFIX: &str = "mcp-web-proof ";

/// Returns a random text for which a bridge returns the proof.
pub(super) fn challenge() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Returns the proof for a challenge.
pub(super) fn proof(secret: &Secret, challenge: &str) -> String {
    let key = derive_key(secret, &format!("{ROUTE} {challenge}"));
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{PREFIX}{digits}")
}

/// Whether an answer is the proof of a bridge, with this secret or another.
pub(super) fn is_proof(answer: &str) -> bool {
    answer.starts_with(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_for_one_challenge_and_one_secret() {
        let secret = Secret::random();
        let (one, other) = (challenge(), challenge());
        assert_eq!(proof(&secret, &one), proof(&secret, &one));
        assert_ne!(proof(&secret, &one), proof(&secret, &other));
        assert_ne!(proof(&secret, &one), proof(&Secret::random(), &one));
        assert!(is_proof(&proof(&secret, &one)));
        assert!(!proof(&secret, &one).contains(secret.expose()));
    }
}

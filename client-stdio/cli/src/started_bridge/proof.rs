//! The proofs of a bridge, and of a program that requests it to end, that they have the secret of the user.

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
    format!("{PREFIX}{}", keyed_digits(secret, ROUTE, challenge))
}

/// Returns the request to end for a challenge, which is not a proof of a bridge.
pub(super) fn end_request(secret: &Secret, challenge: &str) -> String {
    keyed_digits(secret, "end-of-started-bridge", challenge)
}

fn keyed_digits(secret: &Secret, purpose: &str, challenge: &str) -> String {
    let key = derive_key(secret, &format!("{purpose} {challenge}"));
    key.iter().map(|byte| format!("{byte:02x}")).collect()
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
        assert!(!proof(&secret, &one).ends_with(&end_request(&secret, &one)));
        assert_ne!(end_request(&secret, &one), end_request(&secret, &other));
    }
}

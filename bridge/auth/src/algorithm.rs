//! The algorithms with which tokens may be signed.

use std::str::FromStr;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk};

/// The algorithms of RFC 7518 and RFC 8037 that a token may be signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Hs256,
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    /// All algorithms.
    const ALL: [Self; 4] = [Self::Hs256, Self::Rs256, Self::Es256, Self::EdDsa];

    /// The name of the algorithm, as in `alg`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Returns the names of all algorithms as an error lists them.
    pub fn alternatives() -> String {
        let [others @ .., last] = Self::ALL.map(Self::as_str);
        format!("{} or {last}", others.join(", "))
    }

    /// Returns the only algorithm for which a key of this kind is used.
    pub fn from_jwk(jwk: &Jwk) -> Option<Self> {
        match &jwk.algorithm {
            AlgorithmParameters::OctetKey(_) => Some(Self::Hs256),
            AlgorithmParameters::RSA(_) => Some(Self::Rs256),
            AlgorithmParameters::EllipticCurve(ec) if ec.curve == EllipticCurve::P256 => {
                Some(Self::Es256)
            }
            AlgorithmParameters::OctetKeyPair(ed) if ed.curve == EllipticCurve::Ed25519 => {
                Some(Self::EdDsa)
            }
            _ => None,
        }
    }

    /// The algorithm as the `jsonwebtoken` crate names it.
    pub const fn to_jsonwebtoken(self) -> jsonwebtoken::Algorithm {
        match self {
            Self::Hs256 => jsonwebtoken::Algorithm::HS256,
            Self::Rs256 => jsonwebtoken::Algorithm::RS256,
            Self::Es256 => jsonwebtoken::Algorithm::ES256,
            Self::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        }
    }
}

impl FromStr for Algorithm {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.as_str() == name)
            .ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_algorithms_are_listed_and_parsed_by_name() {
        assert_eq!(Algorithm::alternatives(), "HS256, RS256, ES256 or EdDSA");
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.as_str().parse(), Ok(algorithm));
        }
        assert_eq!("none".parse::<Algorithm>(), Err(()));
    }
}

//! The claims of a signed token (RFC 7519 section 4.1): their validation, and what they grant.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bridge_protocol::ErrorCode;
use serde_json::{Map, Value};

use crate::claim_scopes::{ScopeRules, find_claim};
use crate::error::AuthError;
use crate::principal::Principal;
use crate::realm_id::RealmId;

/// The requirements of the operator for the claims.
#[derive(Debug)]
pub struct ClaimRules {
    pub issuer: String,
    pub audience: Vec<String>,
    pub leeway: Duration,
    /// The claim with the id of the subject.
    pub subject_claim: String,
    pub roles_claim: String,
    pub scopes: ScopeRules,
}

impl ClaimRules {
    /// Validates the claims of a token whose signature is valid.
    pub fn validate(
        &self,
        claims: &Map<String, Value>,
        now: SystemTime,
    ) -> Result<Principal, AuthError> {
        let text = |name| claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(&self.issuer) {
            return Err(unknown_issuer());
        }
        let audience = claims.get("aud").map(string_list).unwrap_or_default();
        let is_own = |audience: &String| {
            let mut own = self.audience.iter();
            own.any(|own| without_slash(own) == without_slash(audience))
        };
        if !audience.iter().any(is_own) {
            return Err(invalid_token("it is for another audience (`aud`)"));
        }
        let not_before = parse_numeric_date(claims, "nbf")?;
        if not_before.is_some_and(|not_before| not_before > now + self.leeway) {
            return Err(invalid_token("it is not valid yet (`nbf`)"));
        }
        let expires = parse_numeric_date(claims, "exp")?
            .ok_or_else(|| invalid_token("it has no end (`exp`)"))?;
        let expires = expires + self.leeway;
        if expires <= now {
            return Err(AuthError {
                code: ErrorCode::TokenExpired,
                message: "the token has expired: come back with a fresh one".to_owned(),
            });
        }
        let sub = find_claim(claims, &self.subject_claim).and_then(Value::as_str);
        let sub = sub.filter(|sub| !sub.is_empty()).ok_or_else(|| {
            invalid_token(&format!("it has no subject (`{}`)", self.subject_claim))
        })?;
        Ok(Principal {
            realm: RealmId::from_subject(&self.issuer, sub),
            sub: Some(sub.to_owned()),
            roles: self.roles(claims),
            scopes: self.scopes.granted_by(claims),
            expires: Some(expires),
            query: None,
        })
    }

    /// Returns the roles of the subject. A string contains roles separated by spaces; in a list, each
    /// string is one role.
    fn roles(&self, claims: &Map<String, Value>) -> Vec<String> {
        match find_claim(claims, &self.roles_claim) {
            Some(Value::String(words)) => {
                let words = words.split(' ').filter(|word| !word.is_empty());
                words.map(str::to_owned).collect()
            }
            roles => roles.map(string_list).unwrap_or_default(),
        }
    }
}

/// The error for a token whose issuer is not configured.
pub(crate) fn unknown_issuer() -> AuthError {
    invalid_token("its issuer (`iss`) is not one that is configured")
}

/// Removes a slash at the end of an audience. Clients and authorization servers add one to a URL
/// without a path, and clients are configured with one after a path.
fn without_slash(audience: &str) -> &str {
    audience.strip_suffix('/').unwrap_or(audience)
}

fn invalid_token(why: &str) -> AuthError {
    AuthError::invalid(format!(
        "the token is not accepted: {why}. Ask its issuer for one that is meant for this bridge"
    ))
}

/// Returns a string, or the strings of a list.
fn string_list(value: &Value) -> Vec<String> {
    let list = match value {
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    list.iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Parses a NumericDate: seconds since 1970, possibly with a fraction.
fn parse_numeric_date(
    claims: &Map<String, Value>,
    name: &str,
) -> Result<Option<SystemTime>, AuthError> {
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let seconds = value
        .as_f64()
        .filter(|seconds| *seconds <= MAX_UNIX_SECONDS);
    let seconds = seconds.ok_or_else(|| invalid_token(&format!("`{name}` is not a time")))?;
    let since = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default();
    Ok(Some(UNIX_EPOCH + since))
}

/// The end of the year 9999. Not every clock can represent later times.
const MAX_UNIX_SECONDS: f64 = 253_402_300_799.0;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Scope, Scopes};

    const NOW: u64 = 1_000_000;

    fn rules() -> ClaimRules {
        ClaimRules {
            issuer: "https://id.example".to_owned(),
            audience: vec!["bridge".to_owned(), "other".to_owned()],
            leeway: Duration::from_secs(30),
            subject_claim: "sub".to_owned(),
            roles_claim: "roles".to_owned(),
            scopes: ScopeRules {
                claims: vec!["scope".to_owned()],
                ..ScopeRules::default()
            },
        }
    }

    fn claims() -> Value {
        json!({ "iss": "https://id.example", "aud": "bridge", "sub": "ada", "exp": NOW + 60 })
    }

    fn validate(rules: &ClaimRules, claims: &Value) -> Result<Principal, AuthError> {
        let now = UNIX_EPOCH + Duration::from_secs(NOW);
        rules.validate(claims.as_object().unwrap(), now)
    }

    fn with_claim(name: &str, value: Value) -> Value {
        let mut claims = claims();
        claims[name] = value;
        claims
    }

    #[test]
    fn the_realm_comes_from_issuer_and_subject() {
        let ada = validate(&rules(), &claims()).unwrap();
        assert_eq!(ada.sub.as_deref(), Some("ada"));
        assert_eq!(ada.scopes, Scopes::default());
        let end = UNIX_EPOCH + Duration::from_secs(NOW + 60 + 30);
        assert_eq!(ada.expires, Some(end));
        let again = validate(&rules(), &with_claim("jti", json!("another token"))).unwrap();
        assert_eq!(again.realm, ada.realm);
        let eve = validate(&rules(), &with_claim("sub", json!("eve"))).unwrap();
        assert_ne!(eve.realm, ada.realm);
        let mut elsewhere = rules();
        elsewhere.issuer = "https://else.example".to_owned();
        let mut by_oid = rules();
        by_oid.subject_claim = "oid".to_owned();
        let error = validate(&by_oid, &claims()).unwrap_err();
        assert!(error.message.contains("`oid`"), "{}", error.message);
        let same_id = validate(&by_oid, &with_claim("oid", json!("ada"))).unwrap();
        assert_eq!(same_id.realm, ada.realm);
        let namesake = validate(
            &elsewhere,
            &with_claim("iss", json!("https://else.example")),
        )
        .unwrap();
        assert_ne!(namesake.realm, ada.realm);
    }

    #[test]
    fn an_invalid_or_missing_claim_is_named_in_the_error() {
        use ErrorCode::{InvalidAuthentication as Invalid, TokenExpired as Expired};
        let cases = [
            ("iss", json!("https://id.example/"), "`iss`", Invalid),
            ("iss", json!(["https://id.example"]), "`iss`", Invalid),
            ("aud", json!("elsewhere"), "`aud`", Invalid),
            ("aud", json!([]), "`aud`", Invalid),
            ("sub", json!(""), "`sub`", Invalid),
            ("sub", json!(7), "`sub`", Invalid),
            ("exp", json!("tomorrow"), "`exp`", Invalid),
            ("exp", json!(1e300), "`exp`", Invalid),
            ("exp", json!(NOW - 30), "expired", Expired),
            ("exp", json!(-5), "expired", Expired),
            ("nbf", json!(NOW + 31), "`nbf`", Invalid),
            ("nbf", json!([]), "`nbf`", Invalid),
        ];
        for (name, value, word, code) in cases {
            let refusal = validate(&rules(), &with_claim(name, value.clone())).unwrap_err();
            assert_eq!(refusal.code, code, "{name} {value}");
            assert!(refusal.message.contains(word), "{}", refusal.message);
        }
        for name in ["iss", "aud", "sub", "exp"] {
            let mut claims = claims();
            claims.as_object_mut().unwrap().remove(name);
            let refusal = validate(&rules(), &claims).unwrap_err();
            assert!(refusal.message.contains(name), "{}", refusal.message);
        }
    }

    #[test]
    fn a_slash_at_the_end_of_an_audience_does_not_count() {
        for (own, audience, is_valid) in [
            ("https://h.example", "https://h.example/", true),
            ("https://h.example/mcp/", "https://h.example/mcp", true),
            ("https://h.example", "https://h.example/mcp", false),
            ("https://h.example", "https://h.example//", false),
        ] {
            let mut rules = rules();
            rules.audience = vec![own.to_owned()];
            let validated = validate(&rules, &with_claim("aud", json!([audience])));
            assert_eq!(validated.is_ok(), is_valid, "{own} {audience}");
        }
    }

    #[test]
    fn leeway_applies_to_exp_and_nbf() {
        for (name, value) in [("exp", NOW as f64 - 29.5), ("nbf", NOW as f64 + 29.5)] {
            assert!(
                validate(&rules(), &with_claim(name, json!(value))).is_ok(),
                "{name}"
            );
        }
        let strict = ClaimRules {
            leeway: Duration::ZERO,
            ..rules()
        };
        assert!(validate(&strict, &with_claim("exp", json!(NOW))).is_err());
        assert!(validate(&strict, &with_claim("nbf", json!(NOW + 1))).is_err());
    }

    #[test]
    fn scopes_and_roles_are_arrays_or_space_separated() {
        let page_only: Scopes = [Scope::Page].into_iter().collect();
        let mut rules = rules();
        rules.scopes.default = page_only;
        let scopes = |value| {
            validate(&rules, &with_claim("scope", value))
                .unwrap()
                .scopes
        };
        let both: Scopes = Scope::FOR_CLIENTS.into_iter().collect();
        assert_eq!(scopes(json!("tools:read openid tools:call")), both);
        assert_eq!(scopes(json!(["tools:read", "tools:call"])), both);
        // A claim that grants nothing differs from an absent one.
        assert_eq!(scopes(json!("")), Scopes::default());
        assert_eq!(scopes(json!(7)), Scopes::default());
        assert_eq!(validate(&rules, &claims()).unwrap().scopes, page_only);

        let roles = |name: &str, claims: &Value| {
            let rules = ClaimRules {
                roles_claim: name.to_owned(),
                ..self::rules()
            };
            validate(&rules, claims).unwrap().roles
        };
        let listed = with_claim("roles", json!(["team lead", "editor", 7]));
        assert_eq!(roles("roles", &listed), ["team lead", "editor"]);
        let words = with_claim("roles", json!("lead  editor"));
        assert_eq!(roles("roles", &words), ["lead", "editor"]);
        let url = with_claim("https://app.example/roles", json!(["editor"]));
        assert_eq!(roles("https://app.example/roles", &url), ["editor"]);
        let inside = with_claim("realm_access", json!({ "roles": ["editor"] }));
        assert_eq!(roles("/realm_access/roles", &inside), ["editor"]);
        assert!(roles("/realm_access/none", &inside).is_empty());
        assert!(roles("roles", &claims()).is_empty());
    }
}

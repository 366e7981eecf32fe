//! The scopes that the claims of a token grant. Providers name the claims and their values
//! differently, so both can be configured.

use serde_json::{Map, Value};

use crate::scopes::{Scope, Scopes};

/// Finds a claim by its name, with its dots and slashes. If there is no such claim and the name begins
/// with a slash, it is a JSON Pointer (RFC 6901).
pub(crate) fn find_claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let inside = || {
        let path = name.strip_prefix('/')?;
        let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
        let first = first.replace("~1", "/").replace("~0", "~");
        claims.get(&first)?.pointer(rest)
    };
    claims.get(name).or_else(inside)
}

/// Which claims grant scopes, and what their values mean.
#[derive(Debug, Default)]
pub struct ScopeRules {
    /// The names of the claims, all of which count.
    pub claims: Vec<String>,
    /// The scopes of values that are not names of scopes.
    pub map: Vec<(String, Scope)>,
    /// The scopes of a token without any of the claims.
    pub default: Scopes,
}

impl ScopeRules {
    /// The scopes of a token.
    pub fn granted_by(&self, claims: &Map<String, Value>) -> Scopes {
        let found = self.claims.iter();
        let mut found = found.filter_map(|name| find_claim(claims, name)).peekable();
        if found.peek().is_none() {
            return self.default;
        }
        found
            .flat_map(values)
            .flat_map(|value| self.scopes_of(value))
            .collect()
    }

    fn scopes_of(&self, value: &str) -> impl Iterator<Item = Scope> {
        let mapped = self.map.iter().filter(move |(from, _)| from == value);
        let mapped = mapped.map(|(_, scope)| *scope);
        Scope::from_name(value).into_iter().chain(mapped)
    }
}

/// The values of a claim: the words of a string (RFC 6749 section 3.3), or the strings of a list, which
/// may have spaces.
fn values(claim: &Value) -> Vec<&str> {
    match claim {
        Value::String(text) => text.split(' ').collect(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Parses `VALUE=SCOPE`. A value may contain `=`, and a scope does not.
pub fn parse_scope_mapping(text: &str) -> Result<(String, Scope), String> {
    let (value, scope) = text.rsplit_once('=').unwrap_or_default();
    match Scope::from_name(scope) {
        Some(scope) if !value.is_empty() => Ok((value.to_owned(), scope)),
        _ => Err(format!(
            "allowed are a value of a claim, = and a scope, of {}",
            Scope::ALL.map(Scope::as_str).join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The provider, the claims of its tokens, the configured claims and mapping, and the scopes that
    /// follow.
    type ScopeCase<'a> = (&'a str, Value, &'a [&'a str], &'a [&'a str], &'a str);

    #[test]
    fn the_tokens_of_common_providers_grant_their_scopes() {
        let id = "6f8e2d1c";
        let api = format!("api://{id}/tools:read");
        let api_mapping = format!("{api}=tools:read");
        let cases: [ScopeCase<'_>; 9] = [
            (
                "Entra, delegated",
                json!({ "scp": "Tools.Read Tools.Call", "roles": ["Staff"] }),
                &["scope", "scp"],
                &["Tools.Read=tools:read", "Tools.Call=tools:call"],
                "tools:read tools:call",
            ),
            (
                "Entra, an app without a user",
                json!({ "roles": ["Bridge.Reader", "Other"] }),
                &["scp", "roles"],
                &["Bridge.Reader=tools:read"],
                "tools:read",
            ),
            (
                "an identifier URI in front of the scope",
                json!({ "scope": format!("openid {api}") }),
                &["scope"],
                &[api_mapping.as_str()],
                "tools:read",
            ),
            (
                "Auth0 with RBAC",
                json!({ "scope": "openid profile", "permissions": ["tools:read", "query"] }),
                &["permissions"],
                &[],
                "tools:read query",
            ),
            (
                "Auth0 without RBAC",
                json!({ "scope": "openid page", "permissions": [] }),
                &["scope"],
                &[],
                "page",
            ),
            (
                "Okta",
                json!({ "scp": ["openid", "tools:read", "tools:call"] }),
                &["scope", "scp"],
                &[],
                "tools:read tools:call",
            ),
            (
                "Keycloak, client roles",
                json!({ "scope": "profile email",
                        "resource_access": { "bridge": { "roles": ["page user"] } } }),
                &["scope", "/resource_access/bridge/roles"],
                &["page user=query", "page user=tools:call"],
                "query tools:call",
            ),
            (
                "oidc-provider",
                json!({ "scope": "openid tools:read" }),
                &["scope", "scp"],
                &[],
                "tools:read",
            ),
            ("no claim", json!({}), &["scope", "scp"], &[], "query"),
        ];
        for (provider, claims, names, mapping, expected) in cases {
            let mapping = mapping.iter().map(|entry| parse_scope_mapping(entry));
            let rules = ScopeRules {
                claims: names.iter().copied().map(str::to_owned).collect(),
                map: mapping.collect::<Result<_, _>>().unwrap(),
                default: [Scope::Query].into_iter().collect(),
            };
            let granted = rules.granted_by(claims.as_object().unwrap());
            let expected = expected.split(' ').filter_map(Scope::from_name).collect();
            assert_eq!(granted, expected, "{provider}");
        }
    }

    #[test]
    fn a_claim_has_its_name_or_a_json_pointer() {
        let claims = json!({ "a": { "b/c": 1 }, "https://x.test/d": { "e~f": 2 }, "/g/h": 3 });
        let claims = claims.as_object().unwrap();
        for (name, expected) in [
            ("https://x.test/d", Some(json!({ "e~f": 2 }))),
            ("/a", Some(json!({ "b/c": 1 }))),
            ("/a/b~1c", Some(json!(1))),
            ("/https:~1~1x.test~1d/e~0f", Some(json!(2))),
            ("/g/h", Some(json!(3))),
            ("a/b~1c", None),
            ("/a/b", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(find_claim(claims, name), expected.as_ref(), "{name}");
        }
    }

    #[test]
    fn a_mapping_names_a_value_and_a_scope() {
        let entry = parse_scope_mapping("api://x?a=b/read=tools:read");
        assert_eq!(entry, Ok(("api://x?a=b/read".to_owned(), Scope::ToolsRead)));
        for bad in ["", "=page", "page", "a=", "a=tools", "page=a"] {
            assert!(parse_scope_mapping(bad).is_err(), "{bad}");
        }
    }
}

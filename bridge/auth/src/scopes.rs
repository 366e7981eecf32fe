//! The scopes of tokens.

use std::fmt;

/// A scope that a token can grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Connect as a page: register tools and answer calls.
    Page,
    /// List what pages offer, read resources and request completions.
    ToolsRead,
    /// Call tools.
    ToolsCall,
    /// Send queries to an agent.
    Query,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Scope; 4] = [
        Scope::Page,
        Scope::ToolsRead,
        Scope::ToolsCall,
        Scope::Query,
    ];

    /// The scopes of MCP clients.
    pub const FOR_CLIENTS: [Scope; 2] = [Scope::ToolsRead, Scope::ToolsCall];

    /// The name of the scope, as in a `scope` claim.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Page => "page",
            Scope::ToolsRead => "tools:read",
            Scope::ToolsCall => "tools:call",
            Scope::Query => "query",
        }
    }

    /// The scope with this name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The set of scopes of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// The set of all scopes.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Whether the set contains a scope.
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & bit(scope) != 0
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().map(bit).fold(0, |all, bit| all | bit))
    }
}

fn bit(scope: Scope) -> u8 {
    1 << scope as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_scope_names_grant_nothing() {
        let scopes = |words: &str| words.split(' ').filter_map(Scope::from_name).collect();
        let some: Scopes = scopes("openid tools:read  page tools:Call");
        let granted = Scope::ALL.map(|scope| some.contains(scope));
        assert_eq!(granted, [true, true, false, false]);
        assert_eq!(scopes(""), Scopes::default());
        assert_eq!(scopes("page tools:read tools:call query"), Scopes::all());
    }
}

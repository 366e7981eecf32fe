//! Profiles: which callers may use which tools of sources, and how.

use std::collections::BTreeMap;

use bridge_protocol::QueryCaller;
use serde::Deserialize;

use crate::approval::AskFor;
use crate::class::{ToolClass, ToolEffect};
use crate::name_patterns::{NamePatterns, literal_beginning};
use crate::offered_tool::OfferedTool;
use crate::rate::{Rate, UserRateLimiter};

/// A profile in the form of the tools file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileEntry {
    roles: Option<Vec<String>>,
    subs: Option<Vec<String>>,
    apps: Option<Vec<String>>,
    origins: Option<Vec<String>>,
    bridges: Option<Vec<String>>,
    #[serde(default)]
    self_made: bool,
    system: Option<String>,
    model: Option<String>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    grant: Vec<Permission>,
    #[serde(default)]
    ask: Vec<AskFor>,
    #[serde(default)]
    rate: BTreeMap<Permission, Rate>,
}

/// A permission that a profile grants: an effect of calls, or that they reach beyond the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Permission {
    Read,
    Write,
    Destructive,
    OpenWorld,
}

impl Permission {
    fn of(effect: ToolEffect) -> Self {
        match effect {
            ToolEffect::Read => Self::Read,
            ToolEffect::Write => Self::Write,
            ToolEffect::Destructive => Self::Destructive,
        }
    }
}

/// A profile of the configuration.
#[derive(Debug)]
pub struct ToolProfile {
    /// The name, by which a query can request the profile.
    pub name: String,
    /// Additional text for the system prompt of its queries.
    pub system: Option<String>,
    /// The model that answers its queries, if it is not that of the agent.
    pub model: Option<String>,
    /// The kinds of tools whose calls a person must approve.
    pub(super) ask: Vec<AskFor>,
    roles: Option<Vec<String>>,
    subs: Option<Vec<String>>,
    apps: Option<Vec<String>>,
    origins: Option<Vec<String>>,
    bridges: Option<Vec<String>>,
    admits_self_made: bool,
    allow: NamePatterns,
    deny: NamePatterns,
    grant: Vec<Permission>,
    rates: Vec<(Permission, UserRateLimiter)>,
}

impl ToolProfile {
    /// Checks the entry of the file.
    pub fn new(name: &str, entry: ProfileEntry) -> Result<Self, String> {
        let rates = entry.rate.into_iter();
        Ok(Self {
            name: name.to_owned(),
            system: entry.system,
            model: entry.model,
            ask: entry.ask,
            roles: entry.roles,
            subs: entry.subs,
            apps: entry.apps,
            origins: entry.origins,
            bridges: entry.bridges,
            admits_self_made: entry.self_made,
            allow: NamePatterns::parse("allow", &entry.allow)?,
            deny: NamePatterns::parse("deny", &entry.deny)?,
            grant: entry.grant,
            rates: rates
                .map(|(permission, rate)| (permission, UserRateLimiter::new(rate)))
                .collect(),
        })
    }

    /// Returns whether the profile is for this caller of this bridge: each condition that it has must
    /// hold.
    pub(super) fn admits(&self, bridge: &str, caller: &QueryCaller) -> bool {
        let is_among = |allowed: &Option<Vec<String>>, actual: &[&str]| {
            let Some(allowed) = allowed else {
                return true;
            };
            allowed.iter().any(|it| actual.contains(&it.as_str()))
        };
        let roles: Vec<&str> = caller.roles.iter().map(String::as_str).collect();
        (self.admits_self_made || !caller.self_made)
            && is_among(&self.bridges, &[bridge])
            && is_among(&self.roles, &roles)
            && is_among(&self.subs, caller.sub.as_deref().as_slice())
            && is_among(&self.origins, caller.origin.as_deref().as_slice())
            && is_among(&self.apps, &[&caller.app])
    }

    /// Describes the callers of the profile.
    pub(super) fn conditions(&self) -> String {
        let conditions = [
            ("roles", &self.roles),
            ("subs", &self.subs),
            ("apps", &self.apps),
            ("origins", &self.origins),
            ("bridges", &self.bridges),
        ];
        let conditions = conditions.iter().filter_map(|(key, allowed)| {
            let allowed = allowed.as_ref()?;
            Some(format!(", with {key} {allowed:?}"))
        });
        let tokens = if self.admits_self_made {
            "all tokens, also those that pages have made themselves"
        } else {
            "signed tokens"
        };
        format!("{tokens}{}", conditions.collect::<String>())
    }

    /// Returns whether calls of this tool are allowed.
    pub(super) fn allows(&self, offered: &OfferedTool) -> bool {
        self.allows_name(&offered.full_name, offered.tool.class)
    }

    /// Returns whether the profile could allow tools of a source.
    pub(super) fn can_allow(&self, source: &str) -> bool {
        self.allow.can_match_beginning(&format!("{source}-"))
    }

    /// Returns whether calls of a tool with this name, `<source>-<tool>`, are allowed.
    fn allows_name(&self, full_name: &str, class: ToolClass) -> bool {
        self.grant.contains(&Permission::of(class.effect))
            && (!class.is_open_world || self.grant.contains(&Permission::OpenWorld))
            && self.allow.is_match(full_name)
            && !self.deny.is_match(full_name)
    }

    /// Counts a call of a user. If a rate is exceeded, the time after which a call is allowed is
    /// returned.
    pub(super) fn check_rates(
        &self,
        user: &str,
        class: ToolClass,
    ) -> Result<(), std::time::Duration> {
        let effect = Permission::of(class.effect);
        for (permission, limiter) in &self.rates {
            let is_open_world = *permission == Permission::OpenWorld && class.is_open_world;
            // A destructive call counts as a change, unless it has its own rate.
            let is_change = *permission == Permission::Write
                && effect == Permission::Destructive
                && !self.has_rate(Permission::Destructive);
            if *permission == effect || is_open_world || is_change {
                limiter.check(user)?;
            }
        }
        Ok(())
    }

    fn has_rate(&self, permission: Permission) -> bool {
        self.rates.iter().any(|(it, _)| *it == permission)
    }

    /// Returns warnings about the patterns that mean no tool. `tools` are the full names of the
    /// known ones, and `unknown` the sources of which no tool is known yet. Patterns of `deny` for
    /// all sources, such as `*-delete_*`, may be meant for tools that are added later.
    pub fn pattern_warnings(&self, tools: &[&str], unknown: &[&str]) -> Vec<String> {
        let beginnings: Vec<_> = unknown.iter().map(|source| format!("{source}-")).collect();
        let allow = self.allow.without_match(tools, &beginnings).into_iter();
        let deny = self.deny.without_match(tools, &beginnings).into_iter();
        let deny = deny.filter(|pattern| !literal_beginning(pattern).is_empty());
        let patterns = allow
            .map(|it| ("allow", it))
            .chain(deny.map(|it| ("deny", it)));
        let name = &self.name;
        let warnings = patterns.map(|(key, pattern)| {
            format!(
                "the profile `{name}` has `{pattern}` in `{key}`, which matches no tool: names are \
                 SOURCE-TOOL, or mcp-SERVER-TOOL; `mcp-web agent --check-config` lists them"
            )
        });
        warnings.collect()
    }

    /// Returns a warning if bridges that do not exist are named, or if each of several bridges can say
    /// that its users have the names or roles that the profile is for.
    pub fn bridge_warning(&self, bridges: &[&str]) -> Option<String> {
        let name = &self.name;
        let Some(named) = &self.bridges else {
            let is_for_some = self.roles.is_some() || self.subs.is_some();
            return (is_for_some && bridges.len() > 1).then(|| {
                format!(
                    "the profile `{name}` is for `roles` or `subs` of all bridges: each of them \
                     decides who has these. Add `bridges = [\"{}\"]`",
                    bridges[0]
                )
            });
        };
        let unknown = named.iter().find(|it| !bridges.contains(&it.as_str()))?;
        Some(format!(
            "the profile `{name}` names the bridge `{unknown}` in `bridges`, but the bridges are \
             {bridges:?}"
        ))
    }

    /// Returns warnings about settings that the operator may not have intended.
    pub fn warnings(&self) -> Vec<String> {
        let name = &self.name;
        let mut warnings = Vec::new();
        let ways_out = [
            (Permission::Write, "write", AskFor::Write),
            (Permission::Destructive, "destructive", AskFor::Destructive),
            (Permission::OpenWorld, "open-world", AskFor::OpenWorld),
        ];
        let is_asked = |kind: AskFor| {
            self.ask.contains(&kind)
                || kind == AskFor::Destructive && self.ask.contains(&AskFor::Write)
        };
        let silent = ways_out
            .iter()
            .filter(|(permission, _, kind)| self.grant.contains(permission) && !is_asked(*kind));
        let silent: Vec<_> = silent.map(|(_, word, _)| format!("\"{word}\"")).collect();
        if self.grant.contains(&Permission::Read) && !silent.is_empty() {
            let silent = silent.join(", ");
            warnings.push(format!(
                "the profile `{name}` grants reading together with {silent}, without asking a \
                 person: a page or a result can make the model carry out what it has read. Add \
                 `ask = [{silent}]`"
            ));
        }
        if self.allow.is_empty() || self.grant.is_empty() {
            warnings.push(format!(
                "the profile `{name}` allows no tool: it needs `allow`, such as [\"notes-*\"], and \
                 `grant`, such as [\"read\"]"
            ));
        }
        let is_for_any_page = self.admits_self_made && self.subs.is_none() && self.roles.is_none();
        if is_for_any_page {
            warnings.push(format!(
                "the profile `{name}` is for pages with tokens that they have made themselves: \
                 whoever reaches the bridge can use its tools"
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(text: &str) -> ToolProfile {
        ToolProfile::new("p", toml::from_str(text).unwrap()).unwrap()
    }

    fn caller() -> QueryCaller {
        QueryCaller {
            user: "u".to_owned(),
            sub: Some("ada".to_owned()),
            roles: vec!["staff".to_owned(), "admin".to_owned()],
            self_made: false,
            app: "todo".to_owned(),
            app_description: None,
            origin: Some("https://todo.example".to_owned()),
            session: "s".into(),
        }
    }

    #[test]
    fn each_condition_of_a_profile_must_hold() {
        for (text, is_admitted) in [
            ("", true),
            ("roles = ['staff']", true),
            ("roles = ['guest', 'admin']", true),
            ("roles = ['guest']", false),
            ("roles = []", false),
            ("subs = ['ada']", true),
            ("subs = ['bob']", false),
            ("apps = ['todo']", true),
            ("apps = ['mail']", false),
            ("origins = ['https://todo.example']", true),
            ("origins = ['https://mail.example']", false),
            ("bridges = ['shop']", true),
            ("bridges = ['default', 'bank']", false),
            ("roles = ['staff']\nbridges = ['bank']", false),
            ("roles = ['staff']\napps = ['mail']", false),
            ("roles = ['staff']\napps = ['todo', 'mail']", true),
        ] {
            assert_eq!(
                profile(text).admits("shop", &caller()),
                is_admitted,
                "{text}"
            );
        }
        let nobody = QueryCaller {
            sub: None,
            origin: None,
            roles: Vec::new(),
            ..caller()
        };
        for text in [
            "subs = ['ada']",
            "origins = ['https://todo.example']",
            "roles = ['staff']",
        ] {
            assert!(!profile(text).admits("shop", &nobody), "{text}");
        }
    }

    #[test]
    fn a_self_made_token_is_admitted_only_if_the_profile_allows_it() {
        let self_made = QueryCaller {
            self_made: true,
            ..caller()
        };
        assert!(!profile("").admits("shop", &self_made));
        assert!(!profile("apps = ['todo']").admits("shop", &self_made));
        assert!(profile("self_made = true").admits("shop", &self_made));
        assert!(profile("self_made = true").admits("shop", &caller()));
    }

    #[test]
    fn a_tool_needs_its_name_and_its_class() {
        let class = |effect, is_open_world| ToolClass {
            effect,
            is_open_world,
        };
        let read = class(ToolEffect::Read, false);
        let staff = profile(
            "allow = ['notes-*', 'mcp-time-*']\ndeny = ['*-delete_*']\ngrant = ['read', 'destructive']",
        );
        assert!(staff.allows_name("notes-read_file", read));
        assert!(staff.allows_name("mcp-time-get", class(ToolEffect::Destructive, false)));
        assert!(!staff.allows_name("notes-write_file", class(ToolEffect::Write, false)));
        assert!(!staff.allows_name("notes-search", class(ToolEffect::Read, true)));
        assert!(!staff.allows_name("notes-delete_file", read));
        assert!(!staff.allows_name("mail-read", read));
        assert!(!profile("grant = ['read']").allows_name("notes-read_file", read));
        let web = profile("allow = ['*']\ngrant = ['read', 'open-world']");
        assert!(web.allows_name("web-search", class(ToolEffect::Read, true)));
        assert!(!profile("allow = ['*']").allows_name("notes-read_file", read));
    }

    #[test]
    fn rates_are_counted_by_class() {
        let class = |effect| ToolClass {
            effect,
            is_open_world: false,
        };
        let (read, write) = (class(ToolEffect::Read), class(ToolEffect::Write));
        let destructive = class(ToolEffect::Destructive);
        let limited = profile("rate = { read = '2/h', write = '1/h' }");
        assert!(limited.check_rates("u", read).is_ok() && limited.check_rates("u", read).is_ok());
        assert!(limited.check_rates("u", read).is_err());
        assert!(limited.check_rates("u", destructive).is_ok());
        assert!(
            limited.check_rates("u", write).is_err(),
            "a destructive call is a change"
        );
        let own = profile("rate = { write = '1/h', destructive = '1/h', open-world = '1/h' }");
        assert!(own.check_rates("u", write).is_ok() && own.check_rates("u", destructive).is_ok());
        let web = ToolClass {
            is_open_world: true,
            ..read
        };
        assert!(own.check_rates("u", read).is_ok() && own.check_rates("u", web).is_ok());
        assert!(own.check_rates("u", web).is_err());
    }

    #[test]
    fn a_profile_that_combines_reading_with_a_way_out_has_a_warning() {
        let warnings = |text: &str| profile(text).warnings().join("\n");
        let allow = "allow = ['*']\n";
        let warned = warnings(&format!("{allow}grant = ['read', 'write', 'open-world']"));
        assert!(
            warned.contains(r#"`ask = ["write", "open-world"]`"#),
            "{warned}"
        );
        let quiet = format!("{allow}grant = ['read', 'write', 'destructive']\nask = ['write']");
        assert_eq!(warnings(&quiet), "");
        assert_eq!(warnings(&format!("{allow}grant = ['read']")), "");
        assert_eq!(warnings(&format!("{allow}grant = ['write']")), "");
        assert!(warnings("grant = ['read']").contains("allows no tool"));
        let open = warnings(&format!("{allow}grant = ['read']\nself_made = true"));
        assert!(open.contains("made themselves"), "{open}");
    }

    #[test]
    fn a_profile_for_roles_of_several_bridges_has_a_warning() {
        let warning = |text: &str, bridges: &[&str]| profile(text).bridge_warning(bridges);
        let two = ["shop", "bank"];
        for text in ["roles = ['staff']", "subs = ['ada']"] {
            let warned = warning(text, &two).unwrap();
            assert!(warned.contains(r#"`bridges = ["shop"]`"#), "{warned}");
            assert_eq!(warning(text, &["default"]), None);
            let named = format!("{text}\nbridges = ['bank']");
            assert_eq!(warning(&named, &two), None);
        }
        assert_eq!(warning("", &two), None);
        let unknown = warning("bridges = ['bnak']", &two).unwrap();
        assert!(unknown.contains("`bnak`"), "{unknown}");
    }

    #[test]
    fn a_malformed_pattern_is_an_error_that_names_it() {
        let entry = toml::from_str("allow = ['notes-[']").unwrap();
        let error = ToolProfile::new("p", entry).unwrap_err();
        assert!(error.contains("`notes-[` in `allow`"), "{error}");
    }
}

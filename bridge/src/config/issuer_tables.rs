//! The issuers of a configuration file, parsed and printed: a table `[[issuers]]` for each, with the
//! settings of signed tokens (`jwt_…`, `jwks_…`) under their usual names.

use bridge_settings::{FileTables, LocatedError, SettingsTable};
use clap::{Args, Command, FromArgMatches};
use toml::Spanned;
use toml::de::DeValue;

use super::identity::Identity;

/// The issuers of a file.
#[derive(Debug, Default)]
pub(crate) struct IssuerTables(Vec<(SettingsTable, Identity)>);

impl FileTables for IssuerTables {
    const KEY: Option<&'static str> = Some("issuers");

    fn parse(value: &Spanned<DeValue<'_>>) -> Result<Self, LocatedError> {
        let tables = value.get_ref().as_array().ok_or_else(|| no_tables(value))?;
        let issuers = tables.iter().map(parse_issuer);
        issuers.collect::<Result<_, _>>().map(Self)
    }
}

fn parse_issuer(table: &Spanned<DeValue<'_>>) -> Result<(SettingsTable, Identity), LocatedError> {
    let fields = table.get_ref().as_table().ok_or_else(|| no_tables(table))?;
    let command = Identity::augment_args(Command::new("issuers"));
    let parsed = SettingsTable::parse("issuers", fields, command, is_of_issuer)?;
    let matches = parsed.matches();
    let issuer = matches.and_then(|matches| Identity::from_arg_matches(&matches));
    // Each value was checked before.
    let issuer = issuer.map_err(|error| error_at(table, error.kind().to_string()))?;
    Ok((parsed, issuer))
}

fn no_tables(value: &Spanned<DeValue<'_>>) -> LocatedError {
    let problem = "`issuers` must be tables: begin each with a line [[issuers]]";
    error_at(value, problem.to_owned())
}

impl IssuerTables {
    /// The settings of the issuers.
    pub(crate) fn issuers(&self) -> impl Iterator<Item = &Identity> {
        self.0.iter().map(|(_, issuer)| issuer)
    }

    /// Formats the tables as TOML. Secrets are replaced by a comment.
    pub(crate) fn to_toml(&self) -> String {
        let tables = self.0.iter();
        tables
            .map(|(table, _)| format!("\n[[issuers]]\n{}", table.to_toml()))
            .collect()
    }
}

/// Whether a setting of signed tokens belongs to one issuer.
fn is_of_issuer(name: &str) -> bool {
    name.starts_with("jwt_") || name.starts_with("jwks_")
}

fn error_at(value: &Spanned<DeValue<'_>>, problem: String) -> LocatedError {
    LocatedError {
        offset: value.span().start,
        problem,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bridge_settings::{ConfigFile, SettingsFileError};
    use clap::CommandFactory;

    use super::*;
    use crate::config::Config;

    fn parse(text: &str) -> Result<ConfigFile<IssuerTables>, SettingsFileError> {
        ConfigFile::parse(Path::new("bridge.toml"), text, &Config::command())
    }

    const TWO_ISSUERS: &str = "max_calls = 7\n\
        [[issuers]]\njwt_issuer = \"https://a.example\"\njwt_audience = [\"bridge\"]\n\
        jwks_url = \"https://a.example/keys\"\njwt_scope_map = [\"a,b=page\"]\n\
        [[issuers]]\njwt_issuer = \"https://b.example\"\njwt_audience = \"x,y\"\n\
        jwt_secret = \"hush-hush-hush-hush-hush-hush-hush\"\njwt_leeway = \"1s\"\n";

    #[test]
    fn each_issuer_has_separate_settings_and_the_usual_defaults() {
        let file = parse(TWO_ISSUERS).unwrap();
        let issuers: Vec<_> = file.tables().issuers().collect();
        let [one, other] = issuers[..] else {
            panic!("{issuers:?}");
        };
        assert_eq!(one.jwt_issuer.as_deref(), Some("https://a.example"));
        assert_eq!(one.jwt_scope_map, ["a,b=page"]);
        assert_eq!(one.jwt_scope_claims, ["scope", "scp"]);
        assert_eq!(one.jwt_leeway.as_secs(), 30);
        assert_eq!(other.jwt_audience, ["x", "y"]);
        assert_eq!(other.jwt_leeway.as_secs(), 1);
        assert!(other.jwt_secret.is_some() && one.jwt_secret.is_none());
    }

    #[test]
    fn printed_issuers_are_those_of_the_file_without_secrets() {
        let printed = parse(TWO_ISSUERS).unwrap().tables().to_toml();
        assert!(!printed.contains("hush"), "{printed}");
        assert!(printed.contains("# jwt_secret is set and not shown"));
        let again = parse(&printed).unwrap().tables().to_toml();
        assert_eq!(
            again,
            printed.replace("# jwt_secret is set and not shown\n", "")
        );
    }

    #[test]
    fn an_invalid_table_is_an_error_with_its_line_and_without_secrets() {
        for (text, line, parts) in [
            ("issuers = 1", 1, ["`issuers`", "[[issuers]]"]),
            (
                "[issuers]\njwt_issuer = \"a\"",
                1,
                ["`issuers`", "[[issuers]]"],
            ),
            (
                "[[issuers]]\njwt_issuers = \"a\"",
                2,
                ["in [[issuers]]: `jwt_issuers`", "`jwt_issuer`"],
            ),
            (
                "[[issuers]]\npublic_url = \"a\"",
                2,
                ["`public_url`", "is not a setting"],
            ),
            (
                "[[issuers]]\njwt_leeway = \"soon\"",
                2,
                ["`jwt_leeway` cannot be \"soon\"", "5s"],
            ),
            (
                "[[issuers]]\njwt_secret = \"hush\"",
                2,
                ["`jwt_secret` has a wrong value", "32"],
            ),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("bridge.toml:{line}: ")),
                "{text:?}: {error}"
            );
            for part in parts {
                assert!(error.contains(part), "{text:?}: {error}");
            }
            assert!(!error.contains("hush"), "{error}");
        }
    }
}

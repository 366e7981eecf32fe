//! The tables that the operator allows to read.

use serde::{Deserialize, Serialize};

/// The tables that may be read: all but those of the system, or the listed ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub(super) enum AllowedTables {
    All,
    Listed(Vec<String>),
}

/// How many tables an error or the prompt names.
const MAX_NAMED_TABLES: usize = 30;

impl TryFrom<Vec<String>> for AllowedTables {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, String> {
        if names.is_empty() {
            return Err(
                "`tables` is empty: list the tables that may be read, or write [\"*\"] \
                 for all"
                    .to_owned(),
            );
        }
        if names == ["*"] {
            return Ok(Self::All);
        }
        match names.iter().find(|name| !can_be_listed(name)) {
            Some(name) if name == "*" => {
                Err("\"*\" in `tables` must stand alone: it means all tables".to_owned())
            }
            Some(name) => Err(format!(
                "`{name}` in `tables` is not a table that can be read: name tables of your own"
            )),
            None => Ok(Self::Listed(names)),
        }
    }
}

impl From<AllowedTables> for Vec<String> {
    fn from(tables: AllowedTables) -> Self {
        match tables {
            AllowedTables::All => vec!["*".to_owned()],
            AllowedTables::Listed(names) => names,
        }
    }
}

fn can_be_listed(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let system = ["sqlite_", "pg_", "information_schema."];
    !name.is_empty() && name != "*" && !system.iter().any(|prefix| name.starts_with(prefix))
}

impl AllowedTables {
    /// Says which tables there are: the end of an error.
    pub(super) fn sentence(&self) -> String {
        let Self::Listed(names) = self else {
            return "`list_tables` lists the tables".to_owned();
        };
        let named = names.iter().take(MAX_NAMED_TABLES);
        let named: Vec<_> = named.map(|name| format!("`{name}`")).collect();
        let more = if names.len() > MAX_NAMED_TABLES {
            ", and more that `list_tables` lists"
        } else {
            ""
        };
        format!("the tables are {}{more}", named.join(", "))
    }

    /// The names that the operator has listed.
    pub(super) fn names(&self) -> &[String] {
        match self {
            Self::All => &[],
            Self::Listed(names) => names,
        }
    }
}

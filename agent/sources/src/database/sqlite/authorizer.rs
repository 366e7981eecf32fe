//! Decides about each table and function that a statement is about to use.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::schema::Schema;

/// Functions that reach beyond the tables or cannot be stopped, most of which this build does not
/// have. `json_patch` compares each key with each.
const UNAVAILABLE_FUNCTIONS: [&str; 9] = [
    "load_extension",
    "readfile",
    "writefile",
    "edit",
    "fts3_tokenizer",
    "sqlite_log",
    "json_patch",
    "jsonb_patch",
    "rtreecheck",
];

/// Tables that are functions of their arguments.
const FUNCTION_TABLES: [&str; 4] = ["json_each", "json_tree", "jsonb_each", "jsonb_tree"];

/// A table or function that a statement was not allowed to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Table(String),
    Function(String),
    /// Something else than a SELECT.
    Statement,
}

/// The rules for a statement, and the first refusal.
#[derive(Clone, Debug)]
pub(super) struct Authorizer {
    schema: Arc<Schema>,
    /// Whether views may read what is not listed.
    has_views: bool,
    refusal: Arc<Mutex<Option<Refusal>>>,
}

impl Authorizer {
    pub(super) fn new(schema: Arc<Schema>) -> Self {
        Self {
            schema,
            has_views: true,
            refusal: Arc::default(),
        }
    }

    /// Returns the rules for a database without views, with the same refusal.
    pub(super) fn without_views(&self) -> Self {
        Self {
            has_views: false,
            ..self.clone()
        }
    }

    /// Makes a connection ask for each use of a table or function.
    pub(super) fn install(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let authorizer = self.clone();
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            match authorizer.check(&context) {
                Ok(()) => Authorization::Allow,
                Err(refusal) => {
                    authorizer.record(refusal);
                    Authorization::Deny
                }
            }
        }))
    }

    /// Returns what was refused first, if anything was.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let refusal = self.refusal.lock();
        refusal.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn record(&self, refusal: Refusal) {
        let mut first = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(refusal);
    }

    fn check(&self, context: &AuthContext<'_>) -> Result<(), Refusal> {
        match context.action {
            AuthAction::Select | AuthAction::Recursive => Ok(()),
            AuthAction::Read {
                table_name,
                column_name,
            } if self.may_read(table_name, column_name, context) => Ok(()),
            AuthAction::Read { table_name, .. } => Err(Refusal::Table(table_name.to_owned())),
            AuthAction::Function { function_name }
                if has_name(&UNAVAILABLE_FUNCTIONS, function_name) =>
            {
                Err(Refusal::Function(function_name.to_owned()))
            }
            AuthAction::Function { .. } => Ok(()),
            // FTS5 asks for it to notice changes.
            AuthAction::Pragma {
                pragma_name: "data_version",
                pragma_value: None,
            } => Ok(()),
            _ => Err(Refusal::Statement),
        }
    }

    fn may_read(&self, table: &str, column: &str, context: &AuthContext<'_>) -> bool {
        if column.is_empty() {
            // SQLite asks so for each table of which only the number of rows matters: also for a
            // CTE, and for the tables of a view, without its name. `names_check` decides.
            return !is_system_table(table);
        }
        if !self.schema.has(table) {
            return has_name(&FUNCTION_TABLES, table);
        }
        // The accessor is the innermost view, or a CTE that has its name: `names_check` has found
        // that the statement itself names no table that is not listed.
        let is_view = |accessor| self.has_views && self.schema.is_view(accessor);
        self.schema.may_read(table) || context.accessor.is_some_and(is_view)
    }
}

fn has_name(names: &[&str], name: &str) -> bool {
    names.iter().any(|it| it.eq_ignore_ascii_case(name))
}

fn is_system_table(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("sqlite_") || name.starts_with("pragma_") || name == "dbstat"
}

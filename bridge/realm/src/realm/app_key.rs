//! The key of an app within a realm.

/// Identifies an app within a realm by its name and its origin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::realm) struct AppKey {
    pub(in crate::realm) name: String,
    pub(in crate::realm) origin: Option<String>,
}

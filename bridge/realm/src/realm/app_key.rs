//! The key of an app within a realm.

/// Tells the apps of a token apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::realm) struct AppKey {
    pub(in crate::realm) name: String,
    pub(in crate::realm) origin: Option<String>,
}

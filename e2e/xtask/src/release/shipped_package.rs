//! A package of another project that programs contain.

use std::path::PathBuf;

/// A crate, or a package of npm in the SDK.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShippedPackage {
    pub(super) registry: Registry,
    pub(super) name: String,
    pub(super) version: String,
    /// The licence as an SPDX expression.
    pub(super) license: String,
    /// The folder of the sources.
    pub(super) folder: PathBuf,
    /// The addresses of the packages that it uses, as [`package_url`] returns them.
    pub(super) uses: Vec<String>,
}

/// Where a package comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Registry {
    Cargo,
    Npm,
}

impl ShippedPackage {
    pub(super) fn url(&self) -> String {
        package_url(self.registry, &self.name, &self.version)
    }
}

/// Returns the address of a package in the scheme `pkg`.
pub(super) fn package_url(registry: Registry, name: &str, version: &str) -> String {
    let kind = match registry {
        Registry::Cargo => "cargo",
        Registry::Npm => "npm",
    };
    let name = name.replace('@', "%40");
    format!("pkg:{kind}/{name}@{}", version.replace('+', "%2B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_the_characters_that_the_scheme_demands() {
        let scoped = package_url(Registry::Npm, "@cfworker/json-schema", "4.1.6");
        assert_eq!(scoped, "pkg:npm/%40cfworker/json-schema@4.1.6");
        let build = package_url(Registry::Cargo, "a", "1.0.0+2");
        assert_eq!(build, "pkg:cargo/a@1.0.0%2B2");
    }
}

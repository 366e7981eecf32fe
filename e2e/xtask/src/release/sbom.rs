//! The list of all packages in the programs, in the format CycloneDX.

use serde_json::{Value, json};

use super::product::{LICENSE, NAME, REPOSITORY, VERSION};
use super::shipped_package::ShippedPackage;

/// Returns the list. It has no time and no random number, so that it is the same for the same sources.
pub(super) fn document(packages: &[ShippedPackage]) -> Value {
    let components: Vec<_> = packages.iter().map(component).collect();
    let dependencies: Vec<_> = packages
        .iter()
        .map(|one| json!({ "ref": one.url(), "dependsOn": one.uses }))
        .collect();
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": NAME,
                "name": NAME,
                "version": VERSION,
                "licenses": [{ "license": { "id": LICENSE } }],
                "externalReferences": [{ "type": "vcs", "url": REPOSITORY }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    })
}

fn component(one: &ShippedPackage) -> Value {
    let url = one.url();
    json!({
        "type": "library",
        "bom-ref": url,
        "name": one.name,
        "version": one.version,
        "purl": url,
        "licenses": [{ "expression": one.license }],
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Workspace;
    use crate::release::crates;

    #[test]
    fn every_reference_names_a_component() {
        let crates = crates::list(&Workspace::here()).unwrap();
        let document = document(&crates);
        let components = document["components"].as_array().unwrap();
        let known: BTreeSet<_> = components
            .iter()
            .map(|it| it["bom-ref"].as_str().unwrap())
            .collect();
        assert_eq!(known.len(), crates.len());
        for dependency in document["dependencies"].as_array().unwrap() {
            assert!(known.contains(dependency["ref"].as_str().unwrap()));
            for used in dependency["dependsOn"].as_array().unwrap() {
                assert!(known.contains(used.as_str().unwrap()), "{used}");
            }
        }
    }
}

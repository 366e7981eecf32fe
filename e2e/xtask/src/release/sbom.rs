//! The list of all crates in the programs, in the format CycloneDX.

use serde_json::{Value, json};

use super::crates::ShippedCrate;
use super::product::{LICENSE, NAME, REPOSITORY, VERSION};

/// Returns the list. It has no time and no random number, so that it is the same for the same sources.
pub(super) fn document(crates: &[ShippedCrate]) -> Value {
    let components: Vec<_> = crates.iter().map(component).collect();
    let dependencies: Vec<_> = crates
        .iter()
        .map(|one| {
            let uses: Vec<_> = one.uses.iter().map(|id| package_url(id)).collect();
            json!({ "ref": package_url(&one.id()), "dependsOn": uses })
        })
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

fn component(one: &ShippedCrate) -> Value {
    let url = package_url(&one.id());
    json!({
        "type": "library",
        "bom-ref": url,
        "name": one.name,
        "version": one.version,
        "purl": url,
        "licenses": [{ "expression": one.license }],
    })
}

/// Returns the address of a crate in the scheme `pkg`.
fn package_url(id: &str) -> String {
    format!("pkg:cargo/{}", id.replace('+', "%2B"))
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
        assert_eq!(package_url("a@1.0.0+2"), "pkg:cargo/a@1.0.0%2B2");
    }
}

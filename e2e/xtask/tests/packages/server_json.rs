//! `server.json`, by the rules of its schema of 2025-12-11. The publisher of the registry checks the rest.

use std::fs;

use regex::Regex;
use serde_json::Value;

use crate::kit::*;

#[test]
fn the_entry_fits_the_rules_of_the_registry() {
    let text = fs::read_to_string(release("server.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let of = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    assert!(of(&document, "$schema").ends_with("/2025-12-11/server.schema.json"));
    let name = Regex::new("^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$").unwrap();
    assert!(name.is_match(&of(&document, "name")));
    assert!((1..=100).contains(&of(&document, "description").len()));
    assert_eq!(of(&document, "version"), VERSION);
    let packages = document["packages"].as_array().unwrap();
    let kinds: Vec<_> = packages.iter().map(|it| of(it, "registryType")).collect();
    assert_eq!(kinds, ["npm", "pypi", "oci", "mcpb"]);
    let sum = Regex::new("^[a-f0-9]{64}$").unwrap();
    for package in packages {
        assert_eq!(package["transport"]["type"], "stdio");
        let identifier = of(package, "identifier");
        let version = package.get("version");
        match of(package, "registryType").as_str() {
            "mcpb" => {
                assert!(identifier.starts_with("https://github.com/"));
                assert!(sum.is_match(&of(package, "fileSha256")));
                assert!(version.is_none());
            }
            "oci" => {
                assert!(identifier.ends_with(&format!(":{VERSION}")));
                assert!(version.is_none());
            }
            _ => assert_eq!(version.unwrap(), VERSION),
        }
        let variables = package["environmentVariables"].as_array();
        for variable in variables.into_iter().flatten() {
            let is_token = of(variable, "name") == "AUTH_TOKEN";
            assert_eq!(variable["isSecret"].as_bool().unwrap_or(false), is_token);
        }
    }
}

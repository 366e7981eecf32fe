//! `server.json` of a release. A test of `release/server_json.rs` checks it by its schema.

use std::fs;

use serde_json::Value;

use crate::kit::*;

#[test]
fn the_packages_are_those_of_this_version() {
    let text = fs::read_to_string(release("server.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let of = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    assert_eq!(of(&document, "version"), VERSION);
    let packages = document["packages"].as_array().unwrap();
    let kinds: Vec<_> = packages.iter().map(|it| of(it, "registryType")).collect();
    assert_eq!(kinds, ["npm", "pypi", "oci", "mcpb"]);
    for package in packages {
        assert_eq!(package["transport"]["type"], "stdio");
        let identifier = of(package, "identifier");
        let version = package.get("version");
        match of(package, "registryType").as_str() {
            "mcpb" => {
                assert!(identifier.starts_with("https://github.com/"));
                assert!(package["fileSha256"].is_string() && version.is_none());
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

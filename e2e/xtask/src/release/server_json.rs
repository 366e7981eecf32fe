//! `server.json`, with which the registry of MCP servers lists the packages.

use serde_json::{Value, json};

use super::mcpb;
use super::product::{DESCRIPTION, IMAGE, NAME, REGISTRY_NAME, REPOSITORY, VERSION, download_url};
use super::release_folder::ReleaseFolder;

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// Returns the document with the packages that the release contains.
pub(super) fn document(release: &ReleaseFolder) -> Value {
    let mut packages = Vec::new();
    if release.contains("npm/mcp-web.tgz") {
        packages.push(stdio_package(json!({
            "registryType": "npm",
            "identifier": NAME,
            "version": VERSION,
            "runtimeHint": "npx",
            // Without it, npx asks the registry first, and waits for it for minutes where there is none.
            "runtimeArguments": [{ "type": "named", "name": "--prefer-offline" }],
        })));
    }
    if release.sums_below("pypi/").next().is_some() {
        packages.push(stdio_package(json!({
            "registryType": "pypi",
            "identifier": NAME,
            "version": VERSION,
            "runtimeHint": "uvx",
        })));
    }
    if release.sums_below("oci/").next().is_some() {
        packages.push(stdio_package(json!({
            "registryType": "oci",
            "identifier": format!("{IMAGE}:{VERSION}"),
            "runtimeHint": "docker",
            // The bridge listens on an address of the machine, which a container does not share.
            "runtimeArguments": [{ "type": "named", "name": "--network", "value": "host" }],
        })));
    }
    for (path, sum) in release.sums_below(mcpb::FOLDER) {
        let file = path.trim_start_matches(mcpb::FOLDER);
        // A bundle asks for its settings itself.
        packages.push(json!({
            "registryType": "mcpb",
            "identifier": format!("{}/{file}", download_url()),
            "fileSha256": sum,
            "transport": { "type": "stdio" },
        }));
    }
    json!({
        "$schema": SCHEMA,
        "name": REGISTRY_NAME,
        "title": "MCP-Web",
        "description": DESCRIPTION,
        "repository": { "url": REPOSITORY, "source": "github" },
        "version": VERSION,
        "packages": packages,
    })
}

/// Adds how the program is started, and what it needs.
fn stdio_package(mut package: Value) -> Value {
    package["packageArguments"] = json!([{ "type": "positional", "value": "stdio" }]);
    package["environmentVariables"] = json!([
        {
            "name": "MCP_SERVER_URL",
            "description": "The address that the page shows. A bridge must be running there.",
            "default": "http://127.0.0.1:3001/mcp",
        },
        {
            "name": "AUTH_TOKEN",
            "description": "The token that the page shows",
            "isRequired": true,
            "isSecret": true,
        },
    ]);
    package["transport"] = json!({ "type": "stdio" });
    package
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_of_the_release_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let mut release = ReleaseFolder::create(folder.path().join("release"), 0).unwrap();
        assert_eq!(document(&release)["packages"], json!([]));
        release.write("npm/mcp-web.tgz", "x").unwrap();
        release.write("mcpb/mcp-web-linux-x64.mcpb", "y").unwrap();
        let document = document(&release);
        let packages = document["packages"].as_array().unwrap();
        let kinds: Vec<_> = packages.iter().map(|it| &it["registryType"]).collect();
        assert_eq!(kinds, ["npm", "mcpb"]);
        let bundle = &packages[1];
        assert_eq!(
            bundle["identifier"],
            format!("{}/mcp-web-linux-x64.mcpb", download_url())
        );
        assert_eq!(bundle["fileSha256"].as_str().unwrap().len(), 64);
    }

    #[test]
    fn the_document_fits_the_schema_of_the_registry() {
        let folder = tempfile::tempdir().unwrap();
        let mut release = ReleaseFolder::create(folder.path().join("release"), 0).unwrap();
        for file in ["npm/mcp-web.tgz", "pypi/a.whl", "oci/a.tar", "mcpb/a.mcpb"] {
            release.write(file, "x").unwrap();
        }
        let document = document(&release);
        let schema = include_str!("../../../packages/server.schema.json");
        let schema: Value = serde_json::from_str(schema).unwrap();
        assert_eq!(document["$schema"], schema["$id"]);
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(&schema).unwrap();
        let errors = |document: &Value| {
            let errors = validator.iter_errors(document);
            let errors = errors.map(|error| format!("{}: {error}", error.instance_path()));
            errors.collect::<Vec<_>>()
        };
        assert_eq!(errors(&document), [""; 0]);
        for (pointer, wrong) in [
            ("/name", "mcp-web"),
            ("/packages/0/version", "latest"),
            ("/packages/0/transport/type", "socket"),
            ("/packages/3/fileSha256", "0"),
            ("/repository/url", "no address"),
        ] {
            let mut changed = document.clone();
            *changed.pointer_mut(pointer).unwrap() = wrong.into();
            assert!(!errors(&changed).is_empty(), "{pointer}");
        }
    }
}

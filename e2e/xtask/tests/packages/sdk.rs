//! The packages for pages and for Lowdefy apps.

use std::fs;

use serde_json::Value;

use crate::archives::unpack_archive;
use crate::kit::*;
use crate::page::Page;
use crate::registry::home_with_registry;

/// An app of Vite that installs the SDK from the registry. A client calls the tool of its page.
#[test]
fn an_app_of_vite_has_tools_with_the_installed_sdk() {
    let home = home_with_registry();
    let programs = unpack_archive(&home);
    let program = programs.join("mcp-web");
    let mut bridge = home.direct_command(&program);
    let mut bridge = Running::start(bridge.args(["bridge", "--bind", "127.0.0.1:0"]));
    let url = bridge.wait_for("listening on ");
    let app = home.path().join("app");
    fs::create_dir(&app).unwrap();
    fs::write(
        app.join("package.json"),
        r#"{ "name": "app", "private": true, "type": "module" }"#,
    )
    .unwrap();
    let page =
        "<!doctype html><title>App</title><script type=\"module\" src=\"/main.js\"></script>";
    fs::write(app.join("index.html"), page).unwrap();
    fs::write(app.join("main.js"), Page::script("mcp-web-sdk", &url)).unwrap();
    let mut npm = home.command("npm");
    succeed(npm.args(["install", "mcp-web-sdk"]).current_dir(&app));
    let mut vite = home.command("node");
    vite.arg(node_modules().join("vite/bin/vite.js"));
    succeed(vite.arg("build").current_dir(&app));
    let _page = Page::open(&app.join("dist"));
    let mut call = home.command(&program);
    call.args(["call", "greet", r#"{"name":"Ada"}"#])
        .env("AUTH_TOKEN", TOKEN)
        .env("MCP_SERVER_URL", format!("{url}/mcp"));
    assert_eq!(succeed(&mut call).trim(), "Hello Ada");
}

#[test]
fn all_packages_have_the_version_of_the_release() {
    for (name, expected) in [
        ("mcp-web", "mcp-web"),
        ("sdk", "mcp-web-sdk"),
        ("lowdefy", "mcp-web-lowdefy"),
    ] {
        let home = Home::new();
        let mut tar = home.command("tar");
        tar.arg("-xzf").arg(release(&format!("npm/{name}.tgz")));
        succeed(&mut tar);
        let manifest = fs::read_to_string(home.path().join("package/package.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        assert_eq!(manifest["name"], expected);
        assert_eq!(manifest["version"], VERSION);
        assert!(manifest.get("scripts").is_none(), "{name}");
    }
}

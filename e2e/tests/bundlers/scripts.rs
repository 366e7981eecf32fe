//! webpack, esbuild, Rollup, and pages without a bundler: their output is served as files.

use std::fs;

use e2e::{FolderSite, TestBed, program_paths};

use crate::check_client_changes_page;
use crate::project::{Install, Project, packages};

#[tokio::test]
async fn webpack() {
    let project = Project::new("app", Install::Npm).await;
    let config = program_paths::workspace().join("e2e/bundlers/webpack/webpack.config.cjs");
    let config = config.display().to_string();
    let webpack = packages("webpack").join("webpack/bin/webpack.js");
    let context = project.path().display().to_string();
    project
        .run_node(
            &webpack,
            &[
                "--config",
                &config,
                "--context",
                &context,
                "--output-path",
                "dist",
            ],
        )
        .await;
    check_built(&project, "module").await;
}

#[tokio::test]
async fn esbuild_with_code_splitting() {
    let project = Project::new("app", Install::Npm).await;
    esbuild(&project, &["--format=esm", "--splitting", "--outdir=dist"]).await;
    check_built(&project, "module").await;
}

#[tokio::test]
async fn esbuild_as_one_script() {
    let project = Project::new("app", Install::Npm).await;
    use_inline_entry(&project);
    esbuild(&project, &["--format=iife", "--outfile=dist/main.js"]).await;
    check_built(&project, "text/javascript").await;
}

#[tokio::test]
async fn rollup() {
    let project = Project::new("app", Install::Npm).await;
    run_rollup(&project).await;
    check_built(&project, "module").await;
}

#[tokio::test]
async fn rollup_with_the_inline_entry() {
    let project = Project::new("app", Install::Npm).await;
    use_inline_entry(&project);
    run_rollup(&project).await;
    assert_eq!(
        fs::read_dir(project.path().join("dist")).unwrap().count(),
        1
    );
    check_built(&project, "module").await;
}

/// The module of the bridge, without any package.
#[tokio::test]
async fn no_bundler() {
    let bed = TestBed::bridge().await;
    let project = Project::new("app", Install::Npm).await;
    let sdk = format!("{}/sdk/mcp-web.js", bed.url());
    let script = fs::read_to_string(project.path().join("main.js")).unwrap();
    project.write(
        "main.js",
        &script.replace("\"mcp-web-sdk\"", &format!("\"{sdk}\"")),
    );
    let site = FolderSite::start(project.path().to_owned()).await;
    check_client_changes_page(&bed, &site.url()).await;
}

#[tokio::test]
async fn module_worker() {
    let bed = TestBed::bridge().await;
    let project = Project::new("app", Install::Npm).await;
    project.write(
        "main.js",
        r#"
        const worker = new Worker(`/worker.js${location.search}`, { type: "module" });
        window.mcpWeb = { status: { state: "loading" } };
        worker.onmessage = ({ data: { state, text } }) => {
          if (state) window.mcpWeb.status.state = state;
          if (text) document.querySelector("h1").textContent = text;
        };
        "#,
    );
    let sdk = project.path().join("mcp-web-sdk");
    std::os::unix::fs::symlink(program_paths::sdk_package(), sdk).unwrap();
    let site = FolderSite::start(project.path().to_owned()).await;
    check_client_changes_page(&bed, &site.url()).await;
}

/// Serves `dist` of a project with its page, whose script has the type.
async fn check_built(project: &Project, script_type: &str) {
    let bed = TestBed::bridge().await;
    let html = fs::read_to_string(project.path().join("index.html")).unwrap();
    let html = html.replace("type=\"module\"", &format!("type=\"{script_type}\""));
    fs::write(project.path().join("dist/index.html"), html).unwrap();
    let site = FolderSite::start(project.path().join("dist")).await;
    check_client_changes_page(&bed, &site.url()).await;
}

fn use_inline_entry(project: &Project) {
    let script = fs::read_to_string(project.path().join("main.js")).unwrap();
    project.write(
        "main.js",
        &script.replace("\"mcp-web-sdk\"", "\"mcp-web-sdk/inline\""),
    );
}

async fn esbuild(project: &Project, options: &[&str]) {
    let program = packages("tools").join("esbuild/bin/esbuild");
    project
        .run_node(&program, &[&["main.js", "--bundle"], options].concat())
        .await;
}

async fn run_rollup(project: &Project) {
    project.add_packages("tools");
    let config = program_paths::workspace().join("e2e/bundlers/tools/rollup.config.js");
    fs::copy(config, project.path().join("rollup.config.js")).unwrap();
    let rollup = &project.path().join("node_modules/rollup/dist/bin/rollup");
    project
        .run_node(rollup, &["--config", "rollup.config.js"])
        .await;
}

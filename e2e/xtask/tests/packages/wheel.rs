//! The wheel, installed without an index.

use crate::kit::*;

fn version() -> String {
    format!("mcp-web {VERSION}")
}

#[test]
fn uv_runs_the_program_from_the_wheel() {
    let home = Home::new();
    let mut uvx = home.command(python_program("uvx"));
    uvx.args(["--offline", "--no-index", "--find-links"])
        .arg(release("pypi"))
        .args(["mcp-web", "--version"]);
    assert_eq!(succeed(&mut uvx).trim(), version());
}

#[test]
fn pipx_installs_the_program() {
    let home = Home::new();
    let links = format!("--no-index --find-links={}", release("pypi").display());
    let mut pipx = home.command(python_program("pipx"));
    pipx.args(["install", "--pip-args", &links, "mcp-web"]);
    succeed(&mut pipx);
    let program = home.path().join(".local/bin/mcp-web");
    assert_eq!(
        succeed(home.command(program).arg("--version")).trim(),
        version()
    );
}

#[test]
fn the_wheel_fits_the_rules_of_the_index() {
    let home = Home::new();
    let mut twine = home.command(python_program("twine"));
    let output = succeed(twine.args(["check", "--strict"]).arg(only_file("pypi")));
    assert!(output.contains("PASSED"), "{output}");
}

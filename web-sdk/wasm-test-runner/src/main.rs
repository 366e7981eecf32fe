//! wasm-bindgen's test runner, at the version that this workspace's lock file names: a runner of another
//! version cannot read what the crate `wasm-bindgen` wrote.
//!
//! Cargo starts it with a compiled test of `web-sdk`; `cargo xtask test` sets the environment that it needs.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os())
}

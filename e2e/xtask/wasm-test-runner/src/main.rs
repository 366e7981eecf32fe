//! wasm-bindgen's test runner, at the version in this workspace's lock file: a runner of another version
//! cannot read the output of the crate `wasm-bindgen`.
//!
//! Cargo starts it with a compiled test of `web-sdk`; `cargo xtask test` sets the environment that it needs.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os())
}

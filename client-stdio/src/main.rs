//! `mcp-web-stdio`: only the proxy, for packages that must be small. It is `mcp-web stdio` as well.

use std::process::ExitCode;

fn main() -> ExitCode {
    client_stdio::main("mcp-web-stdio", std::env::args_os().skip(1).collect())
}

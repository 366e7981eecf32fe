//! The bridge as a program.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::with_deadline;

/// The program without any environment variables. It is killed when the test ends.
pub(crate) fn bridge_program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_mcp-web-bridge"));
    program.env_clear().kill_on_drop(true).stdin(Stdio::null());
    program
}

/// The URL that a started program prints to stdout, which must be piped.
pub(crate) async fn listening_url(program: &mut Child) -> String {
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    loop {
        let line = with_deadline("address of the program", lines.next_line()).await;
        let line = line.unwrap().expect("the program prints its address");
        if let Some(url) = line.strip_prefix("listening on ") {
            return url.to_owned();
        }
    }
}

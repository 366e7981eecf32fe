//! The commands `bridge` and `admin` of `mcp-web`.

use std::process::Stdio;

use raw_page::built_program;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::with_deadline;

/// A bridge without any environment variables. It is killed when the test ends.
pub(crate) fn bridge_program() -> Command {
    program("bridge")
}

/// The administration of a bridge without any environment variables.
#[cfg(unix)]
pub(crate) fn admin_program() -> Command {
    program("admin")
}

fn program(command: &str) -> Command {
    let mut program = Command::new(built_program("mcp-web"));
    program
        .arg(command)
        .env_clear()
        .kill_on_drop(true)
        .stdin(Stdio::null());
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

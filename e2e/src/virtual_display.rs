//! A display without a screen, for real windows.

use tokio::process::Command;

use crate::ProcessGroup;

/// An X server that draws into memory. It stops when this is dropped.
#[derive(Debug)]
pub struct VirtualDisplay {
    name: String,
    _server: ProcessGroup,
}

impl VirtualDisplay {
    /// Starts Xvfb, which chooses a free number.
    pub async fn start() -> Self {
        let mut command = Command::new("Xvfb");
        // It writes the number to its standard output.
        command.args([
            "-displayfd",
            "1",
            "-screen",
            "0",
            "1280x900x24",
            "-nolisten",
            "tcp",
        ]);
        let mut server = ProcessGroup::start("Xvfb", command);
        // A server that finds a number in use reports it before it takes the next one.
        let number = server.wait_for_number().await;
        Self {
            name: format!(":{number}"),
            _server: server,
        }
    }

    /// Returns the value of `DISPLAY`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

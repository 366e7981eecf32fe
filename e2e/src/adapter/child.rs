//! A child process with a stdio MCP server.

use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child as Process, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

use super::routes::{Messages, RequestKey, Routes};

/// How many messages may wait for the child to read them; more than any test sends.
const INPUT_QUEUE: usize = 4096;

/// A running child. Dropping it closes its standard input, which asks a stdio server to exit.
#[derive(Debug)]
pub(super) struct Child {
    input: mpsc::Sender<Value>,
    routes: Arc<Mutex<Routes>>,
}

impl Child {
    pub(super) fn spawn(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let (input, lines) = mpsc::channel(INPUT_QUEUE);
        let routes = Arc::new(Mutex::new(Routes::default()));
        let stdin = process.stdin.take().expect("standard input is piped");
        let stdout = process.stdout.take().expect("standard output is piped");
        tokio::spawn(write_lines(stdin, lines));
        tokio::spawn(read_lines(process, stdout, routes.clone()));
        Self { input, routes }
    }

    /// Sends a request. The stream of its messages ends with its answer, or when the child exits.
    pub(super) async fn request(&self, mut request: Value) -> (RequestKey, Messages) {
        let (key, messages) = self.routes().register(&mut request);
        self.send(request).await;
        (key, messages)
    }

    /// Sends a notification or a response.
    pub(super) async fn notify(&self, mut message: Value) {
        self.routes().rename_cancelled(&mut message);
        self.send(message).await;
    }

    /// Cancels a stateless request, whose caller has closed the connection.
    pub(super) fn cancel(&self, key: RequestKey) {
        if self.routes().close(key) {
            let cancel = serde_json::json!({
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": { "requestId": key },
            });
            // A child that has exited has nothing to cancel.
            let _ = self.input.try_send(cancel);
        }
    }

    /// Returns the stream of the messages that belong to no request.
    pub(super) fn listen(&self) -> Messages {
        self.routes().listen()
    }

    async fn send(&self, message: Value) {
        // When the child has exited, its streams have ended, so each caller notices.
        let _ = self.input.send(message).await;
    }

    fn routes(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().expect("no holder panics")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // The writer stops with its channel, the child with its input, the reader with the child.
        self.routes().end();
    }
}

async fn write_lines(mut stdin: ChildStdin, mut lines: mpsc::Receiver<Value>) {
    while let Some(message) = lines.recv().await {
        let line = format!("{message}\n");
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_lines(mut process: Process, stdout: ChildStdout, routes: Arc<Mutex<Routes>>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(message) => routes.lock().expect("no holder panics").dispatch(message),
            Err(error) => {
                eprintln!("{error} in a line on standard output, so the child is killed: {line}");
                let _ = process.start_kill();
                break;
            }
        }
    }
    routes.lock().expect("no holder panics").end();
    let _ = process.wait().await;
}

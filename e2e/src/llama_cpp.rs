//! llama.cpp's own HTTP server, as a real server of a model beside the mock provider.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::process::Command;

use crate::clients::http;
use crate::{Format, Meter, ProcessGroup, poll_pause, program_paths, with_deadline};

/// A running server of llama.cpp, which stops when this is dropped.
///
/// Its model needs no weights: what it answers is in a table (`e2e/llama-cpp/table_model.py`), so
/// that its answers are exact. With `--model smollm2` it is a small trained model. Requests are
/// parsed, queued, constrained by grammars, streamed and counted by llama.cpp itself.
#[derive(Debug)]
pub struct LlamaCpp {
    process: ProcessGroup,
    url: String,
    arguments: Vec<String>,
}

impl LlamaCpp {
    /// The formats that it serves and that most tests ask it in. It also has OpenAI's Responses.
    pub const FORMATS: [Format; 2] = [Format::OpenAi, Format::Anthropic];

    /// Starts a server on a free port, with more arguments for `e2e/llama-cpp/server.py`.
    pub async fn start(arguments: &[&str]) -> Self {
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        let (process, url) = start_process(&arguments).await;
        Self {
            process,
            url,
            arguments,
        }
    }

    /// Returns the base URL of its API in this format.
    pub fn base_url(&self, format: Format) -> String {
        assert_ne!(format, Format::Gemini);
        format!("{}{}", self.url, format.base_path())
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        let (_, address) = self.url.rsplit_once('/').unwrap();
        address.parse().unwrap()
    }

    /// Returns a meter for the resources of the server.
    pub fn meter(&self) -> Meter {
        self.process.meter()
    }

    /// Sends a request to a path of its API, past the agent, and returns the whole answer.
    pub async fn post(&self, path: &str, body: &Value) -> Value {
        let answer = async {
            let url = format!("{}{path}", self.url);
            let response = http().post(url).json(body).send().await.unwrap();
            response.json().await.unwrap()
        };
        with_deadline(format!("an answer to {path}"), answer).await
    }

    /// Kills the server like a crash.
    pub async fn kill(&mut self) {
        self.process.kill().await;
    }

    /// Starts a killed server again, at the same address.
    pub async fn restart(&mut self) {
        let (_, port) = self.url.rsplit_once(':').unwrap();
        let mut arguments = self.arguments.clone();
        arguments.extend(["--port".to_owned(), port.to_owned()]);
        (self.process, self.url) = start_process(&arguments).await;
    }

    /// Returns the number of requests that it is answering.
    pub async fn busy_slots(&self) -> usize {
        let answer = async {
            let url = format!("{}/slots", self.url);
            let response = http().get(url).send().await.unwrap();
            response.json::<Vec<Value>>().await.unwrap()
        };
        let slots = with_deadline("the slots", answer).await;
        let busy = slots.iter().filter(|slot| slot["is_processing"] == true);
        busy.count()
    }

    /// Waits until this number of requests is waiting for a slot.
    pub async fn wait_for_waiting_requests(&self, count: u64) {
        let what = format!("{count} waiting requests at llama.cpp");
        with_deadline(what, async {
            while self.metric("requests_deferred").await != count {
                poll_pause().await;
            }
        })
        .await;
    }

    /// Waits until this number of requests is being answered.
    pub async fn wait_for_busy_slots(&self, count: usize) {
        let what = format!("{count} busy slots of llama.cpp");
        with_deadline(what, async {
            while self.busy_slots().await != count {
                poll_pause().await;
            }
        })
        .await;
    }

    /// Returns a value of `/metrics` by its name without the prefix, such as
    /// `tokens_predicted_total`.
    pub async fn metric(&self, name: &str) -> u64 {
        let answer = async {
            let url = format!("{}/metrics", self.url);
            let response = http().get(url).send().await.unwrap();
            response.text().await.unwrap()
        };
        let metrics = with_deadline("the metrics", answer).await;
        let prefix = format!("llamacpp:{name} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&prefix));
        let value = value.unwrap_or_else(|| panic!("no {name} in:\n{metrics}"));
        value.parse().unwrap()
    }
}

async fn start_process(arguments: &[String]) -> (ProcessGroup, String) {
    let mut command = Command::new(program_paths::llama_cpp_python().join("bin/python"));
    let script = program_paths::workspace().join("e2e/llama-cpp/server.py");
    command.arg("-B").arg(script).args(arguments);
    let mut process = ProcessGroup::start("llama.cpp", command);
    let line = process.wait_for_line("serving at http://").await;
    let (_, url) = line.rsplit_once(' ').unwrap();
    (process, url.to_owned())
}

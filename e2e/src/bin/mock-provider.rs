//! The `mock-provider` program: a mock of providers of language models, to try an agent by hand.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Parser;
use e2e::{Format, MockProvider, Recordings, ResponseSource, Script, Upstream};
use tokio::net::TcpListener;

/// Mock of the streaming APIs of Anthropic, OpenAI (chat completions and Responses) and Gemini,
/// which answers from a script.
#[derive(Parser)]
struct Arguments {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:0")]
    bind: SocketAddr,

    /// The script: JSON like
    /// `{"turns":[{"pieces":[{"text":"Hello"},{"call":{"tool":"add_card","arguments":{}}}]}]}`. A
    /// turn may have `stop`, `usage`, `fault`, `times`, `pauses`, `pace` and `shreds` as well.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,

    /// Forward all requests to a real provider, and record the exchanges in this folder, without
    /// keys and ids
    #[arg(
        long,
        value_name = "FOLDER",
        requires = "upstream",
        conflicts_with = "script"
    )]
    record: Option<PathBuf>,

    /// The provider, without the path: `https://api.anthropic.com`
    #[arg(long, value_name = "URL", requires = "record")]
    upstream: Option<String>,

    /// Replay the recordings of this folder
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["script", "record"])]
    replay: Option<PathBuf>,
}

impl Arguments {
    fn response_source(&self) -> Result<ResponseSource> {
        if let (Some(folder), Some(upstream)) = (&self.record, &self.upstream) {
            return Ok(ResponseSource::Upstream(Arc::new(Upstream::new(
                upstream, folder,
            )?)));
        }
        if let Some(folder) = &self.replay {
            let advice = || format!("cannot load recordings from {}", folder.display());
            let recordings = Recordings::load(folder).with_context(advice)?;
            return Ok(ResponseSource::Recordings(recordings));
        }
        let Some(file) = &self.script else {
            return Ok(example_script().into());
        };
        let advice = || format!("{} is not a script", file.display());
        let text = std::fs::read_to_string(file).with_context(advice)?;
        let script: Script = serde_json::from_str(&text).with_context(advice)?;
        Ok(script.into())
    }

    async fn run(&self) -> Result<()> {
        let listener = TcpListener::bind(self.bind).await?;
        let provider = MockProvider::serve(listener, self.response_source()?);
        println!("listening on {}", provider.url());
        for format in Format::ALL {
            let api = format
                .openai_api()
                .map(|api| format!(" --openai-api {api}"));
            println!(
                "mcp-web agent --provider {}{} --base-url {} --model mock",
                format.provider(),
                api.unwrap_or_default(),
                provider.base_url(format)
            );
        }
        if self.record.is_none() {
            println!("the key is {}", MockProvider::KEY);
        }
        tokio::signal::ctrl_c().await?;
        Ok(())
    }
}

/// Returns the script that is used if none is given.
fn example_script() -> Script {
    Script::new([e2e::Turn::from_text("Hello from ").text("the mock provider.")])
}

#[tokio::main]
async fn main() -> ExitCode {
    match Arguments::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

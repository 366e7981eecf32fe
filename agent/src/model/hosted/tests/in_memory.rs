//! Responses that are read without a connection, for tests with many of them or with paused time.

use reqwest::Body;

use super::*;

/// A model to which no request is sent, with the first one that it would get.
pub(super) struct InMemory {
    server: Arc<Server>,
    prepared: PreparedTurn,
}

/// Creates a model to which no request is sent.
pub(super) fn server(api: Api) -> InMemory {
    let settings = ModelSettings {
        base_url: Some("http://127.0.0.1:9/v1/".parse().unwrap()),
        ..ModelSettings::default()
    };
    let server = hosted(api, &settings).0;
    let prepared = PreparedTurn::new(&first_request(), &server.model, &SwitchedOff::default());
    InMemory { server, prepared }
}

impl InMemory {
    pub(super) fn set_first_token_within(&mut self, duration: Duration) {
        let server = Arc::get_mut(&mut self.server).expect("no response is read");
        server.first_token_within = Some(duration);
    }

    /// Makes another request the one that gets the response.
    pub(super) fn prepare(&mut self, turn: &TurnRequest) {
        self.prepared = PreparedTurn::new(turn, &self.server.model, &SwitchedOff::default());
    }

    /// Reads a response in these chunks. An error is the end of the connection.
    pub(super) async fn read(
        &self,
        chunks: impl IntoIterator<Item = io::Result<Bytes>>,
    ) -> TurnOutput {
        let chunks: Vec<_> = chunks.into_iter().collect();
        self.read_stream(stream::iter(chunks).boxed()).await
    }

    /// Reads a whole response at once.
    pub(super) async fn read_text(&self, text: &str) -> TurnOutput {
        let chunk = Bytes::copy_from_slice(text.as_bytes());
        self.read([Ok(chunk)]).await
    }

    /// Reads a response whose chunks may come later.
    pub(super) async fn read_stream(
        &self,
        chunks: BoxStream<'static, io::Result<Bytes>>,
    ) -> TurnOutput {
        let response = http::Response::new(Body::wrap_stream(chunks));
        let response = Response::new(
            Arc::clone(&self.server),
            TurnQuery::default(),
            reqwest::Response::from(response),
            &self.prepared,
            Instant::now(),
        );
        let events = response.into_events();
        let events = events.map(|event| event.map_err(|error| error.failure));
        collect_events(events.boxed()).await
    }
}

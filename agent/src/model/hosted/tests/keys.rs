//! Tests of a key in a file that is replaced while the agent runs.

use std::path::PathBuf;

use super::streams::TEXT;
use super::*;

/// A model whose key is in a file.
struct FileKey {
    _folder: tempfile::TempDir,
    path: PathBuf,
    model: RetryingModel<HostedModel>,
}

impl FileKey {
    fn new(api: Api, server: &FakeProvider) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, KEY).unwrap();
        let settings = ModelSettings {
            api_key_file: Some(path.clone()),
            ..settings(server)
        };
        Self {
            model: model_for(api, &settings),
            _folder: folder,
            path,
        }
    }

    fn write(&self, key: &str) {
        std::fs::write(&self.path, key).unwrap();
    }

    async fn turn(&self) -> TurnOutput {
        collect_turn(&self.model, first_request()).await
    }
}

/// Returns the key of each request, without the scheme.
fn keys(server: &FakeProvider) -> Vec<String> {
    let names = ["x-api-key", "x-goog-api-key", "authorization"];
    let key = |headers: &http::HeaderMap| {
        let value = names.iter().find_map(|name| headers.get(*name)).unwrap();
        let value = value.to_str().unwrap();
        value.strip_prefix("Bearer ").unwrap_or(value).to_owned()
    };
    let requests = server.requests();
    requests.iter().map(|it| key(&it.headers)).collect()
}

#[tokio::test]
async fn a_key_that_was_replaced_is_used_for_the_next_request() {
    for api in ALL {
        let reply = || Reply::new(WholeStream::of(api).text());
        let server = FakeProvider::new([reply(), reply(), reply()]).await;
        let bed = FileKey::new(api, &server);
        assert_eq!(bed.turn().await.text, TEXT);
        bed.write("the-next-key\n");
        assert_eq!(bed.turn().await.text, TEXT);
        // A file that is being written has no key.
        bed.write("");
        assert_eq!(bed.turn().await.text, TEXT);
        assert_eq!(keys(&server), [KEY, "the-next-key", "the-next-key"]);
    }
}

#[tokio::test]
async fn a_key_that_is_replaced_during_a_request_is_tried_once() {
    for (api, status) in [
        (Api::Messages, 401),
        (Api::Responses, 401),
        (Api::ChatCompletions, 403),
        (Api::Gemini, 400),
    ] {
        let refusal = || Reply::status(status, "");
        let answer = || Reply::new(WholeStream::of(api).text());
        let replies = [refusal().after_requests(2), answer(), answer()];
        let server = FakeProvider::new(replies).await;
        let bed = FileKey::new(api, &server);
        let later = async {
            while server.requests().is_empty() {
                tokio::task::yield_now().await;
            }
            bed.write("the-next-key");
            bed.turn().await
        };
        let (first, second) = tokio::join!(bed.turn(), later);
        assert_eq!([&*first.text, &*second.text], [TEXT; 2], "{api:?}");
        let next = "the-next-key";
        assert_eq!(keys(&server), [KEY, next, next], "{api:?}");
    }
}

#[tokio::test]
async fn an_error_does_not_show_the_key_of_its_request_after_that_was_replaced() {
    for api in ALL {
        let error = json!({ "error": { "message": format!("{KEY} has no model") } });
        let error = Reply::status(404, error.to_string()).after_requests(2);
        let answer = Reply::new(WholeStream::of(api).text());
        let server = FakeProvider::new([error, answer]).await;
        let bed = FileKey::new(api, &server);
        let later = async {
            while server.requests().is_empty() {
                tokio::task::yield_now().await;
            }
            bed.write("the-next-key");
            bed.turn().await
        };
        let (first, _) = tokio::join!(bed.turn(), later);
        let failure = format!("{:?}", first.end.unwrap_err());
        let is_hidden = failure.contains("… has no model") && !failure.contains(KEY);
        assert!(is_hidden, "{api:?}: {failure}");
    }
}

#[tokio::test]
async fn a_key_that_stays_refused_is_not_tried_again() {
    for api in ALL {
        let server = FakeProvider::new([Reply::status(401, "")]).await;
        let failure = FileKey::new(api, &server).turn().await.end.unwrap_err();
        assert_eq!(failure.code, ErrorCode::ModelUnauthorized, "{api:?}");
        assert_eq!(keys(&server), [KEY], "{api:?}");
    }
}

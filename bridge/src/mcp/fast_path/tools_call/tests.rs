use super::*;

fn content_type_of(bytes: usize, events_only: bool) -> String {
    let answer = EncodedResponse {
        status: StatusCode::OK,
        json: vec![b'1'; bytes].into(),
        lease: None,
    };
    let response = single_response(answer, events_only);
    let kind = &response.headers()[CONTENT_TYPE];
    kind.to_str().unwrap().to_owned()
}

#[test]
fn responses_over_the_body_limit_are_sent_as_events() {
    assert_eq!(content_type_of(MAX_BODY_BYTES, false), "application/json");
    assert_eq!(
        content_type_of(MAX_BODY_BYTES + 1, false),
        "text/event-stream"
    );
    assert_eq!(content_type_of(1, true), "text/event-stream");
}

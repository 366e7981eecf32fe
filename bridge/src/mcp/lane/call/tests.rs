use super::*;

fn kind_of(bytes: usize, events_only: bool) -> String {
    let answer = Answer {
        status: StatusCode::OK,
        json: vec![b'1'; bytes].into(),
    };
    let response = whole(answer, events_only);
    let kind = &response.headers()[CONTENT_TYPE];
    kind.to_str().unwrap().to_owned()
}

#[test]
fn what_rmcps_clients_do_not_take_as_a_body_is_an_event() {
    assert_eq!(kind_of(MAX_BODY_BYTES, false), "application/json");
    assert_eq!(kind_of(MAX_BODY_BYTES + 1, false), "text/event-stream");
    assert_eq!(kind_of(1, true), "text/event-stream");
}

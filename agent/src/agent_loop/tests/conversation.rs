//! Earlier queries of a conversation, input that is too long, and pictures.

use std::collections::BTreeSet;

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, QueryCaller, SessionId};
use serde_json::json;
use tokio::sync::mpsc;

use super::test_bed::query_input;
use super::{FakeModel, Page, TestBed, call_turn, no_page_actions, text_turn, tool_definition};
use crate::agent_loop::{QueryInput, QueryState, answer};
use crate::config::AgentLimits;
use crate::model::{CallResult, Media, ModelMessage, ModelTurn, UserMessage};

fn too_long() -> AgentFailure {
    AgentFailure::new(
        ErrorCode::ModelInputTooLong,
        "the model cannot read so much",
    )
}

/// An earlier query with a call whose result has this many bytes.
fn earlier(prompt: &str, result_bytes: usize) -> [ModelMessage; 3] {
    let result = CallResult {
        id: "z".to_owned(),
        tool: "list".to_owned(),
        text: "x".repeat(result_bytes),
        notes: String::new(),
        is_error: false,
        media: Vec::new(),
    };
    [
        ModelMessage::from_text(prompt.to_owned()),
        ModelMessage::Results(vec![result]),
        ModelMessage::Model(ModelTurn {
            text: "Done.".to_owned(),
            ..ModelTurn::default()
        }),
    ]
}

#[tokio::test]
async fn a_query_begins_after_those_before_it_and_is_written_down() {
    let mut bed = TestBed::with_query(&[], json!({})).await;
    bed.query.conversation = Some("c".to_owned());
    let model = FakeModel::new([text_turn("Yes.")]);
    let (limits, state) = (AgentLimits::default(), QueryState::new());
    let (sender, _progress) = mpsc::channel(16);
    let conversation = earlier("Is it late?", 10);
    let input = query_input(&bed.query, &bed.tools, &model, &limits, &sender, &state);
    let answered = answer(QueryInput {
        conversation: &conversation,
        ..input
    })
    .await;
    assert_eq!(answered.unwrap().result, Some(json!("Yes.")));
    let request = &model.requests()[0];
    assert_eq!((request.history.len(), request.earlier_messages), (4, 3));
    let transcript = state.transcript.finish(None).unwrap();
    let [ModelMessage::User(asked), ModelMessage::Model(said)] = &transcript.messages[..] else {
        panic!("{transcript:?}");
    };
    let ModelMessage::User(sent) = &request.history[3] else {
        panic!("{request:?}");
    };
    assert_eq!(asked.text, sent.text, "the provider has it in its cache");
    assert!(asked.text.ends_with("Do it"), "{asked:?}");
    assert_eq!(said.text, "Yes.");
}

#[tokio::test]
async fn a_long_conversation_is_shortened_and_the_page_is_notified() {
    let bed = TestBed::with_query(&[], json!({})).await;
    let state = QueryState::new();
    let limits = AgentLimits {
        max_history_bytes: 1_000,
        ..AgentLimits::default()
    };
    let (sender, mut progress) = mpsc::channel(16);
    let model = FakeModel::new([text_turn("Yes.")]);
    let conversation = earlier("Is it late?", 2_000);
    let input = query_input(&bed.query, &bed.tools, &model, &limits, &sender, &state);
    let answered = answer(QueryInput {
        conversation: &conversation,
        ..input
    });
    assert!(answered.await.is_ok());
    let note = progress.recv().await.unwrap().to_raw();
    assert!(note.get().contains("results of earlier calls"), "{note}");
    assert_eq!(model.requests()[0].history.len(), 4);
}

#[tokio::test]
async fn input_that_is_too_long_for_the_model_is_shortened_until_it_fits() {
    let mut bed = TestBed::with_query(&[tool_definition("list")], json!({})).await;
    let list = || call_turn(&[("list", json!({}))]);
    let model = FakeModel::new([list(), list(), vec![Err(too_long())], text_turn("Long.")]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            for _ in 0..2 {
                page.serve_call(json!("x".repeat(5_000))).await;
            }
        })
        .await;
    assert_eq!(answer.unwrap().result, Some(json!("Long.")));
    let last = &model.requests()[3].history;
    let bytes = |index: usize| match &last[index] {
        ModelMessage::Results(results) => results[0].text.len(),
        other => panic!("{other:?}"),
    };
    assert!(
        bytes(2) < 100 && bytes(4) >= 5_000,
        "the newest result stays"
    );
    let notes = progress.iter().filter(|event| event["type"] == "note");
    assert_eq!(notes.count(), 1);

    let model = FakeModel::new([vec![Err(too_long())]]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert_eq!(answer.unwrap_err().code, ErrorCode::ModelInputTooLong);
}

#[tokio::test]
async fn a_turn_that_is_repeated_with_less_input_is_one_round() {
    let limits = AgentLimits {
        max_rounds: 2,
        ..AgentLimits::default()
    };
    let bed = TestBed::with_query(&[], json!({})).await;
    let state = QueryState::new();
    let (sender, _progress) = mpsc::channel(16);
    let refused = || vec![Err(too_long())];
    let model = FakeModel::new([refused(), refused(), text_turn("Yes.")]);
    let conversation = [earlier("One?", 3_000), earlier("Two?", 9_000)].concat();
    let input = query_input(&bed.query, &bed.tools, &model, &limits, &sender, &state);
    let answered = answer(QueryInput {
        conversation: &conversation,
        ..input
    });
    assert_eq!(answered.await.unwrap().result, Some(json!("Yes.")));
}

#[tokio::test]
async fn pictures_of_earlier_queries_are_left_out_if_the_provider_refuses_the_request() {
    let bed = TestBed::with_query(&[], json!({})).await;
    let state = QueryState::new();
    let (sender, mut progress) = mpsc::channel(16);
    let failure = AgentFailure::new(ErrorCode::ModelRequestRefused, "no");
    let refused = || vec![Err(failure.clone().about_messages())];
    let model = FakeModel::new([refused(), text_turn("Yes.")]);
    let picture = Media {
        name: None,
        mime_type: "image/png".to_owned(),
        data: "iVBORw0KGgoA".into(),
    };
    let asked = ModelMessage::User(UserMessage {
        text: "What is it?".to_owned(),
        media: vec![picture],
    });
    let conversation = [asked, ModelMessage::Model(ModelTurn::default())];
    let limits = AgentLimits::default();
    let input = query_input(&bed.query, &bed.tools, &model, &limits, &sender, &state);
    let input = QueryInput {
        conversation: &conversation,
        ..input
    };
    assert_eq!(answer(input).await.unwrap().result, Some(json!("Yes.")));
    let mut notes = || {
        let events = std::iter::from_fn(|| progress.try_recv().ok());
        let events = events.map(|event| event.to_raw().get().to_owned());
        let notes = events.filter(|event| event.contains("were left out"));
        notes.count()
    };
    assert_eq!(notes(), 1);
    let ModelMessage::User(asked) = &model.requests()[1].history[0] else {
        panic!("the question is first");
    };
    assert!(asked.media.is_empty() && asked.text.contains("no longer attached"));

    // The pictures are not the reason if the request is also refused without them, or for another one.
    for (turns, requests) in [
        (vec![refused(), refused()], 2),
        (vec![vec![Err(failure.clone())]], 1),
    ] {
        let model = FakeModel::new(turns);
        let input = QueryInput {
            model: &model,
            ..input
        };
        let failure = answer(input).await.unwrap_err();
        assert_eq!(failure.code, ErrorCode::ModelRequestRefused);
        assert_eq!(model.requests().len(), requests);
        assert_eq!(notes(), 0);
    }
}

#[tokio::test]
async fn thoughts_of_earlier_queries_are_left_out_if_the_provider_refuses_the_request() {
    let bed = TestBed::with_query(&[], json!({})).await;
    let state = QueryState::new();
    let (sender, mut progress) = mpsc::channel(16);
    let refused = AgentFailure::new(ErrorCode::ModelRequestRefused, "not a thought");
    let refused = refused.about_messages();
    let model = FakeModel::new([vec![Err(refused)], text_turn("Yes.")]);
    let kept = json!({ "api": "responses", "origin": { "issuer": "i" }, "blocks": [] });
    let thought = ModelMessage::Model(ModelTurn {
        text: "It is late.".to_owned(),
        kept: Some(serde_json::from_value(kept).unwrap()),
        ..ModelTurn::default()
    });
    let conversation = [ModelMessage::from_text("Is it late?".to_owned()), thought];
    let limits = AgentLimits::default();
    let input = query_input(&bed.query, &bed.tools, &model, &limits, &sender, &state);
    let answered = answer(QueryInput {
        conversation: &conversation,
        ..input
    });
    assert_eq!(answered.await.unwrap().result, Some(json!("Yes.")));
    let has_thoughts = model.requests().into_iter().map(
        |request| matches!(&request.history[1], ModelMessage::Model(turn) if turn.kept.is_some()),
    );
    assert_eq!(has_thoughts.collect::<Vec<_>>(), [true, false]);
    while let Ok(content) = progress.try_recv() {
        let event = content.to_raw();
        assert!(!event.get().contains("\"note\""), "{event}");
    }
}

#[tokio::test]
async fn the_cache_group_is_a_digest_of_user_app_and_conversation() {
    let mut bed = TestBed::with_query(&[], json!({})).await;
    let (mut groups, mut users) = (Vec::new(), Vec::new());
    for (user, app, conversation) in [
        ("ada", "Board", Some("board-1")),
        ("ada", "Board", Some("board-1")),
        ("bob", "Board", Some("board-1")),
        ("ada", "Mail", Some("board-1")),
        ("ada", "Board", Some("board-2")),
        ("ada", "Board", None),
    ] {
        bed.query.conversation = conversation.map(str::to_owned);
        let caller = QueryCaller {
            user: user.to_owned(),
            sub: None,
            roles: Vec::new(),
            self_made: true,
            app: app.to_owned(),
            app_description: None,
            origin: None,
            session: SessionId::from("s"),
        };
        let model = FakeModel::new([text_turn("Yes.")]);
        let (limits, state) = (AgentLimits::default(), QueryState::new());
        let (sender, _progress) = mpsc::channel(16);
        let input = query_input(&bed.query, &bed.tools, &model, &limits, &sender, &state);
        let answered = answer(QueryInput {
            caller: Some(&caller),
            ..input
        });
        answered.await.unwrap();
        let request = model.requests().remove(0);
        groups.push(request.cache_group);
        users.push((user, request.user));
    }
    let users: BTreeSet<_> = users.into_iter().collect();
    assert_eq!(users.len(), 2, "one digest for each user: {users:?}");
    assert!(users.iter().all(|(user, digest)| !digest.contains(user)));
    assert_eq!(groups[0], groups[1]);
    let different: BTreeSet<_> = groups.iter().collect();
    assert_eq!(different.len(), 5, "{groups:?}");
    let is_digest =
        |group: &String| group.len() == 32 && group.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(groups.iter().all(is_digest), "{groups:?}");
}

#[tokio::test]
async fn messages_of_the_service_to_the_model_are_not_remembered() {
    let more = json!({ "responseTool": { "name": "plan" } });
    let mut bed = TestBed::with_query(&[tool_definition("plan")], more).await;
    bed.query.conversation = Some("c".to_owned());
    let model = FakeModel::new([text_turn("I will."), call_turn(&[("plan", json!({}))])]);
    let state = QueryState::new();
    let (sender, _progress) = mpsc::channel(16);
    let limits = AgentLimits::default();
    let TestBed {
        query, tools, page, ..
    } = &mut bed;
    let input = query_input(query, tools, &model, &limits, &sender, &state);
    let (answered, _) = tokio::join!(answer(input), page.serve_call(json!(1)));
    answered.unwrap();
    assert!(matches!(
        &model.requests()[1].history[2],
        ModelMessage::User(_)
    ));
    let transcript = state.transcript.finish(None).unwrap();
    let [
        ModelMessage::User(_),
        ModelMessage::Model(said),
        ModelMessage::Results(_),
        ModelMessage::Model(_),
    ] = &transcript.messages[..]
    else {
        panic!("{transcript:?}");
    };
    assert_eq!((&*said.text, said.calls.len()), ("I will.", 1));
}

#[tokio::test]
async fn pictures_of_tools_and_prompts_reach_a_model_that_reads_them() {
    let more = json!({ "attachments": [
        { "name": "a.png", "mimeType": "image/png", "data": "iVBORw0KGgoA" },
        { "name": "a.txt", "mimeType": "text/plain", "data": "aGk=" } ] });
    let mut bed = TestBed::with_query(&[tool_definition("draw")], more).await;
    let model = FakeModel::new([call_turn(&[("draw", json!({}))]), text_turn("A cat.")]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            let call = page.recv_call().await;
            let content = json!([
                { "type": "text", "text": "Drawn" },
                { "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgoAAAAA" },
                { "type": "image", "mimeType": "image/tiff", "data": "AAAA" },
            ]);
            let response = json!({ "type": "call-response", "requestId": call.request_id,
                "content": content });
            page.send_json(response).await;
        })
        .await;
    assert!(answer.is_ok());
    let ModelMessage::User(asked) = &model.requests()[0].history[0] else {
        panic!("the question is first");
    };
    assert_eq!(
        format!("{:?}", asked.media),
        "[Media(a.png, image/png, 9 bytes)]"
    );
    assert!(asked.text.contains(r#""value":"hi""#), "{}", asked.text);
    let drawn = &model.last_results()[0];
    let (text, note) = drawn.text.split_once("\n[service ").unwrap();
    assert_eq!(text, "Drawn\n[image/png, 12 bytes]\n[image/tiff, 3 bytes]");
    assert!(
        note.ends_with("] A picture is left out: this model cannot read it."),
        "{note}"
    );
    assert_eq!(format!("{:?}", drawn.media), "[Media(image/png, 12 bytes)]");
}

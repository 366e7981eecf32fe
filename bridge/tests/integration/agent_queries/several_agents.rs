//! Several agents: each user has always the same one.

use serde_json::json;

use super::{query_message, recv_query_event};
use crate::kit::mock_agent::{AgentRequest, MockAgent, UUID};
use crate::kit::*;

const USERS: usize = 24;

fn token(user: usize) -> String {
    format!("token-of-the-user-number-{user:02}")
}

/// The id of the query of a user.
fn uuid(user: usize) -> String {
    format!("{UUID}-{user:02}")
}

/// The number of the agent that gets the next request, and the request.
async fn next_request(agents: &mut [MockAgent; 2]) -> (usize, AgentRequest) {
    let [first, second] = agents;
    tokio::select! {
        request = first.next_request() => (0, request),
        request = second.next_request() => (1, request),
    }
}

#[tokio::test]
async fn queries_their_ends_and_conversations_of_a_user_are_at_one_agent() {
    let mut agents = [MockAgent::start().await, MockAgent::start().await];
    let mut config = agents[0].config();
    config
        .agent
        .agent_url
        .extend(agents[1].config().agent.agent_url);
    let bridge = start_bridge_with(config).await;
    let mut users = [0, 0];
    for user in 0..USERS {
        let mut page = Page::connect(&bridge, "asks", &token(user)).await;
        page.send_json(query_message(&uuid(user))).await;
        let (agent, request) = next_request(&mut agents).await;
        request.respond(202);
        assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
        let cancel = json!({ "type": "query_cancel", "uuid": uuid(user) });
        page.send_json(cancel).await;
        let (of_cancel, request) = next_request(&mut agents).await;
        request.respond(204);
        assert_eq!(of_cancel, agent);
        let token = token(user);
        let listed = get_json_as(&bridge, &token, "/conversations");
        let answered = async {
            let (of_list, request) = next_request(&mut agents).await;
            request.respond_with(axum::Json(json!({ "conversations": [] })));
            of_list
        };
        let (_, of_list) = tokio::join!(listed, answered);
        assert_eq!(of_list, agent);
        users[agent] += 1;
    }
    assert!(users.iter().all(|count| *count > 0), "{users:?}");
}

#[tokio::test]
async fn no_other_agent_takes_the_place_of_one_that_is_away() {
    let mut agent = MockAgent::start().await;
    let mut config = agent.config();
    // No program can listen there.
    config.agent.agent_url.push("127.0.0.1:0".parse().unwrap());
    let bridge = start_bridge_with(config).await;
    let (mut accepted, mut failed) = (0, 0);
    for user in 0..USERS {
        let mut page = Page::connect(&bridge, "asks", &token(user)).await;
        page.send_json(query_message(&uuid(user))).await;
        tokio::select! {
            request = agent.next_request() => {
                request.respond(202);
                accepted += 1;
            }
            failure = recv_query_event(&mut page) => {
                assert_eq!(failure["code"], "AgentUnavailable", "{failure}");
                failed += 1;
                continue;
            }
        }
        // The end of the page would cancel the query.
        page.send_json(json!({ "type": "query_cancel", "uuid": uuid(user) }))
            .await;
        agent.recv_cancellation(&uuid(user)).await.respond(204);
    }
    assert!(accepted > 0 && failed > 0, "{accepted}, {failed}");
    assert!(agent.is_idle());
}

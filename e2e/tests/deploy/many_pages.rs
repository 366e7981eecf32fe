//! More pages than the nginx of Debian serves with its own file.

use futures_util::future::join_all;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::deployment::{Deployment, user_token};
use crate::proxy::ProxyKind;

/// The file of Debian allows 768 connections of a worker, two of each page, and this machine may have two
/// workers.
const PAGES: usize = 1000;

/// The pages of one user: `max_sessions` of `bridge.toml`.
const PAGES_OF_USER: usize = 20;

#[tokio::test]
async fn a_thousand_pages_connect_through_nginx() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let deployment = Deployment::start(ProxyKind::Nginx).await;
    let mut pages = Vec::new();
    for user in 0..PAGES / PAGES_OF_USER {
        let token = user_token(user);
        let connecting = (0..PAGES_OF_USER).map(|page| {
            let (deployment, token) = (&deployment, &token);
            async move {
                let session = format!("page-{page}");
                deployment.connect_page("", &session, token).await
            }
        });
        pages.extend(join_all(connecting).await);
    }
    assert_eq!(pages.len(), PAGES);
    // All of them are still connected.
    let authorization = format!("Authorization: Bearer {}", user_token(0));
    let answer = deployment
        .get("2", "/sessions", &["--header", &authorization])
        .await;
    assert_eq!(
        answer.json()["sessions"].as_array().unwrap().len(),
        PAGES_OF_USER
    );
}

//! Which repositories a call may use, and that nothing else is requested or shown.

use super::*;

/// Calls a tool for a repository, and checks the outcome.
async fn assert_outcome(source: &Github, tool: &str, repository: &str, expected: CallStatus) {
    let mut arguments = match tool {
        "get_file" => json!({ "path": "a" }),
        "create_issue" => json!({ "title": "t" }),
        "search_code" => json!({ "query": "q" }),
        _ => json!({}),
    };
    arguments["repository"] = repository.into();
    let output = call(source, tool, arguments).await;
    assert_eq!(
        output.outcome, expected,
        "{tool} {repository}: {}",
        output.text
    );
}

#[tokio::test]
async fn a_repository_that_is_not_allowed_is_not_requested() {
    let server = FakeApi::start([]).await;
    let source = github(&server, &["Acme/*", "octo/hello-*", "octo/one"]);
    for repository in [
        "other/secret",
        "acmes/x",
        "octo/two",
        "octo/hello",
        "x-octo/one",
    ] {
        for tool in [
            "get_file",
            "list_pull_requests",
            "create_issue",
            "search_code",
        ] {
            assert_outcome(&source, tool, repository, CallStatus::Denied).await;
        }
    }
    for repository in [
        "",
        "acme",
        "acme/",
        "/x",
        "acme/..",
        "acme/.",
        "acme/x/y",
        "acme/x y",
        "acme/x?y",
        "acme/x#y",
        "acme/%2e%2e",
        "acme/x\u{200b}",
        "acme/\t..",
    ] {
        for tool in ["get_file", "search_code"] {
            assert_outcome(&source, tool, repository, CallStatus::InvalidArguments).await;
        }
    }
    assert!(server.requests().is_empty());
    for repository in ["acme/x", "ACME/X.y_z-1", "octo/Hello-World", "octo/one"] {
        assert!(
            source.repositories.allowed(repository).is_ok(),
            "{repository}"
        );
    }
}

#[tokio::test]
async fn a_path_does_not_lead_out_of_its_repository() {
    let server = FakeApi::start([]).await;
    let source = github(&server, &["acme/*"]);
    for path in [
        "../../../other/secret/contents/a",
        "a/./b",
        "a//b",
        "a/",
        "..",
        ".\t./.\n./x",
        "a/.\r.",
        "a/\u{7}",
    ] {
        let arguments = json!({ "repository": "acme/x", "path": path });
        let output = call(&source, "get_file", arguments).await;
        assert_eq!(output.outcome, CallStatus::InvalidArguments, "{path:?}");
    }
    assert!(server.requests().is_empty());
    for path in [
        "%2e%2e/%2E./x",
        "..%2f..",
        "..\\..\\x",
        "...",
        ".\u{200b}./x",
    ] {
        let arguments = json!({ "repository": "acme/x", "path": path });
        call(&source, "get_file", arguments).await;
        let target = server.requests().last().unwrap().target.clone();
        let rest = target.strip_prefix("/repos/acme/x/contents/").unwrap();
        let segments: Vec<_> = rest.split(['/', '\\']).collect();
        let is_dots =
            |it: &&str| ["..", ".", "%2e%2e", "%2e.", ".%2e"].contains(&it.to_lowercase().as_str());
        assert!(!segments.iter().any(is_dots), "{path:?}: {target}");
    }
}

/// Returns the query that is sent, or the outcome if none is.
async fn sent_query(allowed: &[&str], arguments: Value) -> Result<String, CallStatus> {
    let server = FakeApi::start([json_response(200, r#"{"items":[]}"#)]).await;
    let output = call(&github(&server, allowed), "search_code", arguments).await;
    if server.requests().is_empty() {
        return Err(output.outcome);
    }
    let url = reqwest::Url::parse(&format!("http://a{}", server.request().target)).unwrap();
    let query = url.query_pairs().find(|(name, _)| name == "q").unwrap();
    Ok(query.1.into_owned())
}

#[tokio::test]
async fn a_search_is_limited_to_what_is_allowed() {
    let allowed = ["acme/*", "octo/hello-*", "octo/one"];
    let query = sent_query(&allowed, json!({ "query": "tide language:rust" })).await;
    assert_eq!(
        query.unwrap(),
        "user:acme user:octo repo:octo/one tide language:rust"
    );
    let arguments = json!({ "query": "std::vec", "repository": "acme/x" });
    assert_eq!(
        sent_query(&allowed, arguments).await.unwrap(),
        "repo:acme/x std::vec"
    );
    // All is allowed.
    let arguments = json!({ "query": "x repo:a/b" });
    assert_eq!(sent_query(&[], arguments).await.unwrap(), "x repo:a/b");
    let arguments = json!({ "query": "x", "repository": "a/b" });
    assert_eq!(sent_query(&[], arguments).await.unwrap(), "repo:a/b x");
}

#[tokio::test]
async fn a_query_cannot_name_other_repositories() {
    for query in [
        "x repo:other/secret",
        "REPO:other/secret",
        "x org:other",
        "x user:other",
        "x -repo:acme/x",
        "NOT repo:acme/x",
        "(repo:other/secret)",
        "\"repo:other/secret\"",
        "x\trepo:other/secret",
        "x \"y\"repo:other/secret",
        "re\u{200b}po:other/secret",
        "repo\u{2060}:other/secret",
        "x OR enterprise:all",
        "repo :other/secret",
        "x\u{a0}owner:other",
    ] {
        let denied = Err(CallStatus::Denied);
        assert_eq!(
            sent_query(&["acme/*"], json!({ "query": query })).await,
            denied,
            "{query}"
        );
        let arguments = json!({ "query": query, "repository": "acme/x" });
        assert_eq!(sent_query(&[], arguments).await, denied, "{query}");
    }
    for query in [
        "monorepo:",
        "superuser: x",
        "repo",
        "x OR y",
        "\"unclosed",
        "http://a",
    ] {
        let sent = sent_query(&["acme/*"], json!({ "query": query })).await;
        assert_eq!(sent.unwrap(), format!("user:acme {query}"));
    }
}

#[tokio::test]
async fn a_result_of_another_repository_is_not_shown() {
    let item = |repository: Value| {
        json!({ "path": "p", "html_url": "https://github.com/x", "repository": repository,
            "text_matches": [{ "fragment": "secret\u{202e}" }] })
    };
    let named = |name: &str| item(json!({ "full_name": name }));
    let body = json!({ "total_count": 6, "incomplete_results": false, "items": [
        named("other/secret"), named("acme/x"), named("Acme/Y"), named("acme"), item(Value::Null),
        { "path": "p" } ] })
    .to_string();
    let names = async |allowed: &[&str], arguments: Value| {
        let server = FakeApi::start([json_response(200, &body)]).await;
        let output = call(&github(&server, allowed), "search_code", arguments).await;
        assert!(!output.text.contains(['\u{202e}', '6']), "{}", output.text);
        let items = found(&output).as_array().unwrap().clone();
        let names = items
            .iter()
            .map(|it| it["repository"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let all = json!({ "query": "x OR y" });
    assert_eq!(names(&["acme/*"], all.clone()).await, ["acme/x", "Acme/Y"]);
    let one = json!({ "query": "x", "count": 1 });
    assert_eq!(names(&["acme/*"], one).await, ["acme/x"]);
    let requested = json!({ "query": "x", "repository": "acme/y" });
    assert_eq!(names(&["acme/*"], requested.clone()).await, ["Acme/Y"]);
    assert_eq!(names(&[], requested).await, ["Acme/Y"]);
}

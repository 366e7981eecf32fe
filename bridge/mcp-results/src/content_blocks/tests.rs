use serde_json::json;

use super::*;

fn text_block_with(member: &str, value: Value) -> Value {
    let mut block = json!({ "type": "text", "text": "t" });
    block[member] = value;
    block
}

fn image_block_with(member: &str, value: Value) -> Value {
    let mut block = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    block[member] = value;
    block
}

fn resource_block(resource: Value) -> Value {
    json!({ "type": "resource", "resource": resource })
}

fn link_block_with(member: &str, value: Value) -> Value {
    let mut block = json!({ "type": "resource_link", "uri": "a:b", "name": "n" });
    block[member] = value;
    block
}

#[test]
fn content_without_a_certain_meaning_is_rejected() {
    let wrong = [
        (json!(7), "no known `type`"),
        (json!({ "type": "picture" }), "no known `type`"),
        (json!({ "type": "text", "text": 7 }), "a string at `text`"),
        (
            text_block_with("annotations", json!("high")),
            "`annotations` must be an object",
        ),
        (
            text_block_with("annotations", json!({ "audience": "user" })),
            "`annotations.audience`",
        ),
        (
            text_block_with("annotations", json!({ "audience": ["me"] })),
            "`annotations.audience`",
        ),
        (
            text_block_with("annotations", json!({ "priority": "1" })),
            "a number from 0 to 1",
        ),
        (
            text_block_with("annotations", json!({ "lastModified": 7 })),
            "`annotations.lastModified`",
        ),
        (
            text_block_with("annotations", json!({ "lastModified": "yesterday" })),
            "toISOString()",
        ),
        (
            text_block_with("_meta", json!([])),
            "`_meta` must be an object",
        ),
        (image_block_with("data", json!("%%%")), "not base64: '%'"),
        (image_block_with("data", json!("")), "has no `data`"),
        (
            image_block_with("data", json!([137, 80])),
            "a string at `data`",
        ),
        (
            image_block_with("data", json!("data:image/svg+xml,<svg/>")),
            "without base64",
        ),
        (
            image_block_with("mimeType", json!(7)),
            "a string at `mimeType`",
        ),
        (
            json!({ "type": "image", "data": "AAAA" }),
            "a string at `mimeType`",
        ),
        (
            json!({ "type": "audio", "data": "AAAA" }),
            "a string at `mimeType`",
        ),
        (link_block_with("uri", json!("cards/1")), "not a URI"),
        (
            link_block_with("uri", json!("board://a:b")),
            "host and port",
        ),
        (link_block_with("name", json!(7)), "a string at `name`"),
        (
            link_block_with("title", json!(1)),
            "`title` must be a string",
        ),
        (
            link_block_with("mimeType", json!(1)),
            "`mimeType` must be a string",
        ),
        (
            link_block_with("size", json!(1.5)),
            "`size` must be a whole number",
        ),
        (
            link_block_with("icons", json!({})),
            "`icons` must be an array",
        ),
        (
            resource_block(json!({ "uri": "a:b", "text": "t", "mimeType": 1 })),
            "`mimeType`",
        ),
        (
            resource_block(json!({ "uri": "a:b", "blob": "%%%" })),
            "not base64",
        ),
        (
            resource_block(json!({ "uri": "a:b", "blob": 7 })),
            "`blob` must be a string",
        ),
        (
            resource_block(json!({ "uri": "a:b" })),
            "a string at `text`, or base64",
        ),
        (
            resource_block(json!({ "uri": "", "text": "" })),
            "not a URI",
        ),
        (resource_block(json!([])), "an object at `resource`"),
    ];
    for (block, why) in wrong {
        let content = json!([{ "type": "text", "text": "" }, block]);
        assert!(!can_pass_through(&content.to_string()), "{content}");
        let error = validate_blocks(content.clone()).unwrap_err();
        assert!(
            error.contains(why) && error.contains("block 1"),
            "{content}: {error}"
        );
        let mut messages = [json!({ "role": "user", "content": block })];
        let error = repair_messages(&mut messages).unwrap_err();
        assert!(
            error.contains(why) && error.contains("message 0"),
            "{error}"
        );
        if let Some(resource) = block.get("resource").filter(|it| it.is_object()) {
            let error = repair_contents(&mut [resource.clone()], "x:y").unwrap_err();
            assert!(
                error.contains(why) && error.contains("content 0"),
                "{error}"
            );
        }
    }
}

#[test]
fn content_with_a_certain_meaning_is_repaired() {
    let png = "iVBORw0KGgoAAAAN";
    for (block, repaired) in [
        (
            image_block_with("data", json!("data:image/webp;base64,AA-_")),
            json!({ "type": "image", "data": "AA+/", "mimeType": "image/webp" }),
        ),
        (
            json!({ "type": "image", "data": format!("{png}\n") }),
            json!({ "type": "image", "data": png, "mimeType": "image/png" }),
        ),
        (
            image_block_with("data", json!("data:application/octet-stream;base64,AA==")),
            json!({ "type": "image", "data": "AA==", "mimeType": "image/png" }),
        ),
        (
            image_block_with("data", json!("data:;base64,AA==")),
            json!({ "type": "image", "data": "AA==", "mimeType": "image/png" }),
        ),
        (
            json!({ "type": "image",
                "data": format!("data:application/octet-stream;base64,{png}") }),
            json!({ "type": "image", "data": png, "mimeType": "image/png" }),
        ),
        (
            resource_block(json!({ "uri": "a:b", "mimeType": "application/pdf",
                "blob": "data:application/octet-stream;base64,AA" })),
            resource_block(json!({ "uri": "a:b", "mimeType": "application/pdf",
                "blob": "AA==" })),
        ),
        (
            link_block_with("uri", json!("file:///home/ada/My Documents/a b.txt ")),
            json!({ "type": "resource_link", "name": "n",
                "uri": "file:///home/ada/My%20Documents/a%20b.txt" }),
        ),
        (
            resource_block(json!({ "uri": "board:My cards", "text": "t" })),
            resource_block(json!({ "uri": "board:My%20cards", "text": "t" })),
        ),
        (
            json!({ "type": "audio", "data": "data:audio/wav;base64,AAA" }),
            json!({ "type": "audio", "data": "AAA=", "mimeType": "audio/wav" }),
        ),
        (
            json!({ "type": "image", "data": "data:IMAGE/PNG;base64,AA==" }),
            json!({ "type": "image", "data": "AA==", "mimeType": "IMAGE/PNG" }),
        ),
        // A type of another kind is better than none.
        (
            json!({ "type": "audio", "data": "data:video/webm;base64,AA==" }),
            json!({ "type": "audio", "data": "AA==", "mimeType": "video/webm" }),
        ),
        (
            json!({ "type": "audio", "data": "data:;base64,AA==", "mimeType": "application/ogg" }),
            json!({ "type": "audio", "data": "AA==", "mimeType": "application/ogg" }),
        ),
        (
            json!({ "type": "image", "data": png, "mimeType": "application/octet-stream" }),
            json!({ "type": "image", "data": png, "mimeType": "image/png" }),
        ),
        (
            resource_block(json!({ "uri": "a:b", "text": null, "blob": "data:a/b;base64,AA" })),
            resource_block(json!({ "uri": "a:b", "blob": "AA==", "mimeType": "a/b" })),
        ),
        (
            json!({ "type": "resource_link", "uri": "a:b", "title": "B" }),
            json!({ "type": "resource_link", "uri": "a:b", "title": "B", "name": "B" }),
        ),
        (
            json!({ "type": "resource_link", "uri": "a:b", "name": null }),
            json!({ "type": "resource_link", "uri": "a:b", "name": "a:b" }),
        ),
        (
            text_block_with(
                "annotations",
                json!({ "priority": 2, "lastModified": "2026-01-31" }),
            ),
            text_block_with(
                "annotations",
                json!({ "priority": 1, "lastModified": "2026-01-31T00:00:00Z" }),
            ),
        ),
    ] {
        assert!(!can_pass_through(&json!([block]).to_string()), "{block}");
        assert_eq!(validate_blocks(json!([block])), Ok(vec![repaired.clone()]));
        assert_eq!(validate_blocks(json!([repaired])), Ok(vec![repaired]));
    }
}

#[test]
fn contents_have_the_uri_of_the_request_unless_they_have_another() {
    let requested = "board://cards:today";
    let mut contents = [
        json!({ "text": "t" }),
        json!({ "uri": null, "blob": "AA" }),
        json!({ "uri": requested, "text": "t" }),
        json!({ "uri": "a:b", "text": "t" }),
    ];
    repair_contents(&mut contents, requested).unwrap();
    let uris: Vec<_> = contents.iter().map(|content| &content["uri"]).collect();
    assert_eq!(uris, [requested, requested, requested, "a:b"]);
    assert_eq!(contents[1]["blob"], "AA==");
}

#[test]
fn valid_members_stay_and_null_members_are_removed() {
    let annotations =
        json!({ "audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z" });
    for right in [
        text_block_with("annotations", annotations.clone()),
        text_block_with("_meta", json!({ "a": null })),
        text_block_with("title", json!(7)),
        link_block_with("icons", json!([{ "src": "a.png" }])),
        link_block_with("size", json!(7)),
        image_block_with("data", json!("+/A=")),
    ] {
        assert_eq!(validate_blocks(json!([right])), Ok(vec![right]));
    }
    assert!(can_pass_through(
        &json!([
            text_block_with("annotations", annotations),
            image_block_with("data", json!("+/A="))
        ])
        .to_string()
    ));
    for member in [
        "annotations",
        "_meta",
        "title",
        "description",
        "mimeType",
        "size",
        "icons",
    ] {
        let content = json!([link_block_with(member, Value::Null)]);
        assert!(!can_pass_through(&content.to_string()), "{member}");
        let bare = json!({ "type": "resource_link", "uri": "a:b", "name": "n" });
        assert_eq!(validate_blocks(content), Ok(vec![bare]), "{member}");
    }
    let half = text_block_with("annotations", json!({ "audience": null, "priority": 1 }));
    assert!(!can_pass_through(&json!([half]).to_string()));
    let repaired = text_block_with("annotations", json!({ "priority": 1 }));
    assert_eq!(validate_blocks(json!([half])), Ok(vec![repaired]));
}

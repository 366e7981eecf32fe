use serde_json::json;

use super::*;

#[test]
fn smoke() {
    let v = TextValidator::new(&json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false})).unwrap();
    assert_eq!(v.verdict(r#"{"a":1}"#, 1000), TextVerdict::Valid);
    assert_eq!(v.verdict(r#"{"a":1.0}"#, 1000), TextVerdict::Valid);
    assert_eq!(v.verdict(r#"{"a":1.5}"#, 1000), TextVerdict::Invalid);
    assert_eq!(v.verdict(r#"{"b":1}"#, 1000), TextVerdict::Invalid);
}

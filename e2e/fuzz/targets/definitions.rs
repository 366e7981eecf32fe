//! Definitions of pages, and the schemas in them.

mod schema;

use std::time::{Duration, Instant};

use bridge_protocol::{Definition as Sent, Kind};
use bridge_realm::definition::tool::SchemaSupport;
use bridge_realm::definition::{DefinitionLimits, DefinitionRegistry, SharedDefinition};
use bridge_schema::{Effort, ValidationFailure, Validator, dialect};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::choices::Choices;
use crate::mutation::{mutate, mutated_text};
use crate::templates::page_message;
use schema::{DRAFTS, any_schema, any_value};

/// How long one definition or one validation may take. Usually it is less than a millisecond; the
/// machine may run other tests at the same time.
const MAX_TIME: Duration = Duration::from_secs(5);

const LIMITS: DefinitionLimits = DefinitionLimits {
    max_bytes: 64 * 1024,
};

/// An upgraded schema accepts the same values as the original one in its own draft.
#[test]
fn schemas_agree_with_the_validator_of_their_draft() {
    bolero::check!()
        .with_iterations(0)
        .for_each(|input: &[u8]| {
            let mut choices = Choices::new(input);
            let draft = choices.pick(&DRAFTS);
            let schema = any_schema(&mut choices, draft);
            let formats = jsonschema::options().with_draft(draft.draft);
            let Ok(reference) = formats.should_validate_formats(true).build(&schema) else {
                return;
            };
            let started = Instant::now();
            let upgraded = dialect::to_2020_12(Some(&schema));
            let Ok(validator) = upgraded.and_then(Validator::new) else {
                return;
            };
            for _ in 0..4 {
                let value = json!({ "v": any_value(&mut choices) });
                let text = value.to_string();
                let of_text = validator.try_validate_text(&text, Effort::Full);
                let is_valid = match validator.validate(&value) {
                    Ok(()) => true,
                    Err(ValidationFailure::InvalidValue { .. }) => false,
                    Err(ValidationFailure::TooCostly) => continue,
                    Err(failure) => panic!("{failure}: {value} for {schema}"),
                };
                assert_eq!(
                    of_text.map(|it| it.is_ok()),
                    Some(is_valid),
                    "{text} for {schema}"
                );
                let expected = reference.is_valid(&value);
                assert_eq!(is_valid, expected, "{value} for {schema}");
            }
            assert!(started.elapsed() < MAX_TIME, "{schema}");
        });
}

/// A listed definition can be registered again, and is then listed unchanged.
#[test]
fn published_definitions_can_be_registered_again() {
    bolero::check!()
        .with_iterations(0)
        .for_each(|input: &[u8]| {
            let mut choices = Choices::new(input);
            let (kind, text) = any_definition(&mut choices);
            let Ok(raw) = RawValue::from_string(text) else {
                return;
            };
            let registry = DefinitionRegistry::new(|_, _| Ok(()), LIMITS);
            let started = Instant::now();
            let Some(definition) = register(&registry, kind, raw) else {
                return;
            };
            check_published(&registry, &definition, &mut choices);
            assert!(started.elapsed() < MAX_TIME, "{}", definition.name());
        });
}

/// A definition of any kind, changed at some places.
fn any_definition(choices: &mut Choices<'_>) -> (Kind, String) {
    let mut template = page_message("register");
    let items = template["items"].as_array_mut().expect("it has items");
    let index = choices.below(items.len());
    let item = items[index].take();
    let kind = serde_json::from_value(item["kind"].clone()).unwrap();
    let words: Vec<String> = [
        "session_id",
        "$ref",
        "type",
        "anyOf",
        "enum",
        "{+id*}",
        "timeout",
    ]
    .map(str::to_owned)
    .into();
    let mut definition = mutate(&item["definition"], choices, &words);
    if kind == Kind::Tool
        && let Some(tool) = definition.as_object_mut()
    {
        for key in ["inputSchema", "outputSchema"] {
            if choices.one_in(2) {
                let draft = choices.pick(&DRAFTS);
                let schema = any_schema(choices, draft);
                tool.insert(key.to_owned(), mutate(&schema, choices, &words));
            }
        }
    }
    (kind, mutated_text(&definition, choices))
}

/// Registers a definition; `None` if it is refused.
fn register(
    registry: &DefinitionRegistry,
    kind: Kind,
    definition: Box<RawValue>,
) -> Option<SharedDefinition> {
    let bytes = definition.get().len();
    match registry.parse(&[Sent { kind, definition }]).remove(0) {
        Ok(definition) => {
            assert_eq!(definition.bytes(), bytes);
            Some(definition)
        }
        Err(failure) => {
            assert!(!failure.message.is_empty());
            assert!(
                failure.message.len() <= 4 * 1024 + bytes,
                "{}",
                failure.message
            );
            None
        }
    }
}

fn check_published(
    registry: &DefinitionRegistry,
    definition: &SharedDefinition,
    choices: &mut Choices<'_>,
) {
    let published = definition.published().clone();
    let again = register_published(registry, definition.kind(), &published);
    assert_eq!(again.published_name(), definition.published_name());
    assert_eq!(json!(again.published()), json!(published));
    if let SharedDefinition::Tool(tool) = definition {
        for (root_unions, output_keywords) in [(false, false), (true, false), (true, true)] {
            let support = SchemaSupport {
                root_unions,
                output_keywords,
            };
            let plain = definition.published_for(support).into_owned();
            register_published(registry, Kind::Tool, &plain);
        }
        let unparsed = tool.unparsed();
        assert_eq!(unparsed.name(), tool.name());
        assert_eq!(json!(unparsed.published()), json!(published));
        for validator in [Some(tool.input_validator()), tool.output_validator()] {
            let value = any_value(choices);
            let failure = validator.and_then(|validator| validator.validate(&value).err());
            if let Some(ValidationFailure::InvalidSchema(error)) = &failure {
                panic!("{error}: {published:?}");
            }
            assert!(failure.is_none_or(|failure| failure.to_string().len() < 16 * 1024));
        }
    }
    definition.serves(&choices.text());
}

fn register_published(
    registry: &DefinitionRegistry,
    kind: Kind,
    published: &Map<String, Value>,
) -> SharedDefinition {
    let raw = serde_json::value::to_raw_value(published).unwrap();
    match registry
        .parse(&[Sent {
            kind,
            definition: raw,
        }])
        .remove(0)
    {
        Ok(definition) => definition,
        Err(failure) => panic!("{}: {published:?}", failure.message),
    }
}

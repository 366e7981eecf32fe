//! The rows of `rules.toml`: each is for models that are known, or for those that are not.

use super::*;

fn find(provider: Provider, api: Api, is_official: bool, model: &str) -> ModelRules {
    let query = ModelQuery {
        provider,
        api,
        is_official,
        model,
    };
    super::find(query, None).unwrap().0
}

fn own_rows() -> Vec<ModelRules> {
    let file: RulesFile = toml::from_str(OWN_ROWS).unwrap();
    let parse = |row: Table| {
        row.clone().try_into().unwrap_or_else(|error| {
            panic!("{error}: {row}");
        })
    };
    file.models.into_iter().map(parse).collect()
}

/// Returns the rules of a model at a server that a row is for.
fn find_like(row: &ModelRules, model: &str) -> ModelRules {
    let provider = match row.apis[..] {
        [Api::Messages] => Provider::Anthropic,
        [Api::Gemini] => Provider::Gemini,
        _ if row.ollama == Some(true) => Provider::Ollama,
        _ => Provider::Openai,
    };
    find(provider, row.apis[0], row.official == Some(true), model)
}

/// Returns each row for models that are known, with their names.
fn known_models() -> Vec<(ModelRules, String)> {
    let rows = own_rows().into_iter();
    let names = rows.flat_map(|row| {
        let names = row.models.clone().into_iter();
        names.map(move |name| (row.clone(), name))
    });
    names.filter(|(_, name)| !name.contains('*')).collect()
}

#[test]
fn each_row_says_where_it_is_from() {
    for row in own_rows() {
        assert!(!row.source.is_empty(), "{row:?}");
        let (day, asked) = row.date.split_once(", ").unwrap();
        assert!(is_day(day) && asked == "not asked", "{row:?}");
    }
}

#[test]
fn a_row_before_another_does_not_hide_it() {
    let rows = own_rows();
    for (index, row) in rows.iter().enumerate() {
        for earlier in &rows[..index] {
            let same = earlier.apis == row.apis
                && earlier.official == row.official
                && earlier.ollama == row.ollama;
            for name in row.models.iter().filter(|_| same) {
                let hidden = earlier.models.iter().any(|it| matches_pattern(it, name));
                assert!(!hidden, "{name} is hidden by {:?}", earlier.models);
            }
        }
    }
}

#[test]
fn rows_differ_in_more_than_names() {
    let rows: Vec<_> = own_rows()
        .into_iter()
        .map(|row| ModelRules {
            models: Vec::new(),
            source: String::new(),
            date: String::new(),
            ..row
        })
        .collect();
    for (index, row) in rows.iter().enumerate() {
        assert!(!rows[..index].contains(row), "{:?}", own_rows()[index]);
    }
}

#[test]
fn a_row_is_used_for_its_models_and_their_snapshots() {
    for (row, name) in known_models() {
        for suffix in ["", "-20261101", "@20261101", "-2026-11-01"] {
            let found = find_like(&row, &format!("{name}{suffix}"));
            assert_eq!(found, row, "{name}{suffix}");
        }
        assert_eq!(find_like(&row, &format!("provider/{name}")), row, "{name}");
    }
}

#[test]
fn a_version_that_is_not_known_has_the_row_of_unknown_models() {
    let known = known_models();
    for (row, name) in &known {
        let is_claude = name.starts_with("claude-");
        let unknown = if is_claude {
            "claude-unknown"
        } else {
            "unknown"
        };
        let unknown = find_like(row, unknown);
        assert!(unknown.models.iter().all(|name| name.ends_with('*')));
        let later = name.replace(|letter: char| letter.is_ascii_digit(), "9");
        let suffixes = [
            "-9",
            ".9",
            "9",
            "-next",
            "-2026",
            "-20261101-next",
            "-9-2026-11-01",
        ];
        let versions = suffixes.map(|suffix| format!("{name}{suffix}"));
        let versions = versions.into_iter().chain([later]);
        for version in versions.filter(|version| known.iter().all(|(_, name)| name != version)) {
            assert_eq!(find_like(row, &version), unknown, "{version}");
        }
    }
}

#[test]
fn a_model_that_is_known_has_a_price() {
    let file: RulesFile = toml::from_str(OWN_ROWS).unwrap();
    for (_, name) in known_models() {
        assert!(longest_match(&file.prices, &name).is_some(), "{name}");
    }
    // A new version may cost something else.
    let names = file.prices.keys().chain(file.ends.keys());
    for name in names {
        assert!(!name.contains('*'), "{name}");
    }
}

#[test]
fn long_prompts_and_days_change_the_prices_that_are_known_to_do_so() {
    let file: RulesFile = toml::from_str(OWN_ROWS).unwrap();
    for (model, day, input, expected) in [
        ("claude-haiku-5-5", "2026-11-29", 100_000, 0.06),
        ("claude-haiku-5-5", "2026-11-29", 100_001, 0.3),
        ("gpt-6.1-terra", "2026-11-29", 272_000, 0.772),
        ("gpt-6.1-terra", "2026-11-29", 300_000, 1.35),
        ("gpt-5.4-mini", "2026-11-29", 272_000, 0.654),
        ("gpt-5.6", "2026-11-21", 100_000, 2.4),
        ("gpt-5.6", "2026-11-22", 100_000, 3.5),
        ("gemini-3.1-pro-preview", "2026-11-29", 200_000, 1.6),
        ("gemini-3.1-pro-preview", "2026-11-29", 300_000, 3.0),
        ("gemini-2.5-pro", "2026-11-30", 300_000, 2.25),
        ("gemini-2.5-pro", "2026-12-01", 300_000, 0.6),
        ("gemini-3.5-flash", "2026-10-07", 100_000, 1.05),
        ("gemini-3.5-flash", "2026-10-08", 100_000, 0.45),
    ] {
        let price = longest_match(&file.prices, model).unwrap();
        let tokens = bridge_protocol::TokenUsage {
            input,
            output: 100_000,
            ..bridge_protocol::TokenUsage::default()
        };
        let cost = price.on(day.parse().unwrap()).unwrap().of(&tokens, 0);
        assert!(
            (cost - expected).abs() < 1e-4,
            "{model} {day} {input}: {cost}"
        );
    }
    for routed in ["gemini-3.5-flash", "gemini-3.7-flash"] {
        assert!(file.ends.contains_key(routed), "{routed}");
    }
}

#[test]
fn only_openai_itself_offers_no_tools_to_some_models_in_chat_completions() {
    for (model, is_official, expected) in [
        ("gpt-6.2-sol", true, false),
        ("gpt-6.1-terra", true, false),
        ("gpt-5.4-pro", true, false),
        ("openai/gpt-6.2-sol", false, true),
        ("gpt-5.6-sol", true, true),
        ("gpt-5-mini", true, true),
        ("o4-pro", true, true),
    ] {
        let rules = find(Provider::Openai, Api::ChatCompletions, is_official, model);
        assert_eq!(rules.tools, expected, "{model}");
    }
}

#[test]
fn models_have_the_rules_of_their_family() {
    let off = |rules: &ModelRules| Value::Object(rules.thinking.fields(Thinking::Off).clone());
    let anthropic = |model| find(Provider::Anthropic, Api::Messages, true, model);
    let opus = anthropic("claude-opus-5-5");
    assert_eq!(opus.forced_tools, ForcedTools::No);
    let sonnet = anthropic("claude-sonnet-5-5");
    assert_eq!(off(&sonnet)["thinking"]["type"], "between_tools");
    let haiku = anthropic("claude-haiku-5-5");
    assert_eq!(off(&haiku)["thinking"]["type"], "disabled");
    // A change of the prefix costs thoughts, and no request.
    for rules in [
        opus,
        anthropic("claude-opus-5-6"),
        anthropic("claude-new-9"),
    ] {
        let thinking = &off(&rules)["thinking"];
        assert_eq!(thinking["type"], "adaptive");
        let behavior = &thinking["block_binding"]["prefix_mismatch_behavior"];
        assert_eq!(behavior, "drop_block");
        assert!(rules.headers.contains_key("anthropic-beta"));
    }

    let openai = |model| find(Provider::Openai, Api::Responses, true, model);
    assert_eq!(off(&openai("gpt-5.6-sol"))["reasoning"]["effort"], "none");
    assert_eq!(off(&openai("gpt-6.2-astra"))["reasoning"]["effort"], "low");
    assert_eq!(off(&openai("gpt-4.1-mini")), Value::Object(Map::new()));

    let chat = |model| find(Provider::Openai, Api::ChatCompletions, true, model);
    assert_eq!(off(&chat("gpt-5-mini"))["reasoning_effort"], "minimal");
    assert_eq!(off(&chat("gpt-5.6-sol"))["reasoning_effort"], "none");
    assert_eq!(off(&chat("o4-pro")), Value::Object(Map::new()));

    let gemini = |model| find(Provider::Gemini, Api::Gemini, true, model);
    let level = "/generationConfig/thinkingConfig/thinkingLevel";
    let argon = off(&gemini("gemini-4-argon"));
    assert_eq!(argon.pointer(level).unwrap(), "low");
    assert_eq!(off(&gemini("gemini-9")), Value::Object(Map::new()));
}

#[test]
fn a_model_that_always_thinks_has_a_larger_reserve() {
    for (setting, always, expected) in [
        (Thinking::Off, false, 0),
        (Thinking::Off, true, 25_000),
        (Thinking::Low, false, 4_000),
        (Thinking::Low, true, 25_000),
        (Thinking::Medium, false, 12_000),
        (Thinking::Medium, true, 25_000),
        (Thinking::High, false, 32_000),
        (Thinking::High, true, 32_000),
    ] {
        let effort = |effort: &str| Map::from_iter([("effort".to_owned(), effort.into())]);
        let fields = ThinkingFields {
            always,
            off: effort("none"),
            low: effort("low"),
            medium: effort("medium"),
            high: effort("high"),
        };
        assert_eq!(fields.reserve(setting), expected, "{setting:?} {always}");
        // Without fields, nothing makes the model think more.
        let fields = ThinkingFields {
            always,
            ..ThinkingFields::default()
        };
        let expected = if always { MIN_RESERVE } else { 0 };
        assert_eq!(fields.reserve(setting), expected, "{setting:?} {always}");
    }
    // `between_tools` is thinking, and a model without fields thinks as much as it likes.
    let sonnet = find(
        Provider::Anthropic,
        Api::Messages,
        true,
        "claude-sonnet-5-5",
    );
    let unknown = find(Provider::Openai, Api::Responses, true, "gpt-9");
    assert!(sonnet.thinking.always && unknown.thinking.always);
    // In chat completions, it calls tools only without reasoning.
    let sol = find(Provider::Openai, Api::ChatCompletions, true, "gpt-6-sol");
    assert_eq!(sol.max_output_tokens(Thinking::High, 100), 100);
}

#[test]
fn a_model_that_always_thinks_shows_its_thoughts_also_at_off() {
    for row in own_rows().into_iter().filter(|row| row.thinking.always) {
        let shown = |setting| {
            let fields = Value::Object(row.thinking.fields(setting).clone());
            [
                "/thinking/display",
                "/reasoning/summary",
                "/generationConfig/thinkingConfig/includeThoughts",
            ]
            .map(|part| fields.pointer(part).cloned())
        };
        let fields = Value::Object(row.thinking.fields(Thinking::Off).clone());
        // It allows no other field of `thinking`.
        if fields.pointer("/thinking/type") != Some(&"between_tools".into()) {
            assert_eq!(
                shown(Thinking::Off),
                shown(Thinking::Low),
                "{:?}",
                row.models
            );
        }
    }
}

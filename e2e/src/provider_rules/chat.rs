//! Chat completions of OpenAI, and of servers that have them.

mod issued_calls;
mod servers;

use serde_json::Value;

use super::fields::{has, is_picture_url, items, text};
use super::openai::{
    PICTURES, check_cache, check_effort, check_format_name, check_function, check_key,
    check_sampling, check_strict, known,
};
use super::request::{Accepted, ChatServer, ProviderRequest};
use super::table::{Check, OpenAiModel, Rules, is_of_openai};
pub(crate) use issued_calls::IssuedCalls;
use servers::{check_deepseek, check_llama_cpp, check_mistral, check_ollama, check_vllm};

const OPENAI_FIELDS: &[&str] = &[
    "messages",
    "model",
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "modalities",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// Checks a request.
pub(crate) fn check(
    request: &ProviderRequest<'_>,
    server: ChatServer,
    issued: &IssuedCalls,
) -> Check<Accepted> {
    let (rules, body) = (Rules::get(), request.body);
    for field in ["model", "messages"] {
        if !has(body, field) {
            return Err(rules.refuse("openai.missing", &[("param", field)]));
        }
    }
    let mut accepted = Accepted {
        tools: tool_names(body),
        wants_json: ["json_schema", "json_object"]
            .contains(&text(&body["response_format"], "type")),
        shows_thinking: true,
        ..Accepted::default()
    };
    match server {
        ChatServer::OpenAi => check_openai(request, rules, &mut accepted)?,
        ChatServer::Mistral => check_mistral(request, rules)?,
        ChatServer::DeepSeek => check_deepseek(request, rules, issued, &mut accepted)?,
        ChatServer::LlamaCpp => check_llama_cpp(body, rules, &mut accepted)?,
        ChatServer::Vllm => check_vllm(body, rules)?,
        ChatServer::Ollama => check_ollama(body, rules, &mut accepted)?,
    }
    if [ChatServer::Ollama, ChatServer::Vllm].contains(&server) {
        // Most models think unless the request forbids it.
        accepted.thinks = body["reasoning_effort"] != "none";
    }
    if body["stream"] != true {
        return Err(rules.refuse("mock.stream", &[]));
    }
    check_pairs(body, rules)?;
    Ok(accepted)
}

fn tool_names(body: &Value) -> Vec<String> {
    let tools = items(&body["tools"]).iter();
    tools
        .map(|tool| text(&tool["function"], "name").to_owned())
        .collect()
}

fn check_openai(
    request: &ProviderRequest<'_>,
    rules: &'static Rules,
    accepted: &mut Accepted,
) -> Check {
    let body = request.body;
    check_key(request, rules)?;
    known(body, "", OPENAI_FIELDS, rules)?;
    if has(body, "stream_options") && body["stream"] != true {
        return Err(rules.refuse("chat.stream_options", &[("param", "stream_options")]));
    }
    if is_of_openai(text(body, "model")) {
        check_model(body, rules, accepted)?;
    } else {
        let effort = &body["reasoning_effort"];
        accepted.thinks = effort.is_string() && effort != "none";
    }
    check_tools(body, rules)?;
    check_choice(body, &accepted.tools, rules)?;
    check_format(body, rules)?;
    check_messages(body, rules)
}

/// Checks what depends on the model of OpenAI.
fn check_model(body: &Value, rules: &'static Rules, accepted: &mut Accepted) -> Check {
    let name = text(body, "model");
    let model = rules.openai(name);
    if model.retired {
        return Err(rules.refuse("openai.model", &[("model", name)]));
    }
    if !model.chat {
        return Err(rules.refuse("chat.responses_only", &[("param", "model")]));
    }
    check_limits(body, model, rules)?;
    let effort = &body["reasoning_effort"];
    if !effort.is_null() && !model.reasoning {
        return Err(rules.refuse("openai.reasoning", &[("param", "reasoning_effort")]));
    }
    check_effort(effort, "reasoning_effort", model, rules)?;
    let effort = effort.as_str().unwrap_or(&model.default_effort);
    let sampling = [
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "logprobs",
        "top_logprobs",
    ];
    check_sampling(body, model, effort, &sampling, rules)?;
    if has(body, "stop") && model.reasoning {
        return Err(rules.refuse("chat.stop", &[("param", "stop")]));
    }
    if has(body, "verbosity") && body["verbosity"] != "medium" && !model.reasoning {
        let values = [("param", "verbosity"), ("value", text(body, "verbosity"))];
        return Err(rules.refuse("openai.verbosity", &values));
    }
    check_cache(body, "messages", model, rules, &mut accepted.effects)?;
    let refuses_tools = match &*model.chat_tools {
        "always" => false,
        "unless-effort" => effort != "none",
        "effort-none" => body["reasoning_effort"] != "none",
        _ => true,
    };
    if !accepted.tools.is_empty() && refuses_tools {
        let values = [("param", "reasoning_effort"), ("model", name)];
        return Err(rules.refuse("chat.tools_with_effort", &values));
    }
    accepted.thinks = model.reasoning && effort != "none";
    // The reasoning is never shown.
    accepted.shows_thinking = false;
    Ok(())
}

fn check_limits(body: &Value, model: &OpenAiModel, rules: &'static Rules) -> Check {
    if has(body, "max_tokens") && model.reasoning {
        return Err(rules.refuse("chat.max_tokens", &[("param", "max_tokens")]));
    }
    for param in ["max_tokens", "max_completion_tokens"] {
        if let Some(value) = body[param]
            .as_u64()
            .filter(|value| *value > model.max_output)
        {
            let (value, limit) = (value.to_string(), model.max_output.to_string());
            let values = [("param", param), ("value", &value), ("limit", &limit)];
            return Err(rules.refuse("chat.output_maximum", &values));
        }
    }
    Ok(())
}

fn check_tools(body: &Value, rules: &'static Rules) -> Check {
    let tools = &body["tools"];
    if tools.as_array().is_some_and(Vec::is_empty) {
        return Err(rules.refuse("chat.tools_empty", &[("param", "tools")]));
    }
    if tools.is_null() && has(body, "parallel_tool_calls") {
        return Err(rules.refuse(
            "chat.parallel_without_tools",
            &[("param", "parallel_tool_calls")],
        ));
    }
    for (index, tool) in items(tools).iter().enumerate() {
        let path = format!("tools[{index}].");
        known(tool, &path, &["type", "function"], rules)?;
        let path = format!("{path}function.");
        known(
            &tool["function"],
            &path,
            &["name", "description", "parameters", "strict"],
            rules,
        )?;
        check_function(&tool["function"], &path, rules)?;
    }
    Ok(())
}

fn check_choice(body: &Value, tools: &[String], rules: &'static Rules) -> Check {
    let choice = &body["tool_choice"];
    let param = ("param", "tool_choice");
    if choice.is_null() {
        return Ok(());
    }
    if tools.is_empty() {
        return Err(rules.refuse("openai.choice_without_tools", &[param]));
    }
    let names: Vec<&str> = match (choice.as_str(), text(choice, "type")) {
        (Some("none" | "auto" | "required"), _) => vec![],
        (None, "function") => vec![text(&choice["function"], "name")],
        (None, "allowed_tools") => {
            let tools = items(&choice["allowed_tools"]["tools"]).iter();
            tools.map(|tool| text(&tool["function"], "name")).collect()
        }
        _ => {
            let value = choice.to_string();
            let values = [
                param,
                ("value", &*value),
                ("supported", "'none', 'auto', and 'required'"),
            ];
            return Err(rules.refuse("openai.value", &values));
        }
    };
    match names
        .iter()
        .find(|name| !tools.iter().any(|tool| tool == *name))
    {
        Some(name) => Err(rules.refuse("openai.choice_unknown", &[param, ("name", name)])),
        None => Ok(()),
    }
}

fn check_format(body: &Value, rules: &'static Rules) -> Check {
    let format = &body["response_format"];
    let param = "response_format.json_schema.name";
    match text(format, "type") {
        "json_schema" => {
            known(format, "response_format.", &["type", "json_schema"], rules)?;
            let schema = &format["json_schema"];
            let fields = ["name", "description", "schema", "strict"];
            known(schema, "response_format.json_schema.", &fields, rules)?;
            check_format_name(schema, param, rules)?;
            if schema["strict"] == true {
                let what = format!("response_format '{}'", text(schema, "name"));
                check_strict(&schema["schema"], &what, "response_format", rules)?;
            }
            Ok(())
        }
        "json_object" => {
            let messages = body["messages"].to_string().to_lowercase();
            if messages.contains("json") {
                return Ok(());
            }
            Err(rules.refuse("openai.json_word", &[("param", "messages")]))
        }
        _ => Ok(()),
    }
}

fn check_messages(body: &Value, rules: &'static Rules) -> Check {
    let messages = items(&body["messages"]);
    if messages.is_empty() {
        return Err(rules.refuse("chat.messages_empty", &[("param", "messages")]));
    }
    // Servers with other models than OpenAI's may have shown the reasoning.
    let shows_reasoning = !is_of_openai(text(body, "model"));
    for (index, message) in messages.iter().enumerate() {
        let path = format!("messages[{index}]");
        let role = text(message, "role");
        let fields: &[&str] = match role {
            "developer" | "system" | "user" => &["role", "content", "name"],
            "assistant" => &[
                "role",
                "content",
                "refusal",
                "tool_calls",
                "name",
                "audio",
                "function_call",
            ],
            "tool" => &["role", "content", "tool_call_id"],
            _ => {
                let param = format!("{path}.role");
                let supported =
                    "'system', 'assistant', 'user', 'function', 'tool', and 'developer'";
                let values = [
                    ("param", &*param),
                    ("value", role),
                    ("supported", supported),
                ];
                return Err(rules.refuse("openai.value", &values));
            }
        };
        let reasoning: &[&str] = if shows_reasoning && role == "assistant" {
            &["reasoning", "reasoning_content"]
        } else {
            &[]
        };
        let fields = [fields, reasoning].concat();
        known(message, &format!("{path}."), &fields, rules)?;
        check_content(message, role, &path, rules)?;
        for (place, call) in items(&message["tool_calls"]).iter().enumerate() {
            let path = format!("{path}.tool_calls[{place}]");
            known(
                call,
                &format!("{path}."),
                &["id", "type", "function"],
                rules,
            )?;
            let param = format!("{path}.function.arguments");
            if !call["function"]["arguments"].is_string() {
                return Err(rules.refuse("chat.arguments", &[("param", &param)]));
            }
            let param = format!("{path}.id");
            if !(1..=40).contains(&text(call, "id").len()) {
                return Err(rules.refuse("chat.call_id_length", &[("param", &param)]));
            }
        }
    }
    Ok(())
}

fn check_content(message: &Value, role: &str, path: &str, rules: &'static Rules) -> Check {
    let content = &message["content"];
    let param = format!("{path}.content");
    if content.is_null() {
        if role == "assistant" && !items(&message["tool_calls"]).is_empty() {
            return Ok(());
        }
        return Err(rules.refuse("chat.assistant_empty", &[("param", &param)]));
    }
    for (index, part) in items(content).iter().enumerate() {
        let param = format!("{param}[{index}]");
        let kind = text(part, "type");
        let is_allowed = match role {
            "user" => ["text", "image_url", "input_audio", "file"].contains(&kind),
            "assistant" => ["text", "refusal"].contains(&kind),
            _ => kind == "text",
        };
        if !is_allowed && role == "tool" {
            return Err(rules.refuse("chat.tool_content", &[("param", &param)]));
        }
        if !is_allowed {
            let values = [
                ("param", &*param),
                ("value", kind),
                ("supported", "'text' …"),
            ];
            return Err(rules.refuse("openai.value", &values));
        }
        let url = text(&part["image_url"], "url");
        if kind == "image_url" && !(is_picture_url(url, PICTURES) || url.starts_with("http")) {
            return Err(rules.refuse("openai.image", &[("param", &param)]));
        }
    }
    Ok(())
}

/// Checks that an assistant message with calls is followed by one result for each.
fn check_pairs(body: &Value, rules: &'static Rules) -> Check {
    let mut open: Vec<&str> = Vec::new();
    let close = |open: &[&str]| {
        if open.is_empty() {
            return Ok(());
        }
        let values = [("param", "messages"), ("ids", &*open.join(", "))];
        Err(rules.refuse("chat.open_calls", &values))
    };
    for message in items(&body["messages"]) {
        if message["role"] == "tool" {
            let id = text(message, "tool_call_id");
            let place = open.iter().position(|open| *open == id);
            let place = place
                .ok_or_else(|| rules.refuse("chat.orphan_result", &[("param", "messages")]))?;
            open.remove(place);
            continue;
        }
        close(&open)?;
        open = items(&message["tool_calls"])
            .iter()
            .map(|call| text(call, "id"))
            .collect();
    }
    close(&open)
}

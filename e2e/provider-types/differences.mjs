/**
 * Where requests differ from the types of the SDKs, although a document of the API, or of a server that
 * has it, wants them so. `adapt` changes a body to what the types have. The check fails when the types
 * no longer refuse the difference.
 */
export const differences = [
  {
    api: "messages",
    reason:
      "version 2026-10-21 of the API, of which the types are, has no temperature; the agent sends " +
      "2023-06-01, which has (platform.claude.com/docs/en/api/versioning)",
    adapt(body) {
      delete body.temperature;
    },
  },
  {
    api: "chat",
    reason: "DeepSeek switches thinking by a field (api-docs.deepseek.com/guides/thinking_mode)",
    adapt(body) {
      delete body.thinking;
    },
  },
  {
    api: "chat",
    reason:
      "DeepSeek, llama.cpp and others need thoughts back in the field in which they send them " +
      "(api-docs.deepseek.com/guides/thinking_mode)",
    adapt(body) {
      for (const message of body.messages) {
        delete message.reasoning_content;
      }
    },
  },
  {
    api: "gemini",
    reason:
      "the API's document writes levels in lower case, and the types in upper case " +
      "(ai.google.dev/gemini-api/docs/thinking)",
    adapt(body) {
      const config = body.generationConfig?.thinkingConfig;
      if (config?.thinkingLevel) {
        config.thinkingLevel = config.thinkingLevel.toUpperCase();
      }
    },
  },
];

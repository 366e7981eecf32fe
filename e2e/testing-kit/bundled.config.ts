import { defineConfig } from "vitest/config";

// As in projects with the plugin for Svelte, and with linked packages: Vite transforms the SDK. Test files run in
// separate contexts.
export default defineConfig({
  test: { environment: "jsdom", include: ["*.test.ts", "*.test.tsx"], pool: "vmThreads", server: { deps: { inline: ["mcp-web-sdk"] } } },
});

import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests",
  webServer: {
    command: "npm run dev -- --port 0",
    // Vite prints the port that it listens on.
    wait: { stdout: /localhost:(?<vite_port>\d+)/ },
  },
  use: {
    baseURL: `http://localhost:${process.env.VITE_PORT}`,
    // Uses the system's Chromium if this is set.
    launchOptions: { executablePath: process.env.CHROMIUM },
  },
});

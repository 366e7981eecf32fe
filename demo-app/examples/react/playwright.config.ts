import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests",
  webServer: {
    command: "npm run dev -- --port 0",
    // Vite says on which port it listens.
    wait: { stdout: /localhost:(?<vite_port>\d+)/ },
  },
  use: {
    baseURL: `http://localhost:${process.env.VITE_PORT}`,
    // A Chromium of the system, if this is set.
    launchOptions: { executablePath: process.env.CHROMIUM },
  },
});

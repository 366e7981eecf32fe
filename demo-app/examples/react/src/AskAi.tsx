import { useQuery } from "mcp-web-sdk/react";

export function AskAi() {
  const { ask, cancel, state, text, error } = useQuery();
  const isBusy = state === "waiting" || state === "running";
  return (
    <>
      <button type="button" onClick={() => (isBusy ? cancel() : ask({ prompt: "What is missing for a pancake breakfast?" }))}>
        {isBusy ? "Stop" : "Ask: what is missing for pancakes?"}
      </button>
      <p className="answer" aria-live="polite">
        {error ? (error.remedy ?? error.message) : text}
      </p>
    </>
  );
}

/** How queries end, as the app sees it. */

/** Of a query of another document nobody knows here what it demands: its last call has ended it. */
export function answerOf({ result, toolCalls = [] }, question) {
  if (typeof result === "string") return { text: result, toolCalls };
  if (result !== undefined && result !== null) return { value: result, toolCalls };
  const name = question?.responseTool?.name;
  const last = toolCalls.filter(({ tool }) => !question || tool === name).at(-1);
  return last ? { response: { arguments: last.arguments, result: last.result }, toolCalls } : { toolCalls };
}

export function failureOf({ error, reason, code }, McpWebError) {
  const failure = new McpWebError(code, reason ? `${error}: ${reason}` : error);
  return Object.assign(failure, reason && { remedy: reason });
}

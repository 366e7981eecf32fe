/** Keeps page tools from asking the agent in the person's name: where they are on, a query needs an action of the person. */

import { isPersonActing, watchPerson } from "./activation.ts";
import { type QueryRefusal, REFUSE_QUERY } from "./refuse-query.ts";

const REFUSAL =
  "page tools are on, and the person at the page has not just done something: call query() in the handler of a click or a key, or give new McpWeb() the option approvals: \"app\"";

/** Returns why a query may not be sent now; undefined if it may. */
const refuse: QueryRefusal = () => (isPersonActing() ? undefined : REFUSAL);

/** A window, as `mcpWeb.query()` sees it. */
interface GuardedWindow {
  [REFUSE_QUERY]?: QueryRefusal;
}

/** Guards the queries of some windows. */
export function guardQueries(views: Iterable<Window & GuardedWindow>): void {
  watchPerson();
  for (const view of views) view[REFUSE_QUERY] ??= refuse;
}

/** Ends the guard. Page tools that are still on in these windows begin it again with their next action. */
export function releaseQueries(views: Iterable<Window & GuardedWindow>): void {
  for (const view of views) delete view[REFUSE_QUERY];
}

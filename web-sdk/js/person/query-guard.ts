/**
 * Prevents page tools from sending queries on the person's behalf: while page tools are enabled, a query needs an action of
 * the person.
 */

import { isPersonActing, watchPerson } from "./activation.ts";
import { outermostWindow } from "./outermost-window.ts";
import { type GuardedWindow, REFUSE_QUERY } from "./refuse-query.ts";

const REFUSAL =
  "page tools are on, and the person at the page has not just done something: call query() in the handler of a click or a key, or give new McpWeb() the option approvals: \"app\"";

/**
 * Guards the queries of all windows of the tab, and returns a function that ends that. `views` are the windows that page
 * tools use.
 */
export function guardQueries(views: Iterable<Window>): () => void {
  watchPerson(views);
  const owner = outermostWindow() as GuardedWindow;
  const before = owner[REFUSE_QUERY];
  const refuse = () => (isOn && !isPersonActing() ? REFUSAL : before?.());
  let isOn = true;
  owner[REFUSE_QUERY] = refuse;
  return () => {
    isOn = false;
    if (owner[REFUSE_QUERY] !== refuse) return;
    if (before) owner[REFUSE_QUERY] = before;
    else delete owner[REFUSE_QUERY];
  };
}

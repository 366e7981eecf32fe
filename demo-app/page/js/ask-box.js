/**
 * "Ask AI": the person asks, the agent answers with the tools of this page, and what happens meanwhile is shown.
 *
 * One question at a time. A reloaded page takes its question up again.
 */

import { planFor, summaryOf, written } from "./ask-questions.js";
import { answered, asked, cancelled, failed, heard, isOver } from "./asking.js";
import { remember, remembered } from "./ask-memory.js";
import { AskView } from "./ask-view.js";
import { spoken } from "./ask-words.js";
import { byId, setText } from "./dom.js";

export class AskBox {
  #mcpWeb;
  #store;
  #agent;
  #view = new AskView();
  #prompt = byId("ask-prompt");
  #query;
  #question;

  /**
   * @param mcpWeb
   * @param {import("./store.js").BoardStore} store
   * @param {import("./ask-agent.js").Agent} agent
   */
  constructor(mcpWeb, store, agent) {
    this.#mcpWeb = mcpWeb;
    this.#store = store;
    this.#agent = agent;
    this.#listen();
    this.#free(true);
    const uuid = mcpWeb.openQueries.at(-1);
    if (uuid) this.#follow(mcpWeb.attachQuery(uuid), remembered(uuid));
  }

  #listen() {
    byId("ask-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#askWritten();
    });
    this.#prompt.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#askWritten();
    });
    for (const [id, question] of [["ask-summary", summaryOf], ["ask-plan", planFor]]) {
      byId(id).addEventListener("click", () => this.#ask(question(this.#store.board, new Date(), this.#agent)));
    }
    byId("ask-stop").addEventListener("click", () => this.#stop());
    byId("ask").addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#question) this.#stop();
    });
  }

  #askWritten() {
    const prompt = this.#prompt.value.trim();
    if (prompt === "" || !this.#ask(written(prompt, new Date()))) return this.#prompt.focus();
    this.#prompt.value = "";
  }

  /** @returns {boolean} whether it was asked: not while another question is open */
  #ask(question) {
    if (this.#question && !isOver(this.#question)) return false;
    const query = this.#mcpWeb.query(question.query);
    remember(query.uuid, question);
    this.#follow(query, question);
    return true;
  }

  async #follow(query, question) {
    this.#query = query;
    this.#question = undefined;
    this.#view.hide();
    this.#free(false);
    this.#show(asked(question, new Date()));
    try {
      for await (const event of query) this.#show(heard(this.#question, event));
      const result = await query.result;
      this.#show(answered(this.#question, result, planOf(result), new Date()));
    } catch (error) {
      const end = query.state === "cancelled" ? cancelled : failed;
      this.#show(end(this.#question, ...(end === failed ? [error] : []), new Date()));
    }
    this.#free(true);
  }

  /** Cancels what runs; closes what is over, and the focus goes back to where questions are written. */
  #stop() {
    if (!isOver(this.#question)) return this.#query.cancel("the person at the page cancelled");
    this.#question = undefined;
    this.#view.hide();
    this.#prompt.focus();
  }

  #show(question) {
    const words = spoken(this.#question, question);
    if (words) setText(byId("ask-announcer"), words);
    this.#question = question;
    this.#view.show(question);
  }

  #free(free) {
    for (const id of ["ask-send", "ask-summary", "ask-plan"]) byId(id).setAttribute("aria-disabled", String(!free));
  }
}

/** What the response tool was called with, by the titles of the cards. @returns {import("./asking.js").Plan | undefined} */
function planOf({ response }) {
  const cards = response?.result?.today;
  if (!Array.isArray(cards)) return undefined;
  return { today: cards.map(({ title }) => title), reason: response.arguments.reason ?? "" };
}

/** The order form. It does not depend on AI clients. */

import { isoDate } from "./dates.js";
import { byId, h, setText } from "./dom.js";
import { COUNTRIES, ISSUES, percentOff, priceText, problemsOf, sumOf } from "./order.js";

/** The simulated time to look up a voucher. */
const VOUCHER_MS = 400;

export class OrderForm {
  #form = byId("order-form");
  #percent = 0;
  #orders = 0;
  #wasSent = false;

  constructor() {
    byId("issue").append(...ISSUES.map(({ id, title, cents }) => option(id, `${title}, ${priceText(cents)}`)));
    byId("country").append(...COUNTRIES.map((country) => option(country, country)));
    byId("country").value = "Germany";
    this.#form.addEventListener("input", () => this.#show());
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    byId("voucher-check").addEventListener("click", () => this.#checkVoucher());
    byId("order-again").addEventListener("click", () => this.#startOver());
    this.#show();
  }

  #order() {
    const values = Object.fromEntries(new FormData(this.#form));
    return { ...values, gift: values.gift !== undefined };
  }

  #show() {
    const order = this.#order();
    byId("message-row").hidden = !order.gift;
    setText(byId("message-left"), `${120 - order.message.length} letters left`);
    byId("iban-row").hidden = order.payment !== "debit";
    byId("order-sum").replaceChildren(
      ...sumOf(order, this.#percent).flatMap(({ text, cents }) => [h("dt", {}, text), h("dd", {}, priceText(cents))]),
    );
    if (this.#wasSent) this.#showProblems(problemsOf(order, isoDate(new Date())));
  }

  #showProblems(problems) {
    for (const field of this.#form.querySelectorAll("[aria-errormessage]")) {
      const problem = problems[field.name] ?? "";
      field.setAttribute("aria-invalid", String(problem !== ""));
      setText(byId(`${field.name}-problem`), problem);
    }
    const count = Object.keys(problems).length;
    setText(byId("order-problem"), count === 0 ? "" : `The order was not sent: ${count === 1 ? "one field is" : `${count} fields are`} not right yet.`);
  }

  #send() {
    const order = this.#order();
    const problems = problemsOf(order, isoDate(new Date()));
    this.#wasSent = true;
    this.#showProblems(problems);
    const [first] = Object.keys(problems);
    if (first) return byId(first).focus();
    this.#orders += 1;
    const { cents } = sumOf(order, this.#percent).at(-1);
    setText(byId("sent-text"), `Order ${this.#orders} of ${priceText(cents)} goes to ${order.name.trim()}, ${order.town.trim()}. Nothing is really sent: this is a demo.`);
    this.#showForm(false);
    byId("sent-heading").focus();
  }

  #startOver() {
    this.#form.reset();
    byId("country").value = "Germany";
    this.#percent = 0;
    this.#wasSent = false;
    setText(byId("voucher-state"), "");
    this.#showProblems({});
    this.#showForm(true);
    this.#show();
    byId("copies").focus();
  }

  #showForm(isShown) {
    this.#form.hidden = !isShown;
    byId("order-sent").hidden = isShown;
  }

  async #checkVoucher() {
    const { voucher } = this.#order();
    const button = byId("voucher-check");
    button.disabled = true;
    setText(byId("voucher-state"), "Looking it up.");
    await new Promise((resolve) => setTimeout(resolve, VOUCHER_MS));
    button.disabled = false;
    const percent = percentOff(voucher);
    this.#percent = percent ?? 0;
    setText(byId("voucher-state"), percent ? `Takes ${percent} % off.` : "There is no such voucher.");
    this.#show();
  }
}

const option = (value, text) => h("option", { value }, text);

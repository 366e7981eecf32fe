import { LitElement, html } from "lit";

import { report } from "./state.js";

/** A field whose label is a slot and whose input is in its shadow root. */
class OrderField extends LitElement {
  static properties = { label: {}, value: { state: true } };

  render() {
    return html`<span><slot></slot></span><input aria-label=${this.label} @input=${this.changeValue}>`;
  }

  changeValue(event) {
    this.value = event.target.value;
    this.dispatchEvent(new CustomEvent("value-change", { detail: this.value, bubbles: true, composed: true }));
  }
}

/** A box with a named slot for its buttons. */
class OrderBox extends LitElement {
  render() {
    return html`<div><slot></slot></div><div><slot name="actions"></slot></div>`;
  }
}

/** A form with fields in shadow roots of shadow roots. */
class OrderForm extends LitElement {
  customer = "";
  count = 0;

  render() {
    return html`
      <order-box>
        <button slot="actions" @click=${this.countClick}>Lit button</button>
        <order-field label="Lit customer" @value-change=${this.changeCustomer}>Customer</order-field>
      </order-box>`;
  }

  changeCustomer(event) {
    this.customer = event.detail;
    report("lit.customer", this.customer);
  }

  countClick() {
    this.count += 1;
    report("lit.count", this.count);
  }
}

customElements.define("order-field", OrderField);
customElements.define("order-box", OrderBox);
customElements.define("order-form", OrderForm);

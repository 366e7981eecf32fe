// A checkout of two pages. The values and the sent order are in `window.appState`.
import { Model } from "survey-core";
import "survey-core/survey-core.fontless.css";
import "survey-js-ui";

const survey = new Model({
  title: "Checkout",
  showProgressBar: true,
  completeText: "Place order",
  pages: [
    {
      name: "delivery",
      title: "Delivery",
      elements: [
        { type: "text", name: "name", title: "Full name", isRequired: true },
        { type: "text", name: "email", title: "Email", inputType: "email", isRequired: true, validators: [{ type: "email" }] },
        { type: "text", name: "street", title: "Street and number", isRequired: true },
        { type: "text", name: "postcode", title: "Postcode", isRequired: true, validators: [{ type: "regex", regex: "^[0-9]{5}$", text: "A postcode has five digits" }] },
        { type: "dropdown", name: "country", title: "Country", isRequired: true, choices: ["Germany", "France", "Spain"] },
        { type: "radiogroup", name: "shipping", title: "Shipping", isRequired: true, choices: ["Standard", "Express"] },
      ],
    },
    {
      name: "payment",
      title: "Payment",
      elements: [
        { type: "dropdown", name: "method", title: "Payment method", isRequired: true, choices: ["Invoice", "Card"] },
        { type: "text", name: "card", title: "Card number", visibleIf: "{method} = 'Card'", isRequired: true },
        { type: "checkbox", name: "extras", title: "Extras", choices: ["Gift wrap", "Receipt by email"] },
        { type: "boolean", name: "terms", title: "I accept the terms", isRequired: true },
        { type: "comment", name: "note", title: "Note for the courier" },
      ],
    },
  ],
});

window.appState = { values: {} };
survey.onValueChanged.add(() => {
  window.appState.values = { ...survey.data };
});
survey.onComplete.add(() => {
  window.appState.sent = { ...survey.data };
});
survey.render(document.getElementById("checkout"));

import "mcp-web-sdk/ask";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { mount } from "svelte";
import { createApp, h } from "vue";
import AskInSvelte from "./AskInSvelte.svelte";
import { properties } from "./properties.js";

createRoot(document.querySelector("#react")).render(createElement("mcp-web-ask", properties("react")));
createApp({ render: () => h("mcp-web-ask", properties("vue")) }).mount("#vue");
mount(AskInSvelte, { target: document.querySelector("#svelte"), props: properties("svelte") });

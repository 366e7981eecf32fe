import { createApp } from "vue";
import { mcpWebPlugin } from "mcp-web-sdk/vue";
import ShoppingList from "./ShoppingList.vue";
import { mcpWeb } from "./mcp-web";
import "./style.css";

createApp(ShoppingList).use(mcpWebPlugin, mcpWeb).mount("#app");

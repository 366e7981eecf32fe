import { createApp } from "vue";

import VueForm from "./VueForm.vue";

createApp(VueForm).mount("#vue");

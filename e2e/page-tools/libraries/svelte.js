import { mount } from "svelte";

import SvelteForm from "./SvelteForm.svelte";

mount(SvelteForm, { target: document.getElementById("svelte") });

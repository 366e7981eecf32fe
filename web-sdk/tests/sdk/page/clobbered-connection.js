/** The SDK connects and shows answers, whatever the names of the page's elements are. */

import { equal } from "./assert.js";
import { DOCUMENT_NAMES, KINDS, inChunks, openFrame } from "./clobbered.js";

/** Connects a page with some HTML, and returns its state and the title that the bridge knows. */
async function connect(html) {
  const { frame, view, body } = await openFrame("/clobbered-frame.html", "connect");
  body.querySelector("#clobbering").innerHTML = html;
  const connected = await view.connect();
  frame.remove();
  return connected;
}

const ofKinds = Object.entries(KINDS).map(([kind, htmlOf]) => [
  `the SDK connects in a page with any name of an element ${kind}`,
  async () => {
    for (const names of inChunks(DOCUMENT_NAMES, 100)) equal(await connect(names.map(htmlOf).join("")), ["connected", "A title"], names.join());
  },
]);

export default {
  ...Object.fromEntries(ofKinds),

  async "the markdown of an answer is shown whatever the names of the page's elements are"() {
    const { frame, view, body } = await openFrame("/clobbered-frame.html", "markdown");
    body.querySelector("#clobbering").innerHTML = DOCUMENT_NAMES.map(KINDS.img).join("");
    equal(await view.markdown("**Milk** <script>"), '<p dir="auto"><strong>Milk</strong> &lt;script&gt;</p>');
    frame.remove();
  },
};

/** Pictures for clients that accept only small ones. */

import { assert, equal } from "./assert.js";
import { Bridge } from "./bridge.js";
import { content } from "./mcp-web.js";

const SMALL = { client: { info: { name: "c", version: "1" }, limits: { maxImageEdge: 100, maxResultBytes: 1_000_000 } } };

function canvas(width, height) {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.fillStyle = "teal";
  context.fillRect(0, 0, width, height);
  return canvas;
}

async function dataUrl(width, height, type = "image/png") {
  const blob = await canvas(width, height).convertToBlob({ type });
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(blob);
  });
}

/** Returns the result that the client of the call gets. */
async function sent(value, context = SMALL) {
  const bridge = new Bridge();
  const mcpWeb = await bridge.page();
  mcpWeb.addTool({ name: "t", handler: () => value });
  await bridge.register();
  return bridge.tool("t", {}, context);
}

/** `type width x height` of a picture. */
async function look({ data, mimeType }) {
  return lookAt(`data:${mimeType};base64,${data}`);
}

async function lookAt(url) {
  const blob = await (await fetch(url)).blob();
  const { width, height } = await createImageBitmap(blob);
  return `${blob.type} ${width}x${height}`;
}

export default {
  async "a picture is scaled to the longest edge that the client accepts, and its type stays"() {
    for (const [type, width, height, small] of [
      ["image/png", 400, 200, "image/png 100x50"],
      ["image/jpeg", 150, 300, "image/jpeg 50x100"],
      ["image/webp", 1000, 1, "image/webp 100x1"],
    ]) {
      const blob = await canvas(width, height).convertToBlob({ type });
      const { content } = await sent(blob);
      equal(await look(content[0]), small);
    }
  },

  async "small pictures, other content, and results for other clients stay as they are"() {
    const url = await dataUrl(100, 80);
    const blocks = [content.text("a"), content.image(url, undefined, { keepSize: true })];
    equal((await sent({ content: blocks })).content[1].data, url.split(",")[1]);
    const large = await dataUrl(400, 200);
    equal((await sent(content.image(large), { client: { info: SMALL.client.info } })).content[0].data, large.split(",")[1]);
    equal((await sent(large, {})).result, large);
    equal((await sent({ text: large })).result, { text: large });
  },

  async "a picture marked to keep its size does, beside one without the mark"() {
    const [url, at] = [await dataUrl(400, 200), { audience: ["user"] }];
    const blocks = [content.image(url, undefined, { keepSize: true }), { ...content.image(url), annotations: at }];
    const [kept, scaled] = (await sent({ content: blocks })).content;
    equal([await look(kept), await look(scaled), scaled.annotations], ["image/png 400x200", "image/png 100x50", at]);
  },

  async "data URLs as plain results are also pictures"() {
    const url = await dataUrl(400, 200, "image/jpeg");
    equal(await lookAt((await sent(url)).result), "image/jpeg 100x50");
    const { result } = await sent({ dataUrl: url, title: "chart" });
    equal([await lookAt(result.dataUrl), result.title], ["image/jpeg 100x50", "chart"]);
  },

  async "a picture that cannot be scaled down is sent unchanged"() {
    const broken = content.image("AAAA", "image/png");
    equal((await sent([broken])).content, [{ type: "image", data: "AAAA", mimeType: "image/png" }]);
    const malformed = "data:image/svg+xml,%";
    equal((await sent(malformed)).result, malformed);
    const { createImageBitmap } = globalThis;
    globalThis.createImageBitmap = undefined;
    try {
      const url = await dataUrl(400, 200);
      equal((await sent(content.image(url))).content[0].data, url.split(",")[1]);
    } finally {
      globalThis.createImageBitmap = createImageBitmap;
    }
  },

  async "handlers can read the client's limits"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    mcpWeb.addTool({ name: "t", handler: (_input, { client }) => client.limits });
    await bridge.register();
    equal((await bridge.tool("t", {}, SMALL)).result, SMALL.client.limits);
    assert((await bridge.tool("t", {}, { client: { info: SMALL.client.info } })).result === undefined);
  },
};

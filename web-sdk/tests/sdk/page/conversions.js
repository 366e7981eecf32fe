/** Pictures, sounds and bytes in the types of browsers, as content that a client can read. */

import { assert, equal } from "./assert.js";
import { Bridge } from "./bridge.js";
import { content } from "./mcp-web.js";

const RED = [255, 0, 0, 255];

async function contentOf(value) {
  const bridge = new Bridge();
  const mcpWeb = await bridge.page();
  mcpWeb.addTool({ name: "t", handler: () => value });
  await bridge.register();
  const answer = await bridge.tool("t");
  assert(answer.type === "call-response", answer.message);
  return answer.content;
}

const bytesOf = async (base64) => [...new Uint8Array(await (await fetch(`data:;base64,${base64}`)).arrayBuffer())];

/** The first pixel of an image block, and its size. */
async function pixel({ type, data, mimeType }) {
  equal(type, "image");
  const bitmap = await createImageBitmap(await (await fetch(`data:${mimeType};base64,${data}`)).blob());
  const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
  context.drawImage(bitmap, 0, 0);
  return { size: [bitmap.width, bitmap.height], mimeType, color: [...context.getImageData(0, 0, 1, 1).data] };
}

function painted(canvas) {
  const context = canvas.getContext("2d");
  context.fillStyle = "red";
  context.fillRect(0, 0, canvas.width, canvas.height);
  return canvas;
}

const pageCanvas = () => painted(Object.assign(document.createElement("canvas"), { width: 3, height: 2 }));
const offscreen = () => painted(new OffscreenCanvas(3, 2));
const png = () => offscreen().convertToBlob({ type: "image/png" });
const RED_PNG = { size: [3, 2], mimeType: "image/png", color: RED };

export default {
  async "every kind of picture becomes a PNG"() {
    const pictures = {
      canvas: pageCanvas(),
      offscreen: offscreen(),
      imageData: pageCanvas().getContext("2d").getImageData(0, 0, 3, 2),
      bitmap: await createImageBitmap(pageCanvas()),
      blob: await png(),
      buffer: await (await png()).arrayBuffer(),
      bytes: new Uint8Array(await (await png()).arrayBuffer()),
    };
    for (const [name, picture] of Object.entries(pictures)) {
      for (const value of [picture, content.image(picture), { content: [{ type: "image", data: picture }] }]) {
        const [block, ...others] = await contentOf(value);
        equal([await pixel(block), others.length], [RED_PNG, 0], name);
      }
    }
  },

  async "a canvas is sent in the requested type"() {
    for (const canvas of [pageCanvas(), offscreen()]) {
      const [block] = await contentOf(content.image(canvas, "image/jpeg"));
      equal((await pixel(block)).mimeType, "image/jpeg");
      assert(block.data.startsWith("/9j/"));
    }
  },

  async "data URLs and base64 are accepted unchanged"() {
    const url = pageCanvas().toDataURL();
    const data = url.slice(url.indexOf(",") + 1);
    for (const source of [url, data, { data }, { data, mimeType: "image/png" }, `data:;base64,${data}`]) {
      equal(await contentOf(content.image(source)), [{ type: "image", data, mimeType: "image/png" }]);
    }
    const svg = "<svg xmlns='http://www.w3.org/2000/svg'/>";
    const [block] = await contentOf(content.image(`data:image/svg+xml,${encodeURIComponent(svg)}`));
    equal(block, { type: "image", data: btoa(svg), mimeType: "image/svg+xml" });
    equal(await contentOf(content.audio({ data: "AAAA", mimeType: "audio/x" })), [{ type: "audio", data: "AAAA", mimeType: "audio/x" }]);
  },

  async "a plain data URL stays a plain value"() {
    equal(await contentOf("data:image/png;base64,AAAA"), undefined);
  },

  async "sounds become audio, other bytes embedded resources"() {
    const wave = new Uint8Array([...new TextEncoder().encode("RIFF\0\0\0\0WAVEfmt ")]);
    const [sound] = await contentOf(content.audio(wave));
    equal([sound.type, sound.mimeType, await bytesOf(sound.data)], ["audio", "audio/wav", [...wave]]);
    equal(await contentOf(new Blob(["x"], { type: "audio/ogg" })), [{ type: "audio", data: "eA==", mimeType: "audio/ogg" }]);
    equal(await contentOf([new File(["x"], "a b.pdf", { type: "application/pdf" }), new Uint8Array([1, 2])]), [
      { type: "resource", resource: { uri: "result://a%20b.pdf", mimeType: "application/pdf", blob: "eA==" } },
      { type: "resource", resource: { uri: "result://2", mimeType: "application/octet-stream", blob: "AQI=" } },
    ]);
    equal(await contentOf(content.resource({ uri: "a:b", blob: new Blob(["x"], { type: "a/b" }) })), [
      { type: "resource", resource: { uri: "a:b", blob: "eA==", mimeType: "a/b" } },
    ]);
  },

  async "views send their own part, of any element type and any length"() {
    const buffer = new Uint8Array([0, 1, 2, 3, 4, 5, 6, 7]).buffer;
    for (const [view, expected] of [
      [new Uint8Array(buffer, 2, 3), [2, 3, 4]],
      [new Uint16Array(buffer, 2, 1), [2, 3]],
      [new DataView(buffer, 6), [6, 7]],
      [new Uint8Array(), []],
    ]) {
      const [{ resource }] = await contentOf(view);
      equal(await bytesOf(resource.blob), expected);
    }
    const long = Uint8Array.from({ length: 200_001 }, (_, index) => index % 251);
    const [{ resource }] = await contentOf(long);
    equal(await bytesOf(resource.blob), [...long]);
  },

  async "a value without a picture is rejected with advice"() {
    const bridge = new Bridge();
    const mcpWeb = await bridge.page();
    mcpWeb.addTool({ name: "t", handler: () => content.image(document.body) });
    await bridge.register();
    const { code, message } = await bridge.tool("t");
    equal(code, "HandlerFailed");
    assert(/data URL, base64, a Blob/.test(message), message);
  },
};

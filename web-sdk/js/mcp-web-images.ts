/** Making pictures smaller. Loaded when a client can take only small ones. */

/** How well JPEG and WebP are kept: text in a screenshot stays readable. */
const QUALITY = 0.9;

/** The blocks, pictures among them made smaller if their longer edge has more than `maxEdge` pixels. */
export function blocks(blocks, maxEdge, base64Of, isScalable) {
  return Promise.all(
    blocks.map(async (block) => (isScalable(block) ? { ...block, ...(await smaller(block, maxEdge, base64Of)) } : block)),
  );
}

/** The same for a data URL, or an object that has one in `dataUrl`. */
export async function value(value, maxEdge, base64Of) {
  const url = value.dataUrl ?? value;
  const picture = await smaller(url, maxEdge, base64Of);
  if (!picture) return value;
  const dataUrl = `data:${picture.mimeType};base64,${picture.data}`;
  return url === value ? dataUrl : { ...value, dataUrl };
}

/** Nothing if it is small enough, or cannot be made smaller: it is sent as it is then. */
async function smaller(source, maxEdge, base64Of) {
  try {
    const { data, mimeType } = base64Of(source);
    return await scaledDown(data, mimeType, maxEdge);
  } catch {
    return undefined;
  }
}

/**
 * The picture with its longer edge at `maxEdge` pixels, as `{ data, mimeType }`: of the same type where the browser can
 * write that, else PNG. Nothing for a picture that is small enough.
 *
 * Rejects when the browser cannot read the picture, or has no canvas here.
 */
async function scaledDown(data, mimeType, maxEdge) {
  const bitmap = await createImageBitmap(new Blob([bytesOf(data)], { type: mimeType }));
  try {
    const { width, height } = bitmap;
    const scale = maxEdge / Math.max(width, height);
    if (scale >= 1) return undefined;
    const [smallWidth, smallHeight] = [width, height].map((edge) => Math.max(1, Math.round(edge * scale)));
    const canvas = canvasOf(smallWidth, smallHeight);
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(bitmap, 0, 0, smallWidth, smallHeight);
    const blob = await written(canvas, mimeType);
    return { data: await encoded(blob), mimeType: blob.type };
  } finally {
    bitmap.close();
  }
}

function canvasOf(width, height) {
  if (typeof OffscreenCanvas === "function") return new OffscreenCanvas(width, height);
  return Object.assign(document.createElement("canvas"), { width, height });
}

/** Of a type that it cannot write, a canvas makes PNG. */
function written(canvas, type) {
  if (canvas.convertToBlob) return canvas.convertToBlob({ type, quality: QUALITY });
  const made = (resolve, reject) => (blob) => (blob ? resolve(blob) : reject(new Error("the canvas cannot be written")));
  return new Promise((resolve, reject) => canvas.toBlob(made(resolve, reject), type, QUALITY));
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function encoded(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

/** Areas of image maps: they do not have a box, and are shown where their picture is. */

import { attributeOf, boxOf, closest, findElements, rootNodeOf } from "./native.ts";

/** Returns the picture that an area belongs to. */
export function pictureOf(area: Element): Element | undefined {
  const map = closest(area, "map");
  const pictures = map ? findElements(rootNodeOf(map) as ParentNode, "[usemap]") : [];
  return [...pictures].find((picture) => attributeOf(picture, "usemap") === `#${attributeOf(map!, "name")}`);
}

/** Returns the bounding box of an area in its window; without coordinates, that of the whole picture. */
export function regionOf(area: Element): DOMRect | undefined {
  const picture = pictureOf(area);
  if (!picture) return undefined;
  const box = boxOf(picture);
  let numbers = attributeOf(area, "coords")?.match(/-?[\d.]+/g)?.map(Number) ?? [];
  const [x = 0, y = 0, radius = 0] = numbers;
  if (numbers.length < 3) return box;
  // A circle.
  if (numbers.length === 3) numbers = [x - radius, y - radius, x + radius, y + radius];
  const [columns, rows] = [0, 1].map((part) => numbers.filter((_, index) => index % 2 === part)) as [number[], number[]];
  const [left, top] = [Math.min(...columns), Math.min(...rows)];
  return new DOMRect(box.x + left, box.y + top, Math.max(...columns) - left, Math.max(...rows) - top);
}

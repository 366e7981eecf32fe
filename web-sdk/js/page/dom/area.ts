/** Areas of pictures: they have no box of their own, and are shown where their picture is. */

import { viewOf } from "./flat-tree.ts";
import { attributeOf, boxOf, closest, rootNodeOf } from "./native.ts";

/** Returns the picture that an area is a part of. */
export function pictureOf(area: Element): Element | undefined {
  const map = closest(area, "map");
  const name = map && (attributeOf(map, "name") || attributeOf(map, "id"));
  if (!name) return undefined;
  const pictures = (rootNodeOf(map) as Document).querySelectorAll?.("img[usemap]") ?? [];
  return [...pictures].find((picture) => attributeOf(picture, "usemap")?.slice(1) === name);
}

/** Returns the box around an area in its window. */
export function regionOf(area: Element): DOMRect | undefined {
  const picture = pictureOf(area) as HTMLElement | undefined;
  if (!picture) return undefined;
  const { left, top, width, height } = boxOf(picture);
  const { paddingLeft, paddingTop } = viewOf(picture).getComputedStyle(picture);
  const [x, y] = [left + picture.clientLeft + Number.parseFloat(paddingLeft), top + picture.clientTop + Number.parseFloat(paddingTop)];
  const numbers = (attributeOf(area, "coords") ?? "").split(/[\s,;]+/).map(Number).filter((number) => !Number.isNaN(number));
  const [centreX = 0, centreY = 0, radius = 0] = numbers;
  const isCircle = /^circ/i.test(attributeOf(area, "shape") ?? "");
  const columns = isCircle ? [centreX - radius, centreX + radius] : numbers.filter((_, index) => index % 2 === 0);
  const rows = isCircle ? [centreY - radius, centreY + radius] : numbers.filter((_, index) => index % 2 === 1);
  // The default is the whole picture.
  if (rows.length < 2) return new DOMRect(left, top, width, height);
  const scale = picture.offsetWidth ? width / picture.offsetWidth : 1;
  const [minX, minY, maxX, maxY] = [Math.min(...columns), Math.min(...rows), Math.max(...columns), Math.max(...rows)];
  return new DOMRect(x + minX * scale, y + minY * scale, (maxX - minX) * scale, (maxY - minY) * scale);
}

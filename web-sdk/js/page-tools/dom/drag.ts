/** Drags one element to another: with the pointer, or with the events of HTML drag and drop. */

import { read } from "../../dom/native.ts";
import { whenAnswered } from "../../person/tab.ts";
import { press, release } from "./click.ts";
import type { Clock } from "./clock.ts";
import { dispatch } from "./dispatch.ts";
import { flatClosest, isInPage, viewOf } from "./flat-tree.ts";
import { type Point, centreOf, hitElement } from "./hit.ts";
import { isForbidden } from "./permission.ts";
import { documentOf } from "./native.ts";
import { Patches } from "./patch.ts";
import { PRESSED, type Pointer, mouseFields, pointerFields } from "./pointer.ts";
import { hasNoViewport } from "./shown.ts";

/** The default number of moves between the press and the release. */
export const DEFAULT_STEPS = 8;
/** Time between two moves, like that of a mouse. */
const MOVE_MS = 16;
/**
 * Number of moves after which the page has made room for the dragged element. Later the target moves because it gives way
 * to the element over it, and following it would drag back.
 */
const SETTLING_STEPS = 2;
/** Number of events that report a mouse resting on its target. */
const RESTING_MOVES = 4;
/** Duration of the rest before the release, in moves. */
const FINAL_PAUSES = 8;

/** Drags `from` to the centre of `to`. */
export async function drag(from: Element, to: Element, steps: number, pointer: Pointer, clock: Clock, signal: AbortSignal): Promise<void> {
  const patches = new Patches();
  const capture = watchCapture(from, patches);
  try {
    const start = centreOf(from);
    pointer.moveTo(from, start);
    const isTaken = press(from);
    const pause = async () => {
      await clock.sleep(MOVE_MS, signal);
      await whenAnswered(signal);
      signal.throwIfAborted();
    };
    await pause();
    // Libraries make an element draggable when it is pressed.
    const draggable = flatClosest(from, (element) => read(element as HTMLElement, "draggable"));
    const transfer = new (viewOf(from).DataTransfer)();
    if (draggable && !isTaken && dispatchDrag(draggable, "dragstart", start, transfer)) {
      return await dragByTransfer(draggable, to, start, steps, transfer, pause);
    }
    const aim = await dragByPointer(from, to, start, steps, pointer, capture, pause);
    // Libraries that draw the dragged element check its position 20 times a second.
    for (let index = 0; index < FINAL_PAUSES; index++) await pause();
    const end = capture() ?? targetAt(to, aim);
    release(isInPage(end) ? end : to, { isTaken });
  } finally {
    patches.restore();
  }
}

/** Returns the last position of the pointer. */
async function dragByPointer(from: Element, to: Element, start: Point, steps: number, pointer: Pointer, capture: () => Element | undefined, pause: () => Promise<void>): Promise<Point> {
  let aim = start;
  for (let index = 1; index <= steps; index++) {
    if (index <= SETTLING_STEPS) aim = centreOf(to);
    const point = between(start, aim, index / steps);
    const captured = capture();
    if (captured) {
      dispatch(captured, "pointermove", pointerFields(captured, point, { ...PRESSED, button: -1 }));
      dispatch(captured, "mousemove", mouseFields(captured, point, PRESSED));
    } else pointer.moveTo(index === steps ? targetAt(to, point) : targetAt(from, point), point, { ...PRESSED, button: -1 });
    await pause();
  }
  return aim;
}

async function dragByTransfer(source: Element, to: Element, start: Point, steps: number, data: DataTransfer, pause: () => Promise<void>): Promise<void> {
  dispatch(source, "pointercancel", pointerFields(source, start, PRESSED));
  // The dragged element may be known only in a later task.
  await pause();
  let over: Element | undefined;
  let isAccepted = false;
  let aim = start;
  const move = (target: Element, point: Point) => {
    if (isInPage(source)) dispatchDrag(source, "drag", point, data);
    if (target !== over) {
      const left = over;
      over = target;
      dispatchDrag(target, "dragenter", point, data);
      if (left && isInPage(left)) dispatchDrag(left, "dragleave", point, data);
    }
    isAccepted = !dispatchDrag(target, "dragover", point, data);
  };
  for (let index = 1; index <= steps; index++) {
    if (index <= SETTLING_STEPS) aim = centreOf(to);
    const point = between(start, aim, index / steps);
    move(index === steps ? targetAt(to, point) : targetAt(source, point), point);
    await pause();
  }
  // The browser repeatedly reports the position of a resting mouse. Libraries ignore events while they make room.
  for (let index = 0; index < RESTING_MOVES; index++) {
    move(targetAt(to, aim), aim);
    await pause();
  }
  if (over && isAccepted && isInPage(over)) dispatchDrag(over, "drop", aim, data);
  if (isInPage(source)) dispatchDrag(source, "dragend", aim, data);
}

/** Dispatches a drag event, and returns whether the page has not cancelled it. */
const dispatchDrag = (target: Element, type: string, point: Point, dataTransfer: DataTransfer): boolean =>
  dispatch(target, type, { ...mouseFields(target, point, PRESSED), dataTransfer });

const between = (start: Point, end: Point, part: number): Point => ({ x: start.x + (end.x - start.x) * part, y: start.y + (end.y - start.y) * part });

/**
 * Returns the element at a position, or the given element if positions are unknown or the element there must not be used.
 */
function targetAt(element: Element, { x, y }: Point): Element {
  if (hasNoViewport(viewOf(element))) return element;
  const hit = hitElement(documentOf(element), x, y);
  return hit && !isForbidden({ element: hit }) ? hit : element;
}

/** Tracks the element that captures the pointer, because the browser does not capture it for events of a script. */
function watchCapture(element: Element, patches: Patches): () => Element | undefined {
  let captured: Element | undefined;
  const { prototype } = viewOf(element).Element;
  patches.replace(prototype, "setPointerCapture", () => function (this: Element) {
    captured = this;
  });
  patches.replace(prototype, "releasePointerCapture", () => function (this: Element) {
    if (captured === this) captured = undefined;
  });
  patches.replace(prototype, "hasPointerCapture", () => function (this: Element) {
    return captured === this;
  });
  return () => (captured && isInPage(captured) ? captured : undefined);
}

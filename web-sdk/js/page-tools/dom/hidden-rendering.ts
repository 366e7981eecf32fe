/**
 * Performs the work that the browser does with rendering, and therefore not in a hidden tab: animations and scroll events.
 */

import { read } from "../../dom/native.ts";
import type { Clock } from "./clock.ts";
import { dispatch } from "./dispatch.ts";
import { type View, viewOf } from "./flat-tree.ts";
import { FRAME_MS, type HiddenActivity } from "./hidden-activity.ts";
import type { Patches } from "./patch.ts";
import { fireScroll } from "./scroll.ts";

/**
 * Finishes animations and transitions, whose elements would otherwise stay where they began, makes smooth scrolling
 * immediate, and fires scroll events. Ends when the signal fires, with its reason.
 */
export async function followRendering(view: View, patches: Patches, clock: Clock, activity: HiddenActivity, signal: AbortSignal): Promise<never> {
  const scrolled = new Set<Element>();
  for (const name of ["scroll", "scrollBy", "scrollTo", "scrollIntoView"] as const) {
    patches.replace(view.Element.prototype, name, (original) => function (this: Element, ...args: unknown[]) {
      Reflect.apply(original, this, withoutSmoothness(args));
      if (name !== "scrollIntoView") scrolled.add(this);
    });
    if (name !== "scrollIntoView") patches.replace(view, name, (original) => (...args: unknown[]) => Reflect.apply(original, view, withoutSmoothness(args)));
  }
  let { scrollX, scrollY } = view;
  for (;;) {
    await clock.sleep(FRAME_MS, signal);
    const page = read(view.document, "scrollingElement");
    if (page && (view.scrollX !== scrollX || view.scrollY !== scrollY)) scrolled.add(page);
    ({ scrollX, scrollY } = view);
    const animations = endingAnimations(view);
    if (scrolled.size || animations.length) activity.happened();
    for (const element of scrolled) fireScroll(element);
    scrolled.clear();
    for (const animation of animations) {
      animation.finish();
      fireEnd(animation);
    }
    activity.renderedAt = performance.now();
  }
}

/**
 * Fires the event of an animation that has ended, which the browser fires with a frame. Components remove closing elements
 * on this event.
 */
function fireEnd(animation: Animation): void {
  const { target, pseudoElement } = (animation.effect ?? {}) as KeyframeEffect;
  if (!target) return;
  const { CSSAnimation, CSSTransition } = viewOf(target);
  const fields = { composed: false, pseudoElement: pseudoElement ?? "" };
  if (animation instanceof CSSAnimation) dispatch(target, "animationend", { ...fields, animationName: animation.animationName });
  else if (animation instanceof CSSTransition) dispatch(target, "transitionend", { ...fields, propertyName: animation.transitionProperty });
}

/** Returns the running animations and transitions that will end. */
export function endingAnimations(view: View): Animation[] {
  const animations = read(view.document, "getAnimations")?.call(view.document) ?? [];
  return animations.filter(({ playState, effect }) => playState === "running" && Number(effect?.getComputedTiming().endTime) < Infinity);
}

/** Returns the arguments of a scroll function, changed to scroll immediately. */
function withoutSmoothness(args: unknown[]): unknown[] {
  const [first, top] = args;
  if (args.length > 1) return [{ left: first, top, behavior: "instant" }];
  return typeof first === "object" && first ? [{ ...first, behavior: "instant" }] : args;
}

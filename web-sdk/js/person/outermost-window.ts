/** Returns the outermost window whose documents this one may access. In a worker or a process, it is the global object. */
export function outermostWindow(): Window {
  let view = globalThis as unknown as Window;
  try {
    while (view.parent !== view && view.parent.document) view = view.parent;
  } catch {
    // The next window is of another origin, or there is none.
  }
  return view;
}

/** Lets tests look into closed shadow roots. */

globalThis.closedRoots = new WeakMap();
const { attachShadow } = Element.prototype;
Element.prototype.attachShadow = function (options) {
  const root = attachShadow.call(this, options);
  if (options.mode === "closed") closedRoots.set(this, root);
  return root;
};

/** Tests look into closed shadow roots, too. */

globalThis.closedRoots = new WeakMap();
const { attachShadow } = Element.prototype;
Element.prototype.attachShadow = function (options) {
  const root = attachShadow.call(this, options);
  if (options.mode === "closed") closedRoots.set(this, root);
  return root;
};

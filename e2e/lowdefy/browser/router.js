/** The address of a target of a link, `{ pathname, query }`. */
export function hrefOf({ pathname, query }) {
  return query ? `${pathname}?${query}` : pathname;
}

/**
 * The router that the client needs: `basePath`, `push` and `back`, and `onPage`, which is called with the
 * configurations of each page that is opened.
 */
export function createRouter() {
  let showPage = () => {};
  let opened = 0;

  async function open() {
    opened += 1;
    const turn = opened;
    const response = await fetch(`/api/page${location.pathname}`);
    const page = await response.json();
    if (turn !== opened) {
      return;
    }
    if (location.pathname === "/") {
      history.replaceState(null, "", `/${page.pageConfig.pageId}`);
    }
    showPage(page);
  }

  return {
    basePath: "",
    async push(target) {
      history.pushState(null, "", hrefOf(target));
      await open();
    },
    back() {
      history.back();
    },
    onPage(listener) {
      showPage = listener;
      addEventListener("popstate", open);
      open();
      return () => {
        showPage = () => {};
        removeEventListener("popstate", open);
      };
    },
  };
}

// Runs before the first paint, so that a chosen theme does not flash. A classic script for that reason.
(() => {
  try {
    const theme = localStorage.getItem("mcp-web-demo.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // No storage: the system's choice it is.
  }
})();

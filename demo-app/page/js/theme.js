// Runs before the first paint, so that a selected theme does not flash. For that reason it is a classic script.
(() => {
  try {
    const theme = localStorage.getItem("mcp-web-demo.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // No storage: the system's theme is used.
  }
})();

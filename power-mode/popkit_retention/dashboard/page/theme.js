// Runs before the first paint, so that nothing flashes: a classic script, not a module. What the user chose, else what the system has.
(() => {
  try {
    const chosen = localStorage.getItem("popkit-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser may keep no storage for us: the system's scheme holds.
  }
})();

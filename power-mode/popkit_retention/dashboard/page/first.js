// Runs before the first paint and before the modules: a classic script. The scheme that the user chose is set, so that nothing flashes.
(() => {
  try {
    const chosen = localStorage.getItem("popkit-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser may keep no storage for us: the system's scheme holds.
  }
  // The list takes the server longest, so it is asked for before the modules are there; api.js takes the answer.
  if (/^(#\/(sessions?(\/.*)?)?)?$/.test(location.hash)) {
    const path = "/api/sessions?limit=100&offset=0";
    globalThis.askedEarly = { path, response: fetch(path, { credentials: "same-origin" }).catch(() => null) };
  }
})();

// Runs before the first paint and before the modules: a classic script. The scheme that the user chose is set, so that nothing flashes.
(() => {
  try {
    const chosen = localStorage.getItem("popkit-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser may keep no storage for us: the system's scheme holds.
  }
  // What takes the server longest is asked for before the modules are there; api.js takes the answers. The list comes behind the token of
  // changes, or one between the two would be missed.
  const ask = (path) => fetch(path, { credentials: "same-origin" }).catch(() => null);
  const token = ask("/api/changes");
  globalThis.askedEarly = new Map([["/api/changes", token]]);
  if (/^(#\/(sessions?(\/.*)?)?)?$/.test(location.hash)) {
    const path = "/api/sessions?limit=100&offset=0";
    globalThis.askedEarly.set(path, token.then(() => ask(path)));
  }
})();

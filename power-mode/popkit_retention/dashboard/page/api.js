// Questions to the server, and the token that changes need.

let asked = null; // the answer of /api/me, asked for once per server

/** An error with words for people. `status`: of the answer, 0 where there was none. */
export class Failure extends Error {
  constructor(words, status = 0) {
    super(words);
    this.status = status;
  }
}

/** What first.js has asked already, once. */
function early(path) {
  const response = globalThis.askedEarly?.get(path);
  globalThis.askedEarly?.delete(path);
  return response;
}

async function answer(path, how) {
  let response;
  try {
    response = (await early(path)) ?? (await fetch(path, { credentials: "same-origin", ...how }));
  } catch {
    throw new Failure("The server of this page does not answer. Start it again with: popkit dashboard");
  }
  let body = null;
  try {
    body = await response.json();
  } catch {
    // An answer without JSON is described by its status alone.
  }
  if (response.ok && body !== null) return body;
  throw new Failure(body?.error ?? `The server answered ${response.status}. Look at what popkit dashboard printed.`, response.status);
}

/** GET: the answer, or a Failure. `how`: as of fetch. */
export const get = (path, how) => answer(path, how);

/** Who answers: version, where the data is, the token for changes. */
export function me() {
  asked ??= get("/api/me").catch((error) => {
    asked = null;
    throw error;
  });
  return asked;
}

/** Forgets what belongs to a server that is gone: another one has another token. */
export function forgetServer() {
  asked = null;
}

/** POST of an operation: {done, text}, or a Failure. */
export async function post(path, body) {
  const { change_token: token } = await me();
  const headers = { "Content-Type": "application/json", "X-PopKit-Change": token };
  return answer(path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** A path with its parameters, without empty ones. */
export function query(path, parameters) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== "" && value !== null && value !== false) words.set(name, value);
  const search = words.toString();
  return search ? `${path}?${search}` : path;
}

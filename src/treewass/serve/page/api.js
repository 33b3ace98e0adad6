// Calls of the service; an answer that is no success becomes an error with the service's own sentence.

let token = sessionStorage.getItem("treewass-token") || "";

export function useToken(value) {
  token = value;
  sessionStorage.setItem("treewass-token", value);
}

export const hasToken = () => token !== "";

export class ServiceError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function ask(path, body, signal) {
  return send(body ? "POST" : "GET", path, body, { signal });
}

async function send(method, path, body, { signal, key }) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (key) headers["Idempotency-Key"] = key;
  const request = { method, headers, signal };
  if (body) request.body = JSON.stringify(body);
  let response;
  try {
    response = await fetch(`api/${path}`, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError(0, "The service does not answer.");
  }
  const answer = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return {};
  });
  if (response.status === 401) throw new ServiceError(401, token ? "The service does not know this token." : "The service does this only with its token.");
  if (!response.ok) throw new ServiceError(response.status, answer.detail || `The service answered ${response.status}.`);
  return answer;
}

const keys = new Map(); // of writes that have no answer yet

// Change documents. A write that failed is asked for again under its key, so that nothing is done twice. A label has none:
// it may be given twice, and must be given again after another one.
export async function write(method, path, body) {
  if (method === "PATCH") return send(method, path, body, {});
  const name = `${method} ${path} ${JSON.stringify(body)}`;
  if (!keys.has(name)) keys.set(name, Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-"));
  const answer = await send(method, path, body, { key: keys.get(name) });
  keys.delete(name);
  return answer;
}

let running = null;

// Give up the question of the view that is shown.
export function stop() {
  running?.abort();
}

// Ask for what a view will show: one question at a time, the latest wins.
export function askLatest(path, body) {
  stop();
  running = new AbortController();
  return ask(path, body, running.signal);
}

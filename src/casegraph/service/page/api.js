// Talking to the service. Everything that goes wrong becomes a `Problem` with a sentence in it.

import { askForKey } from "./key.js";

const KEY = "casegraph-key";
const PATIENCE = 2;
const WAIT = 700; // milliseconds

/** What the service says when it refuses (RFC 9457), or that it cannot be reached. */
export class Problem extends Error {
  constructor(document) {
    super(document.detail || document.title || "something went wrong");
    this.document = document;
    this.status = document.status;
  }
}

/** Read something; parameters that are null or empty are left out. */
export function get(route, parameters = {}, signal = undefined) {
  return called(addressOf(route, parameters), { signal });
}

function addressOf(route, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    const isGiven = value !== null && value !== undefined && value !== "";
    if (isGiven) query.set(name, value);
  }
  return query.size ? `/v1/${route}?${query}` : `/v1/${route}`;
}

/** Send something. */
export function post(route, body, signal = undefined) {
  const headers = { "Content-Type": "application/json" };
  return called(`/v1/${route}`, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** Send a file. */
export function send(route, parameters, file) {
  const headers = { "Content-Type": "application/octet-stream" };
  return called(addressOf(route, parameters), { method: "POST", headers, body: file });
}

/** End something. */
export function remove(route) {
  return called(`/v1/${route}`, { method: "DELETE" });
}

/** Make an update once, also if the answer is lost and it is sent again. */
export function update(changes) {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": newKey() };
  return called("/v1/update", { method: "POST", headers, body: JSON.stringify(changes) });
}

/** A key of our own choice that nobody else chooses. */
function newKey() {
  const numbers = crypto.getRandomValues(new Uint32Array(4));
  return [...numbers].map((number) => number.toString(36)).join("-");
}

async function called(address, options) {
  const response = await request(address, options);
  return response.json();
}

/**
 * A response that is no problem; the key is asked for where one is needed.
 *
 * patience  how often a read is sent again to a service that has too much to do
 */
export async function request(address, options = {}, patience = PATIENCE) {
  const key = sessionStorage.getItem(KEY);
  const headers = { ...options.headers };
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(address, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ status: 0, detail: "the service cannot be reached; is it running?" });
  }
  if (response.ok) return response;
  const isRead = (options.method ?? "GET") === "GET";
  const isBusy = response.status === 503 || response.status === 429;
  if (isRead && isBusy && patience > 0) {
    await new Promise((resolve) => setTimeout(resolve, WAIT));
    options.signal?.throwIfAborted();
    return request(address, options, patience - 1);
  }
  const problem = await problemOf(response);
  const lacksRight = response.status === 401 || (response.status === 403 && key);
  if (!lacksRight) throw problem;
  const hasAnotherKey = sessionStorage.getItem(KEY) !== key; // given since this was sent
  if (!hasAnotherKey) {
    const given = await askForKey(problem.message);
    if (!given) throw problem;
    sessionStorage.setItem(KEY, given);
  }
  return request(address, options);
}

async function problemOf(response) {
  try {
    return new Problem(await response.json());
  } catch {
    return new Problem({ status: response.status, detail: response.statusText });
  }
}

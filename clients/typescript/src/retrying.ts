// Retries what is safe to repeat, and throws every other error.

import { PetStoreError, secondsIn } from "./errors.js";
import { info, type ResponseInfo } from "./responses.js";

export interface Retries {
  /** Milliseconds for each attempt, the body included. */
  timeout: number;
  /** How many more attempts at most. */
  maxRetries: number;
  /** Milliseconds: a longer `Retry-After` throws the error at once. */
  maxWait: number;
  /** Sends the requests, for example through a proxy. */
  fetch: typeof globalThis.fetch;
  /** Called with each response that comes, also with one that is tried again. */
  onResponse: ((response: ResponseInfo) => unknown) | undefined;
  /** Gets a line for each response, for each retry, and for a deprecated operation. `console` is one. */
  logger: Logger;
}

export type Logger = Pick<Console, "debug" | "info" | "warn">;

export const SILENT: Logger = { debug() {}, info() {}, warn() {} };

/** Milliseconds: a timer that is set for longer ends at once. */
const LONGEST = 2 ** 31 - 1;

/** A later attempt can succeed. After a 500, one is enough. */
const TEMPORARY = new Set([409, 429, 502, 503, 504]);

/** Return a `fetch` that repeats GETs, and POSTs with an `Idempotency-Key`, when no response or a temporary error comes. */
export function retrying(options: Retries): (request: Request) => Promise<Response> {
  const { timeout, maxRetries, maxWait, fetch, onResponse, logger } = options;
  return async (request) => {
    const { signal } = request;
    const { pathname, search } = new URL(request.url);
    const name = `${request.method} ${pathname}${search}`;
    const pause = (reason: unknown, wait: number) => {
      logger.info(`${name}: ${reason}, next attempt in ${Math.round(wait)} ms`);
      return sleep(wait, signal);
    };
    for (let attempt = 0; ; attempt++) {
      const canRepeat = isSafe(request) && attempt < maxRetries;
      let response: Response;
      try {
        response = await fetchOnce(fetch, request, timeout);
      } catch (error) {
        if (signal.aborted || error instanceof PetStoreError) throw error;
        if (!canRepeat) throw PetStoreError.ofLoss(error);
        await pause(error instanceof Error ? error.name : error, Math.min(backoff(attempt), maxWait));
        continue;
      }
      const { status, headers } = response;
      logger.debug(`${name}: ${status}, request ID ${headers.get("X-Request-ID")}`);
      if (headers.has("Deprecation")) logger.warn(`${name} is deprecated. Its last day: ${headers.get("Sunset")}.`);
      onResponse?.(info(response.clone()));
      const wait = timeToWait(response, attempt);
      if (wait === undefined || wait > maxWait || !canRepeat) return checked(request, response);
      await pause(status, wait);
    }
  };
}

/** Fetch the whole response, so that one that breaks off counts as lost. A redirect would turn a POST into a GET. */
async function fetchOnce(fetch: Retries["fetch"], request: Request, timeout: number): Promise<Response> {
  // Not by AbortSignal.timeout and any: Node.js 20 forgets them when it collects garbage.
  const controller = new AbortController();
  const end = () => controller.abort(new DOMException("No response in time", "TimeoutError"));
  const timer = setTimeout(end, Math.min(timeout, LONGEST));
  const stop = () => controller.abort(request.signal.reason);
  request.signal.addEventListener("abort", stop);
  if (request.signal.aborted) stop();
  try {
    const response = await fetch(request.clone(), { signal: controller.signal, redirect: "manual" });
    if (response.type === "opaqueredirect") throw PetStoreError.ofRedirect(0, null); // a browser shows nothing of it
    const body = await response.arrayBuffer();
    return new Response(body.byteLength ? body : null, response); // a 304 can have none
  } finally {
    clearTimeout(timer);
    request.signal.removeEventListener("abort", stop);
  }
}

function isSafe(request: Request): boolean {
  return request.method === "GET" || request.headers.has("Idempotency-Key");
}

/** Return how long to wait before the next attempt, or undefined if another one is of no use. */
function timeToWait(response: Response, attempt: number): number | undefined {
  if (!TEMPORARY.has(response.status) && (response.status !== 500 || attempt > 0)) return undefined;
  const seconds = secondsIn(response.headers);
  return seconds === null ? backoff(attempt) : seconds * 1000;
}

/** Return about 400, 800, 1600, … with some chance, so that clients do not return all at once. */
export function backoff(attempt: number): number {
  return (250 + 250 * Math.random()) * 2 ** attempt;
}

/** Wait, unless the signal is aborted: then throw its reason. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, Math.min(milliseconds, LONGEST));
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

async function checked(request: Request, response: Response): Promise<Response> {
  const isUnchanged = response.status === 304 && request.headers.has("If-None-Match");
  if (isUnchanged || (await isSuccessOfTheApi(request, response))) return response;
  throw await PetStoreError.of(response);
}

/** Return whether the API responds like this. If not, it is from a proxy, such as its sign-in page. */
async function isSuccessOfTheApi(request: Request, response: Response): Promise<boolean> {
  const isJson = (response.headers.get("Content-Type") ?? "").toLowerCase().startsWith("application/json");
  if (response.status !== (request.method === "POST" ? 201 : 200) || !isJson) return false;
  return response.clone().json().then(() => true, () => false);
}

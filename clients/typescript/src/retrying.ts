// Retries what is safe to repeat, and throws every other error.

import { PetStoreError } from "./errors.js";

export interface Retries {
  /** Milliseconds for each attempt, the body included. */
  timeout: number;
  /** How many more attempts at most. */
  retries: number;
  /** Milliseconds: a longer `Retry-After` throws the error at once. */
  maxWait: number;
}

/** A later attempt can succeed. After a 500, one is enough. */
const TEMPORARY = new Set([409, 429, 502, 503, 504]);

/** Return a `fetch` that repeats GETs, and POSTs with an `Idempotency-Key`, when no response or a temporary error comes. */
export function retrying({ timeout, retries, maxWait }: Retries): (request: Request) => Promise<Response> {
  return async (request) => {
    for (let attempt = 0; attempt < (isSafe(request) ? retries : 0); attempt++) {
      let response: Response;
      try {
        response = await fetchOnce(request, timeout);
      } catch (error) {
        if (request.signal.aborted) throw error;
        await sleep(Math.min(backoff(attempt), maxWait));
        continue;
      }
      const wait = timeToWait(response, attempt);
      if (wait === undefined || wait > maxWait) return checked(request, response);
      await sleep(wait);
    }
    return checked(request, await fetchOnce(request, timeout));
  };
}

/** Fetch the whole response, so that one that breaks off counts as lost. A redirect would turn a POST into a GET. */
async function fetchOnce(request: Request, timeout: number): Promise<Response> {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeout)]);
  const response = await fetch(request.clone(), { signal, redirect: "manual" });
  return new Response(response.body && (await response.arrayBuffer()), response);
}

function isSafe(request: Request): boolean {
  return request.method === "GET" || request.headers.has("Idempotency-Key");
}

/** Return how long to wait before the next attempt, or undefined if another one is of no use. */
function timeToWait(response: Response, attempt: number): number | undefined {
  if (!TEMPORARY.has(response.status) && (response.status !== 500 || attempt > 0)) return undefined;
  const seconds = response.headers.get("Retry-After") ?? "";
  return /^\d+$/.test(seconds) ? Number(seconds) * 1000 : backoff(attempt);
}

/** Return about 400, 800, 1600, … with some chance, so that clients do not return all at once. */
export function backoff(attempt: number): number {
  return (250 + 250 * Math.random()) * 2 ** attempt;
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function checked(request: Request, response: Response): Promise<Response> {
  if (response.status === 304 || isSuccessOfTheApi(request, response)) return response;
  throw await PetStoreError.of(response);
}

/** Return whether the API responds like this. If not, it is from a proxy, such as its sign-in page. */
function isSuccessOfTheApi(request: Request, response: Response): boolean {
  const isJson = (response.headers.get("Content-Type") ?? "").toLowerCase().startsWith("application/json");
  return response.status === (request.method === "POST" ? 201 : 200) && isJson;
}

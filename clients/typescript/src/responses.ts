// What a caller can know about a response, also about one that succeeded.

/** The limit of a key: at most `limit` requests in `window` seconds. */
export interface RateLimit {
  limit: number;
  window: number;
  /** How many requests are left. */
  remaining: number;
  /** Seconds until more are free. */
  reset: number;
}

/** A response, as `onResponse` gets it. */
export interface ResponseInfo {
  status: number;
  /** Log it: support needs it. */
  requestId: string | null;
  /** Null if your key has no limit. */
  rateLimit: RateLimit | null;
  headers: Headers;
  /** As it came: `await response.json()` is the body. */
  response: Response;
}

const LINK = /<([^>]*)>([^",<]*(?:"(?:[^"\\]|\\.)*"[^",<]*)*)/g;
const PARAMETER = /([^\s;=,"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g;

/** Return the URL of the `next` link in a `Link` header, whatever its quotes and the order (RFC 8288). */
export function nextUrl(link: string): string | undefined {
  for (const [, url, parameters = ""] of link.matchAll(LINK)) {
    const relation = [...parameters.matchAll(PARAMETER)].find(([, name]) => name?.toLowerCase() === "rel");
    if ((relation?.[2] ?? relation?.[3] ?? "").toLowerCase().split(/\s+/).includes("next")) return url;
  }
  return undefined;
}

/** Return what `onResponse` gets. */
export function info(response: Response): ResponseInfo {
  const { status, headers } = response;
  return { status, requestId: headers.get("X-Request-ID"), rateLimit: rateLimit(headers), headers, response };
}

function rateLimit(headers: Headers): RateLimit | null {
  const text = `${headers.get("RateLimit-Policy")};${headers.get("RateLimit")}`;
  const found = Object.fromEntries([...text.matchAll(/;\s*([qwrt])=(\d+)/g)].map(([, name, value]) => [name, Number(value)]));
  const { q: limit, w: window, r: remaining, t: reset } = found as Record<string, number | undefined>;
  if (limit === undefined || window === undefined || remaining === undefined || reset === undefined) return null;
  return { limit, window, remaining, reset };
}

// Where the API is and which key it gets. The key is kept out of messages: what `fetch` says about a wrong header would repeat it.

import { VERSION } from "./version.js";

/** RFC 6750, section 2.1. */
const BEARER_TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** What Node, Deno and Bun have, and a browser has not. */
const { process } = globalThis as { process?: { env: Record<string, string | undefined>; versions: { node?: string } } };

/** Return the address of the API without the white space around it. Throw a `TypeError` if it cannot be one. */
export function checkedUrl(baseUrl = process?.env["PETSTORE_URL"] ?? ""): string {
  const url = String(baseUrl).trim();
  if (/^https?:\/\/(\[[^\s/?#@]+\]|[^\s/?#@:]+)(:[0-9]*)?(\/[^\s?#]*)?$/.test(url)) return url;
  throw new TypeError("baseUrl must be an address such as https://petstore.example/v1. Pass it, or set PETSTORE_URL.");
}

/** Return the key without the white space around it, as `checkedUrl`. */
export function checkedKey(key = process?.env["PETSTORE_API_KEY"] ?? ""): string {
  const trimmed = key.trim();
  if (!trimmed) throw new TypeError("key is missing. Pass it, or set PETSTORE_API_KEY.");
  if (!BEARER_TOKEN.test(trimmed)) throw new TypeError("key has characters that an API key cannot have.");
  return trimmed;
}

/** The headers that a caller's own ones cannot be: the methods send them where they belong. */
const OURS = ["Authorization", "Content-Type", "Idempotency-Key", "If-None-Match"];

/** Return the headers of each request. A browser names itself: a header of ours would need the permission of the API. */
export function headers(key: string, more: Record<string, string>): Headers {
  const node = process?.versions.node;
  const sent = new Headers({ ...(node && { "User-Agent": `petstore-client-typescript/${VERSION} node/${node}` }) });
  for (const [name, value] of Object.entries(more)) sent.set(name, value);
  for (const name of OURS) if (sent.has(name)) throw new TypeError(`headers cannot have ${name}: the client sends it.`);
  sent.set("Authorization", `Bearer ${key}`);
  return sent;
}

// The API key, kept out of messages: what `fetch` says about a wrong header would repeat it.

/** RFC 6750, section 2.1. */
const BEARER_TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** Return the key without the white space around it. Throw a `TypeError` if it cannot be a key. */
export function checked(key: string | undefined): string {
  const trimmed = (key ?? "").trim();
  if (!trimmed) throw new TypeError("key is missing.");
  if (!BEARER_TOKEN.test(trimmed)) throw new TypeError("key has characters that an API key cannot have.");
  return trimmed;
}

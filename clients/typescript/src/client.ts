// The API as a class, on top of openapi-fetch and the types that openapi-typescript generates.

import createClient, { type Client } from "openapi-fetch";

import { checkedKey, checkedUrl, headers } from "./configuration.js";
import { PetStoreError } from "./errors.js";
import { nextUrl } from "./responses.js";
import { backoff, retrying, SILENT, sleep, type Retries } from "./retrying.js";
import type { components, paths } from "./schema.js";

export type Category = components["schemas"]["Category"];
export type NewPet = components["schemas"]["NewPet"];
export type Pet = components["schemas"]["Pet"];
export type PetChange = components["schemas"]["PetChange"];
export type PetStatus = components["schemas"]["PetStatus"];

export interface Options extends Partial<Retries> {
  /** The address of the API, which ends in `/v1`. Without it, the environment variable PETSTORE_URL. White space around it is ignored. */
  baseUrl?: string | undefined;
  /** Your API key. Without it, PETSTORE_API_KEY. One that cannot be a key throws a `TypeError`. White space around it is ignored. */
  key?: string | undefined;
  /** What to send with each request, beside the headers of the client. */
  headers?: Record<string, string>;
}

export interface CallOptions {
  /** Ends the call, also while it waits, with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface ListOptions extends CallOptions {
  pageSize?: number;
}

export interface PetFilters extends ListOptions {
  status?: PetStatus;
  /** Only the animals of this category. */
  categoryId?: number;
}

export interface ChangesOptions extends ListOptions {
  cursor?: string | null;
  /** Milliseconds to wait at most after an empty page. */
  maxPause?: number;
}

export interface ChangesPage {
  /** Each with `change`, `petId`, and `pet` if it was saved. None: nothing more can be listed now. */
  changes: PetChange[];
  /** Where to go on. Store it together with the changes. */
  cursor: string;
}

interface Page<Item> {
  data?: Item[];
  response: Response;
}

/**
 * The Pet Store, seen with one API key.
 *
 * Whatever goes wrong with a request throws `PetStoreError`. If you abort it, it throws the reason of your signal.
 * `api` is the openapi-fetch client for every operation, with the same key, timeout and retries.
 */
export class PetStore {
  readonly api: Client<paths>;
  readonly #options: Options;

  constructor(options: Options = {}) {
    const {
      baseUrl,
      key,
      headers: more = {},
      timeout = 10_000,
      maxRetries = 4,
      maxWait = 60_000,
      fetch = (input, init) => globalThis.fetch(input, init),
      onResponse,
      logger = SILENT,
    } = options;
    this.#options = options;
    this.api = createClient<paths>({
      baseUrl: checkedUrl(baseUrl),
      headers: headers(checkedKey(key), more),
      fetch: retrying({ timeout, maxRetries, maxWait, fetch, onResponse, logger }),
    });
  }

  /**
   * Return the store with other options for some calls: `store.withOptions({ timeout: 2_000 }).category(1)`.
   * What you leave out stays, and `headers` are added.
   */
  withOptions(options: Omit<Options, "baseUrl" | "key">): PetStore {
    return new PetStore({ ...this.#options, ...options, headers: { ...this.#options.headers, ...options.headers } });
  }

  /** Yield all animals with a status and in a category, newest first. Fetch the next page when it is needed. */
  pets({ status, categoryId, pageSize = 100, signal }: PetFilters = {}): AsyncGenerator<Pet> {
    const filters = { ...(status && { status }), ...(categoryId !== undefined && { categoryId }) };
    return every<Pet>((cursor) =>
      this.api.GET("/pets", { params: { query: { limit: pageSize, ...filters, ...cursor } }, ...ended(signal) }),
    );
  }

  /**
   * Add an animal once, whatever happens to the responses.
   * Pass a key of your own, and store it, to repeat the call after a crash of your program too.
   */
  async addPet(
    pet: NewPet,
    { idempotencyKey = newKey(), signal }: CallOptions & { idempotencyKey?: string } = {},
  ): Promise<Pet> {
    const params = { header: { "Idempotency-Key": idempotencyKey } };
    return exact(await this.api.POST("/pets", { body: pet, params, ...ended(signal) }));
  }

  /** Yield all categories, newest first: the valid values of `categoryId`. */
  categories({ pageSize = 100, signal }: ListOptions = {}): AsyncGenerator<Category> {
    return every<Category>((cursor) =>
      this.api.GET("/categories", { params: { query: { limit: pageSize, ...cursor } }, ...ended(signal) }),
    );
  }

  /**
   * Follow the feed of changes without end, from the cursor of a page, or from now. An empty page: no more yet.
   * After an empty page, wait 1 s and up to `maxPause` milliseconds. With a cursor, an outage is waited out as well, however long
   * it is. Throw `cursor_expired` if you must begin again.
   */
  async *changes({ cursor, pageSize = 100, maxPause = 30_000, signal }: ChangesOptions = {}): AsyncGenerator<ChangesPage> {
    let etag: string | null = null;
    let empty = 0; // how many times in a row there was nothing
    let failed = 0; // or no response of the feed
    const pause = (times: number) => Math.min(maxPause, backoff(Math.min(times, 20) + 1));
    while (true) {
      const query = { limit: pageSize, ...(cursor && { cursor }) };
      const header: { "If-None-Match"?: string } = etag === null ? {} : { "If-None-Match": etag };
      let page: Page<PetChange>;
      try {
        page = await this.api.GET("/changes", { params: { query, header }, ...ended(signal) });
      } catch (error) {
        if (!(error instanceof PetStoreError && error.isTemporary && cursor)) throw error;
        await sleep(Math.max(pause(++failed), (error.retryAfter ?? 0) * 1000), signal);
        continue;
      }
      failed = 0;
      const { response } = page;
      const changes = response.status === 304 ? [] : items(page);
      for (const { petId, pet } of changes) exactIds({ petId, ...pet });
      empty = changes.length || !cursor ? 0 : empty + 1;
      etag = empty ? (response.headers.get("ETag") ?? etag) : null;
      cursor = nextCursor(response) ?? cursor ?? "";
      if (response.status !== 304) yield { changes, cursor };
      if (empty) await sleep(pause(empty), signal);
    }
  }

  /** Return one category. */
  async category(categoryId: number, { signal }: CallOptions = {}): Promise<Category> {
    return exact(await this.api.GET("/categories/{categoryId}", { params: { path: { categoryId } }, ...ended(signal) }));
  }
}

/** Return the option of openapi-fetch, which takes no undefined. */
function ended(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal ? { signal } : {};
}

/** Return a random key. `crypto.randomUUID` needs HTTPS or localhost in a browser. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Follow the pages to the end. */
async function* every<Item extends object>(
  fetchPage: (query: { cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<Item> {
  let cursor: string | null = "";
  while (cursor !== null) {
    const page: Page<Item> = await fetchPage(cursor ? { cursor } : {});
    for (const item of items(page)) yield exactIds(item);
    cursor = nextCursor(page.response);
  }
}

function items<Item>({ data, response }: Page<Item>): Item[] {
  if (Array.isArray(data) && data.every((item) => typeof item === "object" && item !== null)) return data;
  throw PetStoreError.unexpected(response);
}

/** Return the cursor of the `next` link. The key goes to `baseUrl` only, whatever the link's host is. */
function nextCursor(response: Response): string | null {
  const address = nextUrl(response.headers.get("Link") ?? "");
  if (address === undefined) return null;
  const cursor = new URLSearchParams(address.split("?")[1]).get("cursor");
  if (!cursor) throw PetStoreError.unexpected(response);
  return cursor;
}

/** Return the object of a response. */
function exact<Item extends object>({ data, response }: { data?: Item; response: Response }): Item {
  if (typeof data !== "object" || Array.isArray(data) || data === null) throw PetStoreError.unexpected(response);
  return exactIds(data);
}

/** Return the object unless it has an ID above 2^53, which JSON.parse has silently rounded. */
function exactIds<Item extends object>(item: Item): Item {
  for (const value of Object.values(item)) {
    if (typeof value === "number" && !Number.isSafeInteger(value)) throw new RangeError(`An ID is too large: ${value}`);
  }
  return item;
}

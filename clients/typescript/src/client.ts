// The API as a class, on top of openapi-fetch and the types that openapi-typescript generates.

import createClient, { type Client } from "openapi-fetch";

import { checked } from "./keys.js";
import { backoff, retrying, sleep, type Retries } from "./retrying.js";
import type { components, paths } from "./schema.js";

export type Category = components["schemas"]["Category"];
export type NewPet = components["schemas"]["NewPet"];
export type Pet = components["schemas"]["Pet"];
export type PetChange = components["schemas"]["PetChange"];
export type PetStatus = components["schemas"]["PetStatus"];

export interface Options extends Partial<Retries> {
  /** The address of the API, which ends in `/v1`. */
  baseUrl: string;
  /** Your API key. One that cannot be a key throws a `TypeError`. White space around it is ignored. */
  key: string;
}

export interface PetFilters {
  status?: PetStatus;
  /** Only the animals of this category. */
  categoryId?: number;
  pageSize?: number;
}

export interface ChangesPage {
  /** Each with `change`, `petId`, and `pet` if it was saved. None: what you have is complete. */
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
 * Errors throw `PetStoreError`. If no response comes at all, the last attempt throws what `fetch` throws.
 * `api` is the openapi-fetch client for every operation, with the same key, timeout and retries.
 */
export class PetStore {
  readonly api: Client<paths>;

  constructor({ baseUrl, key, timeout = 10_000, retries = 4, maxWait = 60_000 }: Options) {
    const headers = { Authorization: `Bearer ${checked(key)}` };
    this.api = createClient<paths>({ baseUrl, headers, fetch: retrying({ timeout, retries, maxWait }) });
  }

  /** Yield all animals with a status and in a category, newest first. Fetch the next page when it is needed. */
  pets({ status, categoryId, pageSize = 100 }: PetFilters = {}): AsyncGenerator<Pet> {
    const filters = { ...(status && { status }), ...(categoryId !== undefined && { categoryId }) };
    return every<Pet>((cursor) =>
      this.api.GET("/pets", { params: { query: { limit: pageSize, ...filters, ...cursor } } }),
    );
  }

  /**
   * Add an animal once, whatever happens to the responses.
   * Pass a key of your own, and store it, to repeat the call after a crash of your program too.
   */
  async addPet(pet: NewPet, { idempotencyKey = crypto.randomUUID() as string } = {}): Promise<Pet> {
    const params = { header: { "Idempotency-Key": idempotencyKey } };
    return exact((await this.api.POST("/pets", { body: pet, params })).data);
  }

  /** Yield all categories, newest first: the valid values of `categoryId`. */
  categories({ pageSize = 100 } = {}): AsyncGenerator<Category> {
    return every<Category>((cursor) =>
      this.api.GET("/categories", { params: { query: { limit: pageSize, ...cursor } } }),
    );
  }

  /**
   * Follow the feed of changes without end, from the cursor of a page, or from now. An empty page: no more yet.
   * After an empty page, wait 1 s and up to `maxPause` milliseconds. Throw `cursor_expired` if you must begin again.
   */
  async *changes({
    cursor,
    pageSize = 100,
    maxPause = 30_000,
  }: { cursor?: string | null; pageSize?: number; maxPause?: number } = {}): AsyncGenerator<ChangesPage> {
    let etag: string | null = null;
    let empty = 0; // how many times in a row there was nothing
    while (true) {
      const query = { limit: pageSize, ...(cursor && { cursor }) };
      const header: { "If-None-Match"?: string } = etag === null ? {} : { "If-None-Match": etag };
      const { data, response }: Page<PetChange> = await this.api.GET("/changes", { params: { query, header } });
      for (const { petId, pet } of data ?? []) exact({ petId, ...pet });
      empty = data?.length || !cursor ? 0 : empty + 1;
      etag = empty ? (response.headers.get("ETag") ?? etag) : null;
      cursor = nextCursor(response) ?? cursor ?? "";
      if (data) yield { changes: data, cursor };
      if (empty) await sleep(Math.min(maxPause, backoff(Math.min(empty, 20) + 1)));
    }
  }

  /** Return one category. */
  async category(categoryId: number): Promise<Category> {
    return exact((await this.api.GET("/categories/{categoryId}", { params: { path: { categoryId } } })).data);
  }
}

/** Follow the pages to the end. */
async function* every<Item extends object>(
  fetchPage: (query: { cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<Item> {
  let cursor: string | null = "";
  while (cursor !== null) {
    const page: Page<Item> = await fetchPage(cursor ? { cursor } : {});
    for (const item of page.data ?? []) yield exact(item);
    cursor = nextCursor(page.response);
  }
}

/** Return the cursor of the `next` link. The key goes to `baseUrl` only, whatever the link's host is. */
function nextCursor(response: Response): string | null {
  const address = /<([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
  return address === undefined ? null : new URL(address).searchParams.get("cursor");
}

/** Return the object unless it has an ID above 2^53, which JSON.parse has silently rounded. */
function exact<Item extends object>(item: Item | undefined): Item {
  for (const value of Object.values(item ?? {})) {
    if (typeof value === "number" && !Number.isSafeInteger(value)) throw new RangeError(`An ID is too large: ${value}`);
  }
  return item as Item;
}

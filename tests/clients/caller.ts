// A program on the packed TypeScript client; test_packed.py type-checks it and runs it.
// Each line that it reads is JSON: what to do, with what, and the client's options. It prints the result or the error as JSON.

import { createInterface } from "node:readline";
import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { ERROR_CODES, PetStore, PetStoreError, type NewPet, type PetStatus, type ResponseInfo } from "petstore-client";

interface Given {
  url: string | null;
  key: string | null;
  own: boolean;
  noted: boolean;
  do: keyof typeof operations;
  with: never[];
  options: Chosen;
  changed: Chosen;
}

interface Chosen {
  timeout?: number;
  max_retries?: number;
  max_wait?: number;
  headers?: Record<string, string>;
}

let store: PetStore;
let sent: string[];
let log: string[];

const line = (level: string) => (text: string) => log.push(`${level} ${text}`);
const logger = { debug: line("DEBUG"), info: line("INFO"), warn: line("WARNING") };

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const operations = {
  pets: (status: PetStatus | null, categoryId: number | null, pageSize: number) =>
    all(store.pets({ ...(status && { status }), ...(categoryId !== null && { categoryId }), pageSize })),
  add_pet: (pet: NewPet, idempotencyKey: string | null) => store.addPet(pet, idempotencyKey ? { idempotencyKey } : {}),
  add_with_text: (name: string, categoryId: number, status: PetStatus) => store.addPet({ name, categoryId, status }),
  add_without_key: async (body: NewPet) => (await store.api.POST("/pets", { body })).data,
  categories: (pageSize: number) => all(store.categories({ pageSize })),
  changes: async (cursor: string | null, count: number, maxPause = 1) => {
    const found: unknown[] = [];
    for await (const page of store.changes({ cursor, pageSize: 2, maxPause: maxPause * 1000 })) {
      if (found.push([page.changes, page.cursor]) === count) break;
    }
    return found;
  },
  statuses: async (): Promise<PetStatus[]> => (await all(store.pets())).map((pet) => pet.status),
  error: async () => {
    try {
      return await store.category(1);
    } catch (error) {
      if (!(error instanceof PetStoreError)) throw error;
      const { isTemporary, retryAfter, headers, response } = error;
      return [isTemporary, retryAfter, headers.get("X-Request-ID"), response?.status ?? null];
    }
  },
  category: (categoryId: number) => store.category(categoryId),
  pet: async (petId: number) => (await store.api.GET("/pets/{petId}", { params: { path: { petId } } })).data?.name,
  shown: async () => inspect(store.api, { depth: 9 }),
  stopped: async () => {
    const signal = AbortSignal.timeout(200);
    return store.category(1, { signal }).catch((error) => (error === signal.reason ? "stopped" : error));
  },
  collected: async () => {
    setFlagsFromString("--expose-gc");
    const collecting = setInterval(runInNewContext("gc"), 50);
    return store.category(1).finally(() => clearInterval(collecting));
  },
  codes: async () => ERROR_CODES,
};

const own: typeof fetch = (input, init) => {
  const { method, url } = input as Request;
  sent.push(`${method} ${new URL(url).pathname}`);
  return fetch(input, init);
};

const chosen = ({ timeout, max_retries: maxRetries, max_wait: maxWait, headers }: Chosen) => ({
  ...(timeout !== undefined && { timeout: timeout * 1000 }),
  ...(maxRetries !== undefined && { maxRetries }),
  ...(maxWait !== undefined && { maxWait: maxWait * 1000 }),
  ...(headers && { headers }),
});

async function answer(given: Given): Promise<unknown> {
  const responses: ResponseInfo[] = [];
  let seen: unknown;
  sent = [];
  log = [];
  try {
    const first = new PetStore({
      logger,
      baseUrl: given.url ?? undefined,
      key: given.key ?? undefined,
      onResponse: (response) => responses.push(response),
      ...(given.own && { fetch: own }),
      ...chosen(given.options),
    });
    store = first.withOptions(chosen(given.changed));
    const operation = operations[given.do] as (...values: never[]) => Promise<unknown>;
    seen = { result: await operation(...given.with) };
  } catch (error) {
    if (error instanceof PetStoreError) {
      seen = { error: [error.name, error.code, error.status, error.message, error.requestId] };
    } else {
      const { name, message } = error as Error;
      seen = name === "TypeError" ? { wrong: message } : { lost: name };
    }
  }
  if (!given.noted) return seen;
  const limits = responses.map(({ rateLimit: one }) => one && [one.limit, one.window, one.remaining, one.reset]);
  const bodies = await Promise.all(responses.map(({ response }) => response.json()));
  return { responses: responses.map((one, at) => [one.status, one.requestId, limits[at], bodies[at]]), sent, log };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line) as Given))}\n`);
}

// A consumer's program on openapi-fetch and the generated types; test_typescript.py type-checks it and runs it.
// Its argument is JSON (Service.arguments in conftest.py); it prints step → [status, Error.code] and asserts the rest.

import assert from "node:assert/strict";

import createClient, { type Client } from "openapi-fetch";

import type { components, paths } from "./petstore.js";

type Category = components["schemas"]["Category"];
type NewPet = components["schemas"]["NewPet"];
type Pet = components["schemas"]["Pet"];
type PetError = components["schemas"]["Error"];

interface Answer<Data> {
  data?: Data;
  error?: PetError;
  response: Response;
}

interface Given {
  walk: "everything" | "in progress" | "largest";
  url: string;
  category: number;
  write: string;
  read: string;
  limited: string;
  expired: string;
  revoked: string;
  idempotency_key?: string;
}

const given = JSON.parse(process.argv[2] ?? "") as Given;
const LARGEST = 2n ** 63n - 1n;
const seen: Record<string, [number, PetError["code"] | null]> = {};

const withKey = (key: string): Client<paths> =>
  createClient<paths>({ baseUrl: given.url, headers: { Authorization: `Bearer ${key}` } });
const client = withKey(given.write);

function saw<Data>(step: string, { data, error, response }: Answer<Data>): Data | undefined {
  if (error) assert.equal(error.status, response.status);
  seen[step] = [response.status, error ? error.code : null];
  return data;
}

function nextCursor(response: Response): string | undefined {
  const address = /<([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
  return address === undefined ? undefined : (new URL(address).searchParams.get("cursor") ?? undefined);
}

async function everyPet(limit: number): Promise<Pet[]> {
  const pets: Pet[] = [];
  let cursor: string | undefined;
  do {
    const answer = await client.GET("/pets", { params: { query: { limit, ...(cursor && { cursor }) } } });
    pets.push(...(saw("every page", answer) ?? []));
    cursor = nextCursor(answer.response);
  } while (cursor);
  return pets;
}

const newPet = (body: NewPet, idempotencyKey?: string, from: Client<paths> = client) =>
  from.POST("/pets", {
    body,
    params: idempotencyKey === undefined ? {} : { header: { "Idempotency-Key": idempotencyKey } },
  });

// An int64 beyond Number.MAX_SAFE_INTEGER (2^53 - 1) is a `number` to the types but does not survive JSON.parse.
// As the service counts up from 1, none that it assigned itself is near. For an imported one: digits are safe in an
// address; `parseAs: "text"` gives the digits of an answer; a bodySerializer of one's own sends them.
const digits = (value: bigint): number => value.toString() as unknown as number;

async function categories(): Promise<void> {
  const listed = saw("list categories", await client.GET("/categories", { params: { query: { limit: 100 } } }));
  assert.deepEqual(
    listed?.map((category: Category) => category.name),
    ["Dragons", "Dogs"],
  );
  assert.equal(listed[0]?.id, 2 ** 63); // not 2^63 - 1: JSON.parse has rounded it, silently
  assert.equal(Number.isSafeInteger(listed[0]?.id), false); // and this is how to notice
  const one = { params: { path: { categoryId: given.category } } };
  const found = saw("get category", await client.GET("/categories/{categoryId}", one));
  assert.deepEqual(found, { id: given.category, name: "Dogs" });
}

async function animals(): Promise<Pet> {
  const body: NewPet = { name: "Rex ✓", categoryId: given.category, status: "pending" };
  const first = await newPet(body, "one");
  const rex = saw("create", first);
  assert.ok(rex && Number.isSafeInteger(rex.id));
  assert.deepEqual(rex, { id: rex.id, ...body });
  assert.equal(first.response.headers.get("Location"), `${given.url}/pets/${rex.id}`);
  const ida = saw("create without status", await newPet({ name: "Ida", categoryId: given.category }));
  assert.equal(ida?.status, "available");
  const again = await newPet(body, "one");
  assert.deepEqual(saw("replay", again), rex);
  assert.equal(again.response.headers.get("Idempotency-Replayed"), "true");
  const params = { path: { petId: rex.id }, header: { "X-Request-ID": "mine" } };
  const answer = await client.GET("/pets/{petId}", { params });
  assert.deepEqual(saw("get", answer), rex);
  assert.equal(answer.response.headers.get("X-Request-ID"), "mine");
  assert.equal(answer.response.headers.get("Sunset"), "Thu, 05 Dec 2030 00:00:00 GMT");
  assert.deepEqual(saw("list", await client.GET("/pets")), [ida, rex]);
  const pending = await client.GET("/pets", { params: { query: { status: "pending" } } });
  assert.deepEqual(saw("list pending", pending), [rex]);
  assert.deepEqual(await everyPet(1), [ida, rex]);
  return rex;
}

async function unchanged(pet: Pet): Promise<void> {
  const header = async (answer: Promise<{ response: Response }>) => ({
    "If-None-Match": (await answer).response.headers.get("ETag") ?? "",
  });
  const list = { header: await header(client.GET("/pets")) };
  saw("list unchanged", await client.GET("/pets", { params: list }));
  const path = { petId: pet.id };
  const one = { path, header: await header(client.GET("/pets/{petId}", { params: { path } })) };
  saw("get unchanged", await client.GET("/pets/{petId}", { params: one }));
  const all = { header: await header(client.GET("/categories")) };
  saw("list categories unchanged", await client.GET("/categories", { params: all }));
  const place = { categoryId: given.category };
  const category = { path: place, header: await header(client.GET("/categories/{categoryId}", { params: { path: place } })) };
  saw("get category unchanged", await client.GET("/categories/{categoryId}", { params: category }));
}

async function largeCategory(): Promise<void> {
  const body: NewPet = { name: "Rex", categoryId: digits(LARGEST) };
  const bodySerializer = (pet: NewPet) => JSON.stringify(pet).replace(/"categoryId":"(\d+)"/, '"categoryId":$1');
  const headers = { "Content-Type": "application/json" };
  const created = await client.POST("/pets", { body, bodySerializer, headers, parseAs: "text" });
  assert.match(created.data ?? "", new RegExp(`"categoryId":${LARGEST},`));
  const path = { categoryId: digits(LARGEST) };
  const found = await client.GET("/categories/{categoryId}", { params: { path }, parseAs: "text" });
  assert.equal(found.data, `{"id":${LARGEST},"name":"Dragons"}`);
  const rounded = await newPet({ name: "Rex", categoryId: Number(LARGEST) });
  assert.equal(rounded.error?.code, "validation_failed"); // the service rejects what a number makes of it
}

async function invalid(): Promise<void> {
  const rex: NewPet = { name: "Rex", categoryId: given.category };
  saw("malformed", await client.POST("/pets", { body: rex, bodySerializer: () => '{"name": ' }));
  saw("empty name", await newPet({ ...rex, name: "" }));
  saw("unknown category", await newPet({ ...rex, categoryId: given.category + 1000 }));
  saw("limit 0", await client.GET("/pets", { params: { query: { limit: 0 } } }));
  saw("damaged cursor", await client.GET("/pets", { params: { query: { cursor: "damaged" } } }));
  const damaged = { params: { query: { cursor: "damaged" } } };
  saw("damaged cursor of categories", await client.GET("/categories", damaged));
  saw("idempotency key of two words", await newPet(rex, "two words"));
  // @ts-expect-error - the types reject a status that there is not
  const wrong: NewPet = { ...rex, status: "lost" };
  assert.equal((await newPet(wrong)).error?.code, "validation_failed");
}

async function keys(): Promise<void> {
  saw("no key", await createClient<paths>({ baseUrl: given.url }).GET("/pets"));
  const unknown = await withKey("pets_test_unknown").GET("/pets");
  saw("unknown key", unknown);
  const challenge = unknown.response.headers.get("WWW-Authenticate");
  assert.equal(challenge, 'Bearer realm="petstore", error="invalid_token"');
  saw("expired key", await withKey(given.expired).GET("/pets"));
  const path = { categoryId: given.category };
  saw("revoked key", await withKey(given.revoked).GET("/categories/{categoryId}", { params: { path } }));
  const rex: NewPet = { name: "Rex", categoryId: given.category };
  saw("create with a read key", await newPet(rex, undefined, withKey(given.read)));
}

async function rejected(): Promise<void> {
  const rex: NewPet = { name: "Rex", categoryId: given.category };
  saw("unknown pet", await client.GET("/pets/{petId}", { params: { path: { petId: digits(LARGEST) } } }));
  const place = { categoryId: given.category + 1000 };
  saw("unknown category id", await client.GET("/categories/{categoryId}", { params: { path: place } }));
  // @ts-expect-error - the types reject a path that there is not
  saw("unknown path", await client.GET("/dogs"));
  // @ts-expect-error - and a method that a path does not have
  saw("delete", await client.DELETE("/pets"));
  saw("large body", await newPet({ ...rex, name: "x".repeat(70_000) }));
  saw("text", await client.POST("/pets", { body: rex, headers: { "Content-Type": "text/plain" } }));
  saw("other body, same idempotency key", await newPet({ ...rex, name: "Other" }, "one"));
  const limited = withKey(given.limited);
  assert.equal((await limited.GET("/pets")).response.status, 200);
  const over = await limited.GET("/pets");
  saw("over the limit", over);
  const seconds = Number(over.response.headers.get("Retry-After"));
  assert.ok(seconds > 0 && seconds <= 3600);
}

async function everything(): Promise<void> {
  await categories();
  await unchanged(await animals());
  await largeCategory();
  await invalid();
  await keys();
  await rejected();
}

async function inProgress(): Promise<void> {
  saw("in progress", await newPet({ name: "Rex", categoryId: given.category }, given.idempotency_key));
}

async function largest(): Promise<void> {
  const path = { petId: digits(LARGEST) };
  const text = await client.GET("/pets/{petId}", { params: { path }, parseAs: "text" });
  assert.match(text.data ?? "", new RegExp(`"id":${LARGEST},`)); // nothing is lost
  const rounded = saw("get largest", await client.GET("/pets/{petId}", { params: { path } }));
  assert.equal(rounded?.id, 2 ** 63); // silently another number
  const wrong = await client.GET("/pets/{petId}", { params: { path: { petId: rounded.id } } });
  assert.equal(wrong.error?.code, "pet_not_found"); // which is no identifier at all: 9223372036854776000
  const listed = saw("list largest", await client.GET("/pets", { params: { query: { limit: 1 } } }));
  assert.equal(listed?.[0]?.id, 2 ** 63);
}

const walks = { everything, "in progress": inProgress, largest };
await walks[given.walk]();
process.stdout.write(JSON.stringify(seen));

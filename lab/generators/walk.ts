// A walk with what orval generates: list all pages, add an animal, get it. Each body is checked by zod's schemas.

import { createPet, getPet, listPets, type ListPetsParams } from "./functions.js";
import { createPetBody, getPetResponse, listPetsResponse } from "./schemas.js";

const [key, category] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };

async function allIds(): Promise<number[]> {
  const ids: number[] = [];
  const query: ListPetsParams = { limit: 7 };
  for (;;) {
    const page = await listPets(query, { headers });
    if (page.status !== 200) throw new Error(`listPets: ${page.status}`);
    ids.push(...listPetsResponse.parse(page.data).map((pet) => pet.id));
    const next = /<([^>]*)>; rel="next"/.exec(page.headers.get("Link") ?? "")?.[1];
    if (next === undefined) return ids;
    query.cursor = new URL(next).searchParams.get("cursor") ?? "";
  }
}

const ids = await allIds();
const added = await createPet(createPetBody.parse({ name: "Señor 🐶", categoryId: Number(category) }), { headers });
if (added.status !== 201) throw new Error(`createPet: ${added.status}`);
const found = await getPet(added.data.id, { headers });
if (found.status !== 200) throw new Error(`getPet: ${found.status}`);
console.log(JSON.stringify({ ids, added: added.data, found: getPetResponse.parse(found.data) }));

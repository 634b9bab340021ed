// Peer: Fastify with pg, in a cluster of WEB_CONCURRENCY processes on PORT. With LEAN, it sends neither ETag nor Link.

import cluster from "node:cluster";
import { createHash } from "node:crypto";
import etag from "@fastify/etag";
import Fastify from "fastify";
import pg from "pg";

const { LEAN, PORT, WEB_CONCURRENCY } = process.env;
const KEY = "SELECT id FROM shop_key WHERE digest = $1 AND revoked_at IS NULL";
const COLUMNS = 'id, name, category_id AS "categoryId", status';
const GET = `SELECT ${COLUMNS} FROM shop_pet WHERE id = $1`;
const ALL = `SELECT ${COLUMNS} FROM shop_pet WHERE id < $2 ORDER BY id DESC LIMIT $1`;
const BY_STATUS = `SELECT ${COLUMNS} FROM shop_pet WHERE status = $3 AND id < $2 ORDER BY id DESC LIMIT $1`;
const ADD = `INSERT INTO shop_pet (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`;
const NEWEST = "9223372036854775807";

const id = { type: "integer", minimum: 1 };
const status = { enum: ["available", "pending", "sold"], type: "string" };
const name = { type: "string", minLength: 1, maxLength: 255 };
const Pet = { type: "object", properties: { id, name, categoryId: id, status } };
const NewPet = {
  type: "object",
  required: ["name", "categoryId"],
  properties: { name, categoryId: id, status: { ...status, default: "available" } },
};
const Page = {
  type: "object",
  properties: { limit: { type: "integer", minimum: 1, maximum: 100, default: 20 }, status, before: id },
};
const PetId = { type: "object", properties: { petId: id } };

async function serve() {
  pg.types.setTypeParser(pg.types.builtins.INT8, Number);
  const pool = new pg.Pool();
  const query = async (label, text, values) => (await pool.query({ name: label, text, values })).rows;
  const app = Fastify({ logger: false });
  if (!LEAN) await app.register(etag);

  app.addHook("onRequest", async (request, reply) => {
    const [scheme, token] = (request.headers.authorization ?? "").split(" ");
    const digest = createHash("sha256").update(token ?? "").digest("hex");
    if (scheme.toLowerCase() !== "bearer" || !(await query("key", KEY, [digest])).length) {
      return reply.code(401).header("WWW-Authenticate", "Bearer").send({ message: "The API key is not valid." });
    }
  });

  app.get("/v1/pets", {
    schema: { querystring: Page, response: { 200: { type: "array", items: Pet } } },
    handler: async (request, reply) => {
      const { limit, status, before } = request.query;
      const page = [limit + 1, before ?? NEWEST];
      const rows = await (status ? query("status", BY_STATUS, [...page, status]) : query("all", ALL, page));
      if (!LEAN && rows.length > limit) {
        const parameters = new URLSearchParams({ ...request.query, before: rows[limit - 1].id });
        reply.header("Link", `<${request.protocol}://${request.host}/v1/pets?${parameters}>; rel="next"`);
      }
      return rows.slice(0, limit);
    },
  });

  app.get("/v1/pets/:petId", {
    schema: { params: PetId, response: { 200: Pet } },
    handler: async (request, reply) =>
      (await query("get", GET, [request.params.petId]))[0] ?? reply.code(404).send({ message: "Not found." }),
  });

  app.post("/v1/pets", {
    schema: { body: NewPet, response: { 201: Pet } },
    handler: async (request, reply) => {
      const { name, categoryId, status } = request.body;
      try {
        const [pet] = await query("add", ADD, [name, categoryId, status]);
        return reply.code(201).header("Location", `${request.protocol}://${request.host}/v1/pets/${pet.id}`).send(pet);
      } catch (error) {
        if (error.code !== "23503") throw error;
        return reply.code(400).send({ message: "categoryId names no category." });
      }
    },
  });

  await app.listen({ host: "127.0.0.1", port: Number(PORT) });
}

if (cluster.isPrimary) {
  for (let worker = 0; worker < Number(WEB_CONCURRENCY); worker += 1) cluster.fork();
} else {
  await serve();
}

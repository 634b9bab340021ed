// Two clients: functions that call `fetch`, and zod's schemas. `DESCRIPTION` and `BASE` come from test_generators.py.
const { DESCRIPTION: input, BASE: baseUrl } = process.env;

export default {
  functions: { input, output: { target: "functions.ts", client: "fetch", mode: "single", baseUrl } },
  schemas: { input, output: { target: "schemas.ts", client: "zod", mode: "single" } },
};

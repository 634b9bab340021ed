// A typed client for the Pet Store API: all pages, retries that add nothing twice, an exception with each error code.

export * from "./client.js";
export { ERROR_CODES, PetStoreError, type ErrorCode } from "./errors.js";
export type { RateLimit, ResponseInfo } from "./responses.js";
export type { Logger } from "./retrying.js";

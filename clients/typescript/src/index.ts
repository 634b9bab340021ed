// A typed client for the Pet Store API: all pages, retries that add nothing twice, an exception with each error code.

export { PetStore, type Category, type ChangesPage, type NewPet, type Options, type Pet, type PetChange, type PetFilters, type PetStatus } from "./client.js";
export { ERROR_CODES, PetStoreError, type ErrorCode } from "./errors.js";

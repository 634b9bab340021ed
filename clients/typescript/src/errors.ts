// The error codes of the API, and the exception that carries one.

/** The codes that this client knows. The API can add more. */
export const ERROR_CODES = [
  "malformed_json",
  "validation_failed",
  "invalid_parameter",
  "invalid_cursor",
  "bad_request",
  "api_key_missing",
  "api_key_invalid",
  "api_key_expired",
  "api_key_revoked",
  "insufficient_scope",
  "pet_not_found",
  "category_not_found",
  "route_not_found",
  "method_not_allowed",
  "idempotency_in_progress",
  "cursor_expired",
  "length_required",
  "body_too_large",
  "unsupported_media_type",
  "idempotency_key_reused",
  "rate_limited",
  "internal_error",
  "unsupported_transfer_coding",
  "unavailable",
] as const;

/** A known code, `unexpected_response` if the body is not an Error (the page of a proxy), or a newer code. */
export type ErrorCode = (typeof ERROR_CODES)[number] | "unexpected_response" | (string & {});

/** An error response. Branch on `code`; keep `requestId` for support. */
export class PetStoreError extends Error {
  override readonly name = "PetStoreError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly status: number,
    readonly requestId: string | null,
  ) {
    super(message);
  }

  /** Return the exception for an error response. */
  static async of(response: Response): Promise<PetStoreError> {
    const requestId = response.headers.get("X-Request-ID");
    const body: unknown = await response.json().catch(() => undefined);
    if (isError(body)) return new PetStoreError(body.code, body.message, response.status, requestId);
    const message = "The response is not an Error of the API.";
    return new PetStoreError("unexpected_response", message, response.status, requestId);
  }
}

function isError(body: unknown): body is { code: string; message: string } {
  return typeof body === "object" && body !== null && "code" in body && "message" in body;
}

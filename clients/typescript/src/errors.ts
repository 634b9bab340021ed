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
  "body_too_large",
  "unsupported_media_type",
  "idempotency_key_reused",
  "rate_limited",
  "internal_error",
  "unsupported_transfer_coding",
  "unavailable",
] as const;

/** A known code, one of ours, or a newer code. Ours: `no_response`, and `unexpected_response` for what is not the API's. */
export type ErrorCode = (typeof ERROR_CODES)[number] | "no_response" | "unexpected_response" | (string & {});

/** Return the seconds in `Retry-After`. The API sends seconds, and a date is left unread. */
export function secondsIn(headers: Headers): number | null {
  const seconds = headers.get("Retry-After") ?? "";
  return /^\d{1,9}$/.test(seconds) ? Number(seconds) : null;
}

/** Whatever goes wrong with a request. Branch on `code`; keep `requestId` for support. `status` is 0 if none is known. */
export class PetStoreError extends Error {
  override readonly name = "PetStoreError";
  /** Null if no response came. */
  response: Response | null = null;

  /** The headers of the response, none if no response came. */
  get headers(): Headers {
    return this.response?.headers ?? new Headers();
  }

  /** Seconds to wait before the next attempt, if the response says so. */
  get retryAfter(): number | null {
    return secondsIn(this.headers);
  }

  /** Whether a later attempt can succeed: no response came, there were too many requests, or the server failed. */
  get isTemporary(): boolean {
    return this.code === "no_response" || this.status === 429 || this.status >= 500;
  }

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly status: number,
    readonly requestId: string | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Return the exception for an error response. */
  static async of(response: Response): Promise<PetStoreError> {
    const requestId = response.headers.get("X-Request-ID");
    const isRedirect = Math.floor(response.status / 100) === 3 && response.headers.has("Location");
    if (isRedirect) return PetStoreError.ofRedirect(response.status, requestId).with(response);
    const body: unknown = await response.clone().json().catch(() => undefined);
    if (isError(body)) return new PetStoreError(body.code, body.message, response.status, requestId).with(response);
    return PetStoreError.unexpected(response);
  }

  private with(response: Response): this {
    this.response = response;
    return this;
  }

  /** Return the exception for a response that is not the API's, such as the page of a proxy. */
  static unexpected(response: Response): PetStoreError {
    const message = "The response is not one of the API.";
    const requestId = response.headers.get("X-Request-ID");
    return new PetStoreError("unexpected_response", message, response.status, requestId).with(response);
  }

  /** Return the exception for a redirect. */
  static ofRedirect(status: number, requestId: string | null): PetStoreError {
    const message = "The address redirects to another one. Check the base URL.";
    return new PetStoreError("unexpected_response", message, status, requestId);
  }

  /** Return the exception for what `fetch` threw: no response came, or not all of it. */
  static ofLoss(cause: unknown): PetStoreError {
    const name = cause instanceof Error ? cause.name : String(cause);
    return new PetStoreError("no_response", `No response came (${name}).`, 0, null, { cause });
  }
}

function isError(body: unknown): body is { code: string; message: string } {
  return typeof body === "object" && body !== null && "code" in body && "message" in body;
}

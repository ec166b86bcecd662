import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema";

/** Answers are whole: what the document calls optional has a default, and is always sent. */
export type Whole<T> = T extends (infer One)[]
  ? Whole<One>[]
  : T extends object
    ? { [K in keyof T]-?: Whole<Exclude<T[K], undefined>> }
    : T;

export type Schemas = Whole<components["schemas"]>;

/** An answer of the API that says what was wrong; `code` is stable, `message` is for people. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly detail: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** The server did not answer at all. */
export class Unreachable extends Error {
  constructor() {
    super("The server does not answer.");
    this.name = "Unreachable";
  }
}

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

let csrf = "";
let project: string | null = null;
let onSignedOut: () => void = () => {};

export function actAs(word: string, named: string | null): void {
  csrf = word;
  project = named;
}

export function whenSignedOut(act: () => void): void {
  onSignedOut = act;
}

/** What every request of the dashboard carries besides its cookie. */
export function ownHeaders(method: string): Record<string, string> {
  return {
    ...(project ? { "X-Acai-Project": project } : {}),
    ...(SAFE.has(method) ? {} : { "X-Acai-Csrf": csrf }),
  };
}

const carry: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(ownHeaders(request.method))) {
      request.headers.set(name, value);
    }
    return request;
  },
};

export const api = createClient<paths>({
  baseUrl: "",
  fetch: async (request) => {
    try {
      return await fetch(request);
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new Unreachable();
    }
  },
});
api.use(carry);

export function errorOf(status: number, body: unknown): ApiError {
  const shaped = (body as { error?: { code: string; message: string; detail: object } } | null)
    ?.error;
  if (!shaped) return new ApiError(status, "unknown", `The server answered ${status}.`);
  return new ApiError(status, shaped.code, shaped.message, { ...shaped.detail });
}

/** The data of an answer; throws ApiError, and ends the session when that has run out. */
export async function got<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<Whole<T>> {
  const { data, error, response } = await answer;
  if (response.ok) return data as Whole<T>;
  if (response.status === 401) onSignedOut();
  throw errorOf(response.status, error);
}

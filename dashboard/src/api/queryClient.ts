import { QueryClient } from "@tanstack/react-query";
import { ApiError, Unreachable } from "./client";

/** An answer that says no will say no again; a server that is away comes back. */
function worthAnotherTry(count: number, error: Error): boolean {
  if (error instanceof ApiError) return error.status >= 500 && count < 2;
  return error instanceof Unreachable;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      retry: worthAnotherTry,
      retryDelay: (count) => Math.min(500 * 2 ** count, 5000),
      refetchOnWindowFocus: true,
    },
  },
});

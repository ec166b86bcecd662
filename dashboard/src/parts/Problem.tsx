import { Alert } from "@mantine/core";
import { ApiError } from "../api/client";

/** What went wrong, in the server's own words. */
export function Problem({ error }: { error: unknown }) {
  if (!error) return null;
  const title = error instanceof ApiError && error.status === 404 ? "Not found" : "That did not work";
  return (
    <Alert color="red" title={title} role="alert" className="name">
      {(error as Error).message}
    </Alert>
  );
}

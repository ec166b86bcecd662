import { Alert } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Unreachable } from "../api/client";

/** Says that the server is away, asks until it is back, and then has everything read anew. */
export function Connection() {
  const queries = useQueryClient();
  const [away, setAway] = useState(false);

  useEffect(
    () =>
      queries.getQueryCache().subscribe(({ query }) => {
        const failure = query.state.error ?? query.state.fetchFailureReason;
        if (failure instanceof Unreachable) setAway(true);
      }),
    [queries],
  );

  useEffect(() => {
    if (!away) return;
    const timer = setInterval(async () => {
      try {
        if (!(await fetch("/healthz")).ok) return;
      } catch {
        return;
      }
      setAway(false);
      await queries.invalidateQueries();
    }, 1500);
    return () => clearInterval(timer);
  }, [away, queries]);

  if (!away) return null;
  return (
    <Alert color="yellow" mb="md" role="status">
      The server does not answer; this page goes on by itself when it is back.
    </Alert>
  );
}

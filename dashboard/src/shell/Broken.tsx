import { Button, Code, Container, Stack, Text, Title } from "@mantine/core";
import { useEffect } from "react";
import { useRouteError } from "react-router";

const EVERY = 1500;

/** A part of the dashboard that could not be fetched: the server is away, or was upgraded. */
function isMissingPart(error: unknown): boolean {
  return error instanceof TypeError && /import|module|fetch/i.test(error.message);
}

export function Broken() {
  const error = useRouteError();
  const missing = isMissingPart(error);
  useEffect(() => {
    if (!missing) return;
    const timer = setInterval(async () => {
      const answer = await fetch("/healthz").catch(() => null);
      if (answer?.ok) window.location.reload();
    }, EVERY);
    return () => clearInterval(timer);
  }, [missing]);
  return (
    <Container component="main" size="sm" py="xl">
      <Stack align="flex-start">
        <Title order={1}>{missing ? "The server does not answer" : "This page broke"}</Title>
        <Text>
          {missing
            ? "This page goes on by itself when it is back."
            : "A reload usually mends it; if not, please report what stands here."}
        </Text>
        {!missing && <Code block>{error instanceof Error ? error.message : String(error)}</Code>}
        <Button onClick={() => window.location.reload()}>Reload</Button>
      </Stack>
    </Container>
  );
}

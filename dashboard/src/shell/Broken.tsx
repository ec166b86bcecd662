import { Button, Code, Container, Stack, Text, Title } from "@mantine/core";
import { useRouteError } from "react-router";

/** A page that failed: usually a newer server, whose files have other names. */
export function Broken() {
  const error = useRouteError() as Error;
  return (
    <Container size="sm" py="xl">
      <Stack align="flex-start">
        <Title order={1}>This page did not load</Title>
        <Text>The server may have been upgraded meanwhile; a reload usually mends it.</Text>
        <Code block>{error?.message ?? String(error)}</Code>
        <Button onClick={() => window.location.reload()}>Reload</Button>
      </Stack>
    </Container>
  );
}

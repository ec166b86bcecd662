import {
  Alert,
  Button,
  Center,
  Code,
  Group,
  Paper,
  PasswordInput,
  Stack,
  Text,
  Title,
} from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useSession } from "../api/session";
import { Mark } from "./Mark";

export function SignIn() {
  const { signIn, ended, problem } = useSession();
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<string | null>(null);

  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setWrong(null);
    try {
      await signIn(token.trim());
    } catch (error) {
      setWrong((error as Error).message);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder shadow="sm" p="xl" maw={440} w="100%">
        <form onSubmit={submit}>
          <Stack>
            <Group gap="sm">
              <Mark size={32} />
              <Title order={1} size="h2">
                Sign in to acai
              </Title>
            </Group>
            {ended && !wrong && (
              <Alert color="yellow" role="status">
                The session has ended; sign in again to go on where you were.
              </Alert>
            )}
            {problem && !wrong && (
              <Alert color="yellow" role="status">
                {problem}
              </Alert>
            )}
            <PasswordInput
              label="Token"
              placeholder="acai_…"
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              error={wrong}
              required
              withAsterisk={false}
              autoFocus
              autoComplete="current-password"
              visibilityToggleButtonProps={{ "aria-label": "Show the token" }}
            />
            <Button type="submit" loading={busy} disabled={!token.trim()}>
              Sign in
            </Button>
            <Text size="sm" c="dimmed">
              On the machine where <Code>acai up</Code> runs, open the link that it printed: it signs
              you in, once. Your token stands in <Code>credentials.toml</Code> of the home; elsewhere
              an admin makes one for you with <Code>acai user create NAME</Code>.
            </Text>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}

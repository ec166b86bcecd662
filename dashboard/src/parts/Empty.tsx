import { Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { CopyCommand } from "./CopyCommand";

/** Nothing to show, and what to do about it. */
export function Empty({
  title,
  children,
  command,
}: {
  title: string;
  children?: ReactNode;
  command?: string;
}) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="sm">
        <Title order={2} size="h4" ta="center">
          {title}
        </Title>
        {children && (
          <Text c="dimmed" ta="center" maw={520} component="div" className="said">
            {children}
          </Text>
        )}
        {command && <CopyCommand command={command} />}
      </Stack>
    </Paper>
  );
}

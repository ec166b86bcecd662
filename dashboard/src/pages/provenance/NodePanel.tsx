import { Anchor, Button, Drawer, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { Link } from "react-router";
import { MetadataEditor } from "../../parts/MetadataEditor";
import { setLink } from "../data/links";
import { partsOf } from "./links";

interface NodePanelProps {
  id: string | null;
  docked: boolean;
  change: (next: Record<string, string | number | null>) => void;
}

/** The chosen node, beside the graph or, where there is no room, over it. */
export function NodePanel({ id, docked, change }: NodePanelProps) {
  if (docked) {
    return (
      <Paper withBorder p="md" w={330} style={{ overflow: "auto", maxHeight: "calc(100vh - 190px)" }}>
        {id ? (
          <Node id={id} change={change} />
        ) : (
          <Text c="dimmed" size="sm">
            Choose a set or a job to read and change its metadata, to trace what it was made of, and
            to see how it was made.
          </Text>
        )}
      </Paper>
    );
  }
  return (
    <Drawer
      opened={id !== null}
      onClose={() => change({ node: null })}
      position="bottom"
      size="70%"
      title="Chosen"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {id && <Node id={id} change={change} />}
    </Drawer>
  );
}

function Node({ id, change }: { id: string; change: NodePanelProps["change"] }) {
  const job = id.startsWith("job:");
  const { name, version } = partsOf(id);
  const bare = id.replace(/^\w+:/, "");
  return (
    <Stack gap="sm">
      <div>
        <Text size="xs" c="dimmed">
          {job ? "Job" : "Set"}
        </Text>
        <Title order={2} size="h5" className="name">
          <Anchor component={Link} to={job ? `/jobs/${bare}` : setLink(name, version)} inherit>
            {bare}
          </Anchor>
        </Title>
      </div>
      {!job && (
        <Group gap={6}>
          <Button
            size="compact-xs"
            variant="light"
            onClick={() => change({ from: id, direction: "back", depth: 1 })}
          >
            Trace back
          </Button>
          <Button
            size="compact-xs"
            variant="light"
            onClick={() => change({ from: id, direction: "forward", depth: 1 })}
          >
            Trace forward
          </Button>
          <Button size="compact-xs" variant="light" onClick={() => change({ one: id, other: null })}>
            Path to…
          </Button>
          <Button
            size="compact-xs"
            variant="light"
            component={Link}
            to={setLink(name, version, "recipe")}
          >
            How was this made?
          </Button>
        </Group>
      )}
      <MetadataEditor key={id} entity={id} />
    </Stack>
  );
}

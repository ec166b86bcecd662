import { Anchor, Button, Grid as Columns, Group, Paper, Select, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { Link, useNavigate } from "react-router";
import { api, got } from "../../api/client";
import { download } from "../../api/content";
import { baseName, escapePath, formatMoment, formatSize, formatTime, shellWord } from "../../format";
import { CopyCommand } from "../../parts/CopyCommand";
import { MetadataEditor } from "../../parts/MetadataEditor";
import { Problem } from "../../parts/Problem";
import { Crumbs } from "./Crumbs";
import { dataLink, setLink } from "./links";
import { Preview } from "./Preview";

export function FileView({ path, version }: { path: string; version: number | null }) {
  const go = useNavigate();
  const file = useQuery({
    queryKey: ["file", path, version],
    queryFn: () => got(api.GET("/api/v1/files/version", { params: { query: { path, version } } })),
  });
  const versions = useQuery({
    queryKey: ["file-versions", path],
    queryFn: () =>
      got(api.GET("/api/v1/files/versions", { params: { query: { path, limit: 1000 } } })),
  });
  if (file.error) {
    return (
      <Stack>
        <Title order={1} size="h3">
          <Crumbs path={path} />
        </Title>
        <Problem error={file.error} />
      </Stack>
    );
  }
  if (!file.data) return <Skeleton h={300} />;
  const { data } = file;
  const reference = `${escapePath(path)}:${data.version}`;
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h3">
          <Crumbs path={path} />
        </Title>
        <Group gap="xs">
          <Select
            aria-label="Version"
            w={310}
            value={String(data.version)}
            data={(versions.data?.items ?? [data]).map((one) => ({
              value: String(one.version),
              label: `Version ${one.version} · ${formatMoment(one.create_time)}`,
            }))}
            onChange={(next) => next && void go(dataLink(path, Number(next)))}
            allowDeselect={false}
          />
          <Button
            variant="default"
            leftSection={<Download size={15} />}
            onClick={() => void download(data.hash, baseName(path))}
          >
            Download
          </Button>
        </Group>
      </Group>
      <Text size="sm" c="dimmed" className="name">
        {formatSize(data.size)} · by {data.creator} · {formatTime(data.create_time)}
      </Text>
      <Columns gap="md">
        <Columns.Col span={{ base: 12, md: 8 }}>
          <Preview path={path} hash={data.hash} size={data.size} />
        </Columns.Col>
        <Columns.Col span={{ base: 12, md: 4 }}>
          <Stack>
            <Paper withBorder p="md">
              <Title order={2} size="h5" mb="sm">
                Metadata
              </Title>
              <MetadataEditor entity={data.id} />
            </Paper>
            <Holding reference={reference} />
            <CopyCommand command={`acai file get ${shellWord(reference)} .`} />
          </Stack>
        </Columns.Col>
      </Columns>
    </Stack>
  );
}

function Holding({ reference }: { reference: string }) {
  const { data } = useQuery({
    queryKey: ["holding", reference],
    queryFn: () =>
      got(api.GET("/api/v1/provenance/holding", { params: { query: { file: reference, limit: 50 } } })),
  });
  if (!data) return null;
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h5" mb="xs">
        In sets
      </Title>
      {data.items.length === 0 && (
        <Text size="sm" c="dimmed">
          No set holds this version.
        </Text>
      )}
      <Group gap={8}>
        {data.items.map((one) => (
          <Anchor key={one.id} component={Link} to={setLink(one.name, one.version)} size="sm">
            {one.name}:{one.version}
          </Anchor>
        ))}
      </Group>
    </Paper>
  );
}

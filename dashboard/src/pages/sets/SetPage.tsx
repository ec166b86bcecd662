import { Alert, Anchor, Button, Group, Select, Skeleton, Stack, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Workflow } from "lucide-react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import { api, got } from "../../api/client";
import { formatCount, formatMoment, formatSize, formatTime } from "../../format";
import { CopyCommand } from "../../parts/CopyCommand";
import { MetadataEditor } from "../../parts/MetadataEditor";
import { PageTitle } from "../../parts/PageTitle";
import { Problem } from "../../parts/Problem";
import { setLink } from "../data/links";
import { traceLink } from "../provenance/links";
import { Recipe } from "../provenance/Recipe";
import { SetDiff } from "./SetDiff";
import { SetFiles } from "./SetFiles";

export function Component() {
  const { name = "" } = useParams();
  const [search, setSearch] = useSearchParams();
  const go = useNavigate();
  const version = search.get("version") ?? "latest";
  const tab = search.get("tab") ?? "files";
  const found = useQuery({
    queryKey: ["set", name, version],
    queryFn: () =>
      got(
        api.GET("/api/v1/sets/{name}/versions/{version}", { params: { path: { name, version } } }),
      ),
  });
  const versions = useQuery({
    queryKey: ["set-versions", name],
    queryFn: () =>
      got(
        api.GET("/api/v1/sets/{name}/versions", {
          params: { path: { name }, query: { limit: 1000 } },
        }),
      ),
    enabled: found.isSuccess,
  });
  if (found.error) {
    return (
      <Stack>
        <PageTitle within="Sets" to="/sets">
          {name}
        </PageTitle>
        <Problem error={found.error} />
      </Stack>
    );
  }
  if (!found.data) return <Skeleton h={300} />;
  const set = found.data;
  return (
    <Stack>
      <Group justify="space-between">
        <PageTitle within="Sets" to="/sets">
          {set.name}:{set.version}
        </PageTitle>
        <Group gap="xs">
          <Select
            aria-label="Version"
            w={310}
            value={String(set.version)}
            data={(versions.data?.items ?? [set]).map((one) => ({
              value: String(one.version),
              label: `Version ${one.version} · ${formatMoment(one.create_time)}`,
            }))}
            onChange={(next) => next && void go(setLink(name, next, tab))}
            allowDeselect={false}
          />
          <Button
            component={Link}
            to={traceLink(set.id, "back")}
            variant="default"
            leftSection={<Workflow size={15} />}
          >
            Trace
          </Button>
        </Group>
      </Group>
      {set.removed && <Alert color="yellow">This version is hidden from listings.</Alert>}
      <Text size="sm" c="dimmed">
        {formatCount(set.file_count, "file")} · {formatSize(set.size)} · by {set.creator} ·{" "}
        {formatTime(set.create_time)}
        {set.job && (
          <>
            {" "}
            · made by{" "}
            <Anchor component={Link} to={`/jobs/${set.job}`} inherit>
              {set.job}
            </Anchor>
          </>
        )}
      </Text>
      <Tabs
        value={tab}
        onChange={(next) => {
          const kept = new URLSearchParams(search);
          kept.set("tab", next ?? "files");
          setSearch(kept, { replace: true });
        }}
        keepMounted={false}
      >
        <Tabs.List>
          <Tabs.Tab value="files">Files</Tabs.Tab>
          <Tabs.Tab value="metadata">Metadata</Tabs.Tab>
          <Tabs.Tab value="changes">Changes</Tabs.Tab>
          <Tabs.Tab value="recipe">How was this made?</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="files" pt="md">
          <SetFiles name={set.name} version={set.version} />
        </Tabs.Panel>
        <Tabs.Panel value="metadata" pt="md" maw={640}>
          <MetadataEditor entity={set.id} />
        </Tabs.Panel>
        <Tabs.Panel value="changes" pt="md">
          <SetDiff name={set.name} version={set.version} versions={versions.data?.items ?? []} />
        </Tabs.Panel>
        <Tabs.Panel value="recipe" pt="md">
          <Recipe set={set} />
        </Tabs.Panel>
      </Tabs>
      <CopyCommand command={`acai set get ${set.name}:${set.version} .`} />
    </Stack>
  );
}

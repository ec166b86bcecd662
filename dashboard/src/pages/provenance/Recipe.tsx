import { Alert, Anchor, Code, List, Loader, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, got, type Schemas } from "../../api/client";
import { formatCount, formatSize, formatTime } from "../../format";
import { CopyCommand } from "../../parts/CopyCommand";
import { Problem } from "../../parts/Problem";
import { referenceLink } from "../data/links";

type SetVersion = Schemas["SetVersion"];
type Edge = Schemas["Edge"];

/** The chain that leads to a set, from its first source, as steps to read. */
export function Recipe({ set }: { set: SetVersion }) {
  const trace = useQuery({
    queryKey: ["trace", set.name, set.version, "back", null],
    queryFn: () =>
      got(
        api.GET("/api/v1/sets/{name}/versions/{version}/trace", {
          params: {
            path: { name: set.name, version: String(set.version) },
            query: { direction: "back", limit: 1000 },
          },
        }),
      ),
  });
  if (trace.error) return <Problem error={trace.error} />;
  if (!trace.data) return <Loader />;
  const steps = inOrder(trace.data.nodes.map((node) => node.set));
  const into = Map.groupBy(trace.data.edges, (edge) => edge.target);
  return (
    <Stack>
      {!trace.data.complete && (
        <Alert color="yellow">The chain is longer than is shown here; trace it in the graph.</Alert>
      )}
      <List type="ordered" spacing="sm">
        {steps.map((one) => (
          <List.Item key={one.id}>
            <Step set={one} edges={into.get(one.id) ?? []} />
          </List.Item>
        ))}
      </List>
      <CopyCommand command={`acai trace ${set.name}:${set.version} --back`} />
    </Stack>
  );
}

function inOrder(sets: SetVersion[]): SetVersion[] {
  return sets.toSorted((a, b) => a.create_time.localeCompare(b.create_time));
}

function Step({ set, edges }: { set: SetVersion; edges: Edge[] }) {
  const job = set.job ?? edges.find((edge) => edge.job)?.job;
  const sources = [...new Set(edges.map((edge) => edge.source.replace(/^set:/, "")))];
  return (
    <div>
      <Text component="span">
        <SetReference reference={`${set.name}:${set.version}`} />{" "}
        {job ? (
          <>
            was written by the job{" "}
            <Anchor component={Link} to={`/jobs/${job}`}>
              {job}
            </Anchor>
            {sources.length > 0 && <> from <Sources references={sources} /></>}
          </>
        ) : sources.length > 0 ? (
          <>
            was made of <Sources references={sources} />
          </>
        ) : (
          "was made of uploaded files"
        )}
        .
      </Text>
      {job && <JobCommand id={job} />}
      <Text size="sm" c="dimmed">
        {formatCount(set.file_count, "file")}, {formatSize(set.size)}, by {set.creator} on{" "}
        {formatTime(set.create_time)}
      </Text>
    </div>
  );
}

function Sources({ references }: { references: string[] }) {
  return references.map((one, index) => (
    <span key={one}>
      {index > 0 && (index === references.length - 1 ? " and " : ", ")}
      <SetReference reference={one} />
    </span>
  ));
}

function SetReference({ reference }: { reference: string }) {
  return (
    <Anchor component={Link} to={referenceLink(reference)} fw={600}>
      {reference}
    </Anchor>
  );
}

function JobCommand({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: ["metadata", `job:${id}`],
    queryFn: () => got(api.GET("/api/v1/metadata", { params: { query: { entity: `job:${id}` } } })),
  });
  const command = data?.built_in.command;
  if (!command) return null;
  return (
    <Code block my={4}>
      {String(command)}
    </Code>
  );
}

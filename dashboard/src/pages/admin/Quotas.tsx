import { Button, Group, NumberInput, Select, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, got } from "../../api/client";
import { useSession } from "../../api/session";
import { Problem } from "../../parts/Problem";

const EVERYONE = "every user";

/** How many jobs a user may have running at once. */
export function Quotas() {
  const { user: me } = useSession();
  const queries = useQueryClient();
  const quotas = useQuery({ queryKey: ["quotas"], queryFn: () => got(api.GET("/api/v1/quotas")) });
  const users = useQuery({
    queryKey: ["users", "names"],
    queryFn: () => got(api.GET("/api/v1/users", { params: { query: { limit: 1000 } } })),
  });
  const [user, setUser] = useState<string | null>(EVERYONE);
  const [jobs, setJobs] = useState<number | string>(2);
  const change = useMutation({
    mutationFn: (limit: { user: string | null; jobs: number | null }) =>
      got(api.PUT("/api/v1/quotas", { body: limit })),
    onSuccess: (found) => {
      queries.setQueryData(["quotas"], found);
      void queries.invalidateQueries({ queryKey: ["queue"] });
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate({ user: user === EVERYONE ? null : user, jobs: Number(jobs) });
  }
  const admin = me?.role !== "member";
  return (
    <Stack maw={640}>
      <Problem error={quotas.error ?? change.error} />
      {quotas.isPending && <Skeleton h={80} />}
      {quotas.data?.items.length === 0 && (
        <Text c="dimmed">Everyone has what the platform allows; see the setting job_limit.</Text>
      )}
      {(quotas.data?.items.length ?? 0) > 0 && (
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>For</Table.Th>
              <Table.Th>Jobs at once</Table.Th>
              <Table.Th>Change</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {quotas.data?.items.map((one) => (
              <Table.Tr key={one.user ?? ""}>
                <Table.Td className="name">{one.user ?? EVERYONE}</Table.Td>
                <Table.Td>{one.jobs}</Table.Td>
                <Table.Td>
                  {admin && (
                    <Button
                      size="compact-xs"
                      variant="default"
                      onClick={() => change.mutate({ user: one.user, jobs: null })}
                    >
                      Take away
                    </Button>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {admin && (
        <form onSubmit={submit}>
          <Group align="flex-end">
            <Select
              label="For"
              data={[EVERYONE, ...(users.data?.items ?? []).map((one) => one.name)]}
              value={user}
              onChange={setUser}
              allowDeselect={false}
              searchable
            />
            <NumberInput label="Jobs at once" min={0} value={jobs} onChange={setJobs} w={130} />
            <Button type="submit" loading={change.isPending}>
              Set
            </Button>
          </Group>
        </form>
      )}
    </Stack>
  );
}

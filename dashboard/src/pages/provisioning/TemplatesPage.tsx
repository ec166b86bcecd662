import { Anchor, Badge, Code, Skeleton, Stack, Table, Title } from "@mantine/core";
import { Link } from "react-router";
import { api, got } from "../../api/client";
import { usePaged } from "../../api/hooks";
import { formatCost } from "../../format";
import { Empty } from "../../parts/Empty";
import { Problem } from "../../parts/Problem";
import { Wide } from "../../parts/Wide";
import { When } from "../../parts/When";

export const STATUS_COLOR: Record<string, string> = { profiling: "blue", ready: "green", failed: "red" };

export function templateLink(name: string): string {
  return `/provisioning/${encodeURIComponent(name)}`;
}

export function Component() {
  const templates = usePaged(["templates"], (cursor) =>
    got(api.GET("/api/v1/templates", { params: { query: { cursor, limit: 200 } } })),
  );
  return (
    <Stack>
      <Title order={1} size="h3">
        Provisioning
      </Title>
      <Problem error={templates.error} />
      {templates.isPending && <Skeleton h={200} />}
      {templates.isSuccess && templates.items.length === 0 && (
        <Empty
          title="No templates yet"
          command="acai profile --template-name mnist --command-template 'python train.py --epochs {1,2,5}' --wait"
        >
          A template is a command that was profiled: its run time can be predicted, and its resources
          chosen for a budget or a deadline. Profile one:
        </Empty>
      )}
      {templates.items.length > 0 && (
        <Wide label="Templates" minWidth={560}>
          <Table verticalSpacing="xs">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Template</Table.Th>
                <Table.Th>Status</Table.Th>
                <Table.Th>Command</Table.Th>
                <Table.Th ta="right">Runs</Table.Th>
                <Table.Th ta="right">Spent</Table.Th>
                <Table.Th>Made</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {templates.items.map((one) => (
                <Table.Tr key={one.name}>
                  <Table.Td>
                    <Anchor component={Link} to={templateLink(one.name)} fw={500} className="name">
                      {one.name}
                    </Anchor>
                  </Table.Td>
                  <Table.Td>
                    <Badge variant="light" tt="none" color={STATUS_COLOR[one.status]}>
                      {one.status}
                    </Badge>
                  </Table.Td>
                  <Table.Td maw={420}>
                    <Code className="name">{one.command}</Code>
                  </Table.Td>
                  <Table.Td ta="right">
                    {one.progress.done} of {one.progress.grid}
                  </Table.Td>
                  <Table.Td ta="right">{formatCost(one.progress.spent)}</Table.Td>
                  <Table.Td>
                    <When time={one.create_time} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
    </Stack>
  );
}

import { Stack, Tabs, Title } from "@mantine/core";
import { useSearchParams } from "react-router";
import { Costs } from "./Costs";
import { Engine } from "./Engine";
import { Quotas } from "./Quotas";
import { Users } from "./Users";

export function Component() {
  const [search, setSearch] = useSearchParams();
  return (
    <Stack>
      <Title order={1} size="h3">
        Admin
      </Title>
      <Tabs
        value={search.get("tab") ?? "users"}
        onChange={(tab) => setSearch({ tab: tab ?? "users" }, { replace: true })}
        keepMounted={false}
      >
        <Tabs.List>
          <Tabs.Tab value="users">Users and tokens</Tabs.Tab>
          <Tabs.Tab value="engine">Queue and capacity</Tabs.Tab>
          <Tabs.Tab value="quotas">Quotas</Tabs.Tab>
          <Tabs.Tab value="costs">Usage and cost</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="users" pt="md">
          <Users />
        </Tabs.Panel>
        <Tabs.Panel value="engine" pt="md">
          <Engine />
        </Tabs.Panel>
        <Tabs.Panel value="quotas" pt="md">
          <Quotas />
        </Tabs.Panel>
        <Tabs.Panel value="costs" pt="md">
          <Costs />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

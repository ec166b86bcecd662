import { Stack, Tabs, Title } from "@mantine/core";
import { useSearchParams } from "react-router";
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
        </Tabs.List>
        <Tabs.Panel value="users" pt="md">
          <Users />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

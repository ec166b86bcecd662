import { Anchor, Stack, Text, Title } from "@mantine/core";
import { Link, useLocation } from "react-router";

export function NothingHere() {
  const { pathname } = useLocation();
  return (
    <Stack>
      <Title order={1}>Nothing here</Title>
      <Text className="name">There is no page {pathname}.</Text>
      <Anchor component={Link} to="/">
        To the start
      </Anchor>
    </Stack>
  );
}

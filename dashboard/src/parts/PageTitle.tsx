import { Anchor, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";

/** The title of a page that lies within another. */
export function PageTitle({ within, to, children }: { within: string; to: string; children: ReactNode }) {
  return (
    <Title order={1} size="h3" className="name">
      <Anchor component={Link} to={to} inherit c="dimmed">
        {within}
      </Anchor>{" "}
      / {children}
    </Title>
  );
}

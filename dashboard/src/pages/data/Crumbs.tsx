import { Anchor, Breadcrumbs, Text } from "@mantine/core";
import { Link } from "react-router";
import { dataLink } from "./links";

export function Crumbs({ path }: { path: string }) {
  const parts = path.split("/").filter(Boolean);
  return (
    <Breadcrumbs separatorMargin={6} style={{ flexWrap: "wrap" }} component="nav" aria-label="Path">
      <Anchor component={Link} to={dataLink("/")}>
        Data
      </Anchor>
      {parts.map((part, index) => {
        const upTo = `/${parts.slice(0, index + 1).join("/")}`;
        const last = index === parts.length - 1;
        return last ? (
          <Text key={upTo} className="name" fw={600}>
            {part}
          </Text>
        ) : (
          <Anchor key={upTo} component={Link} to={dataLink(`${upTo}/`)} className="name">
            {part}
          </Anchor>
        );
      })}
    </Breadcrumbs>
  );
}

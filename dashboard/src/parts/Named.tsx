import { Anchor } from "@mantine/core";
import { Link } from "react-router";

const SHORT = 24;
const TAIL = 14;

/** A link with a name of any length: where room is short its middle goes, since names differ at both ends. */
export function Named({ name, to }: { name: string; to: string }) {
  if (name.length <= SHORT) {
    return (
      <Anchor component={Link} to={to} className="clip" size="sm">
        {name}
      </Anchor>
    );
  }
  return (
    <Anchor component={Link} to={to} className="named" size="sm" aria-label={name} title={name}>
      <span className="clip">{name.slice(0, -TAIL)}</span>
      <span>{name.slice(-TAIL)}</span>
    </Anchor>
  );
}

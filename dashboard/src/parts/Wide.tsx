import { Box } from "@mantine/core";
import type { ReactNode } from "react";

/** A table that may be wider than the window, and is then scrolled, by keys too. */
export function Wide({ label, minWidth, children }: { label: string; minWidth: number; children: ReactNode }) {
  return (
    <Box style={{ overflowX: "auto" }} tabIndex={0} role="region" aria-label={label}>
      <Box miw={minWidth}>{children}</Box>
    </Box>
  );
}

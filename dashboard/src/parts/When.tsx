import { Text, type TextProps, Tooltip } from "@mantine/core";
import { formatAge, formatTime } from "../format";

/** How long ago, with the exact time on hover. */
export function When({ time, ...props }: { time: string } & TextProps) {
  return (
    <Tooltip label={formatTime(time)}>
      <Text span inherit {...props}>
        <time dateTime={time}>{formatAge(time)}</time>
      </Text>
    </Tooltip>
  );
}

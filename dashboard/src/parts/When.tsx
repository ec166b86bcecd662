import { formatAge, formatTime } from "../format";

/** How long ago, with the exact time on hover; that is written only then, for it is slow. */
export function When({ time }: { time: string }) {
  return (
    <time
      dateTime={time}
      onPointerEnter={({ currentTarget }) => {
        currentTarget.title = formatTime(time);
      }}
    >
      {formatAge(time)}
    </time>
  );
}

import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, got } from "../../api/client";
import { formatSize } from "../../format";

export function useQueue() {
  return useQuery({ queryKey: ["queue"], queryFn: () => got(api.GET("/api/v1/queue")) });
}

/** The engine in one line. */
export function QueueLine() {
  const { data } = useQueue();
  if (!data) return null;
  return (
    <Text size="sm" c="dimmed" visibleFrom="md">
      {data.active} running, {data.queued} waiting · {data.free_cpu} of {data.capacity.cpu} CPU and{" "}
      {formatSize(data.free_memory)} free
    </Text>
  );
}

import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";

interface Page<T> {
  items: T[];
  next?: string | null;
}

/** A list read page by page, as one. */
export function usePaged<T>(
  key: readonly unknown[],
  read: (cursor: string | undefined) => Promise<Page<T>>,
  options: { enabled?: boolean; keep?: boolean } = {},
) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Page<T>) => page.next ?? undefined,
    enabled: options.enabled ?? true,
    placeholderData: options.keep ? (before) => before : undefined,
  });
  const items = useMemo(() => (query.data?.pages ?? []).flatMap((page) => page.items), [query.data]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const more = useMemo(
    () => (hasNextPage && !isFetchingNextPage ? () => void fetchNextPage() : undefined),
    [hasNextPage, isFetchingNextPage, fetchNextPage],
  );
  return { ...query, items, more };
}

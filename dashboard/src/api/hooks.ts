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
  // Each is named here: whoever has all of the answer is drawn anew at each change of any.
  const { data, error, isPending, isSuccess, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Page<T>) => page.next ?? undefined,
    enabled: options.enabled ?? true,
    placeholderData: options.keep ? (before) => before : undefined,
  });
  const items = useMemo(() => (data?.pages ?? []).flatMap((page) => page.items), [data]);
  const more = useMemo(
    () => (hasNextPage && !isFetchingNextPage ? () => void fetchNextPage() : undefined),
    [hasNextPage, isFetchingNextPage, fetchNextPage],
  );
  return { error, isPending, isSuccess, hasNextPage, isFetchingNextPage, items, more };
}

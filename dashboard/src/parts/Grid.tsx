import { Loader } from "@mantine/core";
import {
  type ColumnDef,
  flexRender,
  getCoreRowModel,
  type OnChangeFn,
  type SortingState,
  useReactTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type CSSProperties, useEffect, useRef } from "react";

export type Column<T> = ColumnDef<T, unknown>;

interface GridProps<T> {
  label: string;
  rows: T[];
  columns: Column<T>[];
  rowKey: (row: T) => string;
  chosen?: (row: T) => boolean;
  sorting?: SortingState;
  onSort?: OnChangeFn<SortingState>;
  more?: () => void; // called when the end comes near, while there is more
  loadingMore?: boolean;
  height?: number | string;
}

const ROW = 39;
const NAME = 230; // pixels at least of the column that grows, which is mostly a name

/** A table of any length: only the rows in view are in the document. */
export function Grid<T>({
  label,
  rows,
  columns,
  rowKey,
  chosen,
  sorting,
  onSort,
  more,
  loadingMore,
  height = "calc(100vh - 240px)",
}: GridProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const table = useReactTable({
    data: rows,
    columns,
    getCoreRowModel: getCoreRowModel(),
    getRowId: rowKey,
    manualSorting: true,
    enableSortingRemoval: false,
    state: { sorting: sorting ?? [] },
    onSortingChange: onSort,
    enableSorting: Boolean(onSort),
  });
  const model = table.getRowModel().rows;
  const virtual = useVirtualizer({
    count: model.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last >= model.length - 30) more();
  }, [more, last, model.length]);
  const above = shown[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (shown.at(-1)?.end ?? 0);
  const count = table.getVisibleLeafColumns().length;
  const widest = table
    .getVisibleLeafColumns()
    .reduce((sum, { columnDef: one }) => sum + (lookOf(one).grow ? Math.max(NAME, one.size ?? 0) : (one.size ?? 150)), 0);
  return (
    <div
      ref={scroller}
      className="grid-scroll"
      style={{ maxHeight: height }}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <table className="grid" style={{ minWidth: widest }} aria-rowcount={model.length}>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => (
                <th
                  key={header.id}
                  style={widthOf(header.column.columnDef)}
                  className={classOf(header.column.columnDef)}
                  aria-sort={ariaSort(header.column.getIsSorted())}
                >
                  {header.column.getCanSort() ? (
                    <button type="button" onClick={header.column.getToggleSortingHandler()}>
                      {flexRender(header.column.columnDef.header, header.getContext())}
                      {header.column.getIsSorted() === "asc" && <ArrowUp size={13} />}
                      {header.column.getIsSorted() === "desc" && <ArrowDown size={13} />}
                    </button>
                  ) : (
                    flexRender(header.column.columnDef.header, header.getContext())
                  )}
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {above > 0 && <Gap height={above} span={count} />}
          {shown.map((item) => {
            const row = model[item.index];
            if (!row) return null;
            return (
              <tr key={row.id} data-chosen={chosen?.(row.original) || undefined}>
                {row.getVisibleCells().map((cell) => (
                  <td key={cell.id} className={classOf(cell.column.columnDef)}>
                    {flexRender(cell.column.columnDef.cell, cell.getContext())}
                  </td>
                ))}
              </tr>
            );
          })}
          {below > 0 && <Gap height={below} span={count} />}
          {loadingMore && (
            <tr>
              <td colSpan={count}>
                <Loader size="xs" aria-label="Loading more" />
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

function Gap({ height, span }: { height: number; span: number }) {
  return (
    <tr className="gap" aria-hidden>
      <td colSpan={span} style={{ height }} />
    </tr>
  );
}

interface Look {
  right?: boolean;
  grow?: boolean;
}

function lookOf(definition: { meta?: object }): Look {
  return (definition.meta ?? {}) as Look;
}

function widthOf(definition: { meta?: object; size?: number }): CSSProperties {
  return lookOf(definition).grow ? {} : { width: definition.size ?? 150 };
}

function classOf(definition: { meta?: object }): string | undefined {
  return lookOf(definition).right ? "right" : undefined;
}

function ariaSort(direction: false | "asc" | "desc"): "ascending" | "descending" | undefined {
  if (!direction) return undefined;
  return direction === "asc" ? "ascending" : "descending";
}

import { Loader } from "@mantine/core";
import { type ColumnDef, getCoreRowModel, type Header, useReactTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type CSSProperties, type ReactNode, useEffect, useMemo, useRef } from "react";

export interface Column<T> {
  id: string;
  header: ReactNode;
  cell: (row: T) => ReactNode;
  size?: number; // pixels
  grow?: boolean; // takes the room that is left
  right?: boolean;
  sorts?: "up" | "down"; // can be sorted by, and so at the first click
}

interface GridProps<T> {
  label: string;
  rows: T[];
  columns: Column<T>[];
  rowKey: (row: T) => string;
  chosen?: (row: T) => boolean;
  sort?: string | null; // a column's id, after a minus if the greatest comes first
  onSort?: (sort: string) => void;
  more?: () => void; // called when the end comes near, while there is more
  loadingMore?: boolean;
  height?: number | string;
}

const ROW = 39;
const SIZE = 150;
const NAME = 230; // pixels at least of the column that grows, which is mostly a name

/** A table of any length: only the rows in view are in the document. */
export function Grid<T>({
  label,
  rows,
  columns,
  rowKey,
  chosen,
  sort,
  onSort,
  more,
  loadingMore,
  height = "calc(100vh - 240px)",
}: GridProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const definitions = useMemo(() => columns.map(definitionOf), [columns]);
  const sorting = sort ? [{ id: sort.replace(/^-/, ""), desc: sort.startsWith("-") }] : [];
  const table = useReactTable({
    data: rows,
    columns: definitions,
    getCoreRowModel: getCoreRowModel(),
    getRowId: rowKey,
    manualSorting: true,
    enableSortingRemoval: false,
    enableSorting: Boolean(onSort),
    state: { sorting },
    onSortingChange: (change) => {
      const [first] = typeof change === "function" ? change(sorting) : change;
      if (first) onSort?.(`${first.desc ? "-" : ""}${first.id}`);
    },
  });
  const model = table.getRowModel().rows;
  const virtual = useVirtualizer({
    count: model.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    // A guess, so that the rows are there when the table is first drawn, and are not drawn after it.
    initialRect: { width: window.innerWidth, height: window.innerHeight - 240 },
    overscan: 4,
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last >= model.length - 30) more();
  }, [more, last, model.length]);
  const above = shown[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (shown.at(-1)?.end ?? 0);
  const widest = columns.reduce((sum, { grow, size }) => sum + (grow ? NAME : (size ?? SIZE)), 0);
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
          <tr>
            {table.getFlatHeaders().map((header, at) => (
              <Heading key={header.id} header={header} column={columns[at] as Column<T>} />
            ))}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <Gap height={above} span={columns.length} />}
          {shown.map(({ index }) => {
            const row = model[index];
            if (row === undefined) return null;
            const own = row.original;
            return <Row key={row.id} row={own} columns={columns} chosen={chosen?.(own) ?? false} />;
          })}
          {below > 0 && <Gap height={below} span={columns.length} />}
          {loadingMore && (
            <tr>
              <td colSpan={columns.length}>
                <Loader size="xs" aria-label="Loading more" />
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

function definitionOf<T>({ id, sorts }: Column<T>): ColumnDef<T> {
  return {
    id,
    accessorFn: () => null, // the server sorts; without one the table would not offer it
    enableSorting: Boolean(sorts),
    sortDescFirst: sorts === "down",
  };
}

function Heading<T>({ header, column }: { header: Header<T, unknown>; column: Column<T> }) {
  const sorted = header.column.getIsSorted();
  return (
    <th
      style={widthOf(column)}
      className={column.right ? "right" : undefined}
      aria-sort={sorted ? (sorted === "asc" ? "ascending" : "descending") : undefined}
    >
      {header.column.getCanSort() ? (
        <button type="button" onClick={header.column.getToggleSortingHandler()}>
          {column.header}
          {sorted === "asc" && <ArrowUp size={13} />}
          {sorted === "desc" && <ArrowDown size={13} />}
        </button>
      ) : (
        column.header
      )}
    </th>
  );
}

interface RowProps<T> {
  row: T;
  columns: Column<T>[];
  chosen: boolean;
}

function Row<T>({ row, columns, chosen }: RowProps<T>) {
  return (
    <tr data-chosen={chosen || undefined}>
      {columns.map(({ id, right, cell }) => (
        <td key={id} className={right ? "right" : undefined}>
          {cell(row)}
        </td>
      ))}
    </tr>
  );
}

function Gap({ height, span }: { height: number; span: number }) {
  return (
    <tr className="gap" aria-hidden>
      <td colSpan={span} style={{ height }} />
    </tr>
  );
}

function widthOf({ grow, size = SIZE }: { grow?: boolean; size?: number }): CSSProperties {
  return grow ? {} : { width: size };
}

import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import { compressors as all } from "hyparquet-compressors";
import { type Place, readRange } from "../../api/content";

// Its Snappy is WebAssembly, which the content security policy forbids; the reader has its own.
const { SNAPPY: _, ...compressors } = all;

/** The first rows of a Parquet file, read by ranges: its footer and the first row group. */
export async function readParquet(place: Place, most: number) {
  const file = {
    byteLength: place.size,
    slice: (from: number, to?: number) => readRange(place, from, to ?? place.size),
  };
  const metadata = await parquetMetadataAsync(file);
  const columns = parquetSchema(metadata).children.map((child) => child.element.name);
  const count = Number(metadata.num_rows);
  const objects = await parquetReadObjects({
    file,
    metadata,
    compressors,
    rowStart: 0,
    rowEnd: Math.min(most, count),
  });
  return { columns, count, rows: objects.map((one) => columns.map((name) => plain(one[name]))) };
}

function plain(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Date) return value.toISOString();
  return value;
}

import { type Compressors, parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
// One by one: the package's own entry also loads a Snappy made of WebAssembly, which the content
// security policy forbids, and which the reader has in plain script.
import { decompressBrotli } from "hyparquet-compressors/src/brotli.js";
import { gunzip } from "hyparquet-compressors/src/gzip.js";
import { decompressLz4, decompressLz4Raw } from "hyparquet-compressors/src/lz4.js";
import { decompress as decompressZstd } from "fzstd";
import { type Place, readRange } from "../../api/content";

const compressors: Compressors = {
  BROTLI: decompressBrotli,
  GZIP: (bytes, length) => gunzip(bytes, new Uint8Array(length)),
  LZ4: decompressLz4,
  LZ4_RAW: decompressLz4Raw,
  ZSTD: (bytes) => decompressZstd(bytes),
};

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

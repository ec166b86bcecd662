import { Button, ScrollArea, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { locate, type Place, readRange } from "../../api/content";
import { formatSize, formatWhole } from "../../format";
import { Problem } from "../../parts/Problem";
import { showValue } from "../../values";
import { parseRows } from "./csv";

const FIRST = 256 * 1024;
const MOST_IMAGE = 32 * 1024 * 1024;
const ROWS = 200;
const IMAGES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  bmp: "image/bmp",
};

interface Shown {
  path: string;
  hash: string;
  size: number;
}

/** The beginning of a file, by what its name says it is. Nothing of it is ever run. */
export function Preview({ path, hash, size }: Shown) {
  const place = useQuery({
    queryKey: ["place", hash],
    queryFn: () => locate(hash),
    staleTime: 600_000,
    enabled: size > 0,
  });
  const kind = path.split(".").at(-1)?.toLowerCase() ?? "";
  if (size === 0) return <Text c="dimmed">The file is empty.</Text>;
  if (place.error) return <Problem error={place.error} />;
  if (!place.data) return <Skeleton h={300} />;
  if (kind in IMAGES && size <= MOST_IMAGE) {
    return <ImagePreview place={place.data} hash={hash} type={IMAGES[kind] ?? ""} name={path} />;
  }
  if (kind === "parquet") return <ParquetPreview place={place.data} hash={hash} />;
  return <TextPreview place={place.data} hash={hash} kind={kind} />;
}

function ImagePreview(props: { place: Place; hash: string; type: string; name: string }) {
  const { place, hash, type } = props;
  const bytes = useQuery({
    queryKey: ["bytes", hash],
    queryFn: () => readRange(place, 0, place.size),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!bytes.data) return;
    const made = URL.createObjectURL(new Blob([bytes.data], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes.data, type]);
  if (bytes.error) return <Problem error={bytes.error} />;
  if (!url) return <Skeleton h={300} />;
  return (
    <img
      src={url}
      alt={props.name}
      style={{ maxWidth: "100%", maxHeight: "70vh", imageRendering: "auto" }}
    />
  );
}

function TextPreview({ place, hash, kind }: { place: Place; hash: string; kind: string }) {
  const [limit, setLimit] = useState(FIRST);
  const text = useQuery({
    queryKey: ["text", hash, limit],
    queryFn: async () => {
      const bytes = new Uint8Array(await readRange(place, 0, limit));
      if (bytes.subarray(0, 8192).includes(0)) return null;
      return new TextDecoder().decode(bytes);
    },
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => before,
  });
  if (text.error) return <Problem error={text.error} />;
  if (text.data === undefined) return <Skeleton h={300} />;
  if (text.data === null) {
    return <Text c="dimmed">These are not letters; download the file to use it.</Text>;
  }
  const whole = place.size <= limit;
  return (
    <Stack gap="xs">
      <Readable text={text.data} kind={kind} whole={whole} />
      {!whole && (
        <Button variant="subtle" onClick={() => setLimit(limit * 4)} loading={text.isFetching}>
          The first {formatSize(limit)} of {formatSize(place.size)}; show more
        </Button>
      )}
    </Stack>
  );
}

function Readable({ text, kind, whole }: { text: string; kind: string; whole: boolean }) {
  if (kind === "csv" || kind === "tsv") {
    const rows = parseRows(text, kind === "tsv" ? "\t" : ",", ROWS + 1);
    return <Rows head={rows[0] ?? []} rows={rows.slice(1)} />;
  }
  const shown = kind === "json" && whole ? indented(text) : text;
  return (
    <pre className="preview" tabIndex={0} aria-label="Content">
      {shown}
    </pre>
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function ParquetPreview({ place, hash }: { place: Place; hash: string }) {
  const table = useQuery({
    queryKey: ["parquet", hash],
    queryFn: async () => {
      const { readParquet } = await import("./parquet");
      return readParquet(place, ROWS);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (table.error) return <Problem error={table.error} />;
  if (!table.data) return <Skeleton h={300} />;
  return (
    <Stack gap="xs">
      <Rows head={table.data.columns} rows={table.data.rows.map((row) => row.map(showValue))} />
      <Text size="sm" c="dimmed">
        {formatWhole(table.data.count)} rows in all.
      </Text>
    </Stack>
  );
}

function Rows({ head, rows }: { head: string[]; rows: string[][] }) {
  return (
    <ScrollArea.Autosize mah="70vh" viewportProps={{ tabIndex: 0 }}>
      <Table striped withTableBorder stickyHeader fz="xs" verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            {head.map((name, index) => (
              <Table.Th key={index}>{name || `column ${index + 1}`}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.slice(0, ROWS).map((row, index) => (
            <Table.Tr key={index}>
              {head.map((_, column) => (
                <Table.Td key={column} style={{ whiteSpace: "nowrap" }}>
                  {(row[column] ?? "").slice(0, 200)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}

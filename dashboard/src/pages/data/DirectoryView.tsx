import { Button, FileButton, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Boxes, File, Folder, Upload } from "lucide-react";
import { type DragEvent, useMemo, useState } from "react";
import { api, got, type Schemas } from "../../api/client";
import { usePaged } from "../../api/hooks";
import { baseName, formatSize } from "../../format";
import { type Column, Grid } from "../../parts/Grid";
import { CopyCommand } from "../../parts/CopyCommand";
import { Empty } from "../../parts/Empty";
import { Named } from "../../parts/Named";
import { Problem } from "../../parts/Problem";
import { When } from "../../parts/When";
import { CreateSet } from "../sets/CreateSet";
import { Crumbs } from "./Crumbs";
import { droppedFiles, fromInput } from "./dropping";
import { dataLink } from "./links";
import { UploadProgress, useUpload } from "./UploadProgress";

type Listing = Schemas["Listing"];

const COLUMNS: Column<Listing>[] = [
  {
    id: "name",
    header: "Name",
    grow: true,
    cell: (line) => (
      <Group gap={8} wrap="nowrap">
        {line.kind === "directory" ? (
          <Folder size={16} aria-label="Directory" style={{ flexShrink: 0 }} />
        ) : (
          <File size={16} aria-label="File" style={{ flexShrink: 0 }} />
        )}
        <Named name={baseName(line.path)} to={dataLink(line.path)} />
      </Group>
    ),
  },
  {
    id: "size",
    header: "Size",
    size: 90,
    right: true,
    cell: (row) => (row.kind === "file" ? formatSize(row.size) : ""),
  },
  {
    id: "version",
    header: "Version",
    size: 92,
    right: true,
    cell: (row) => row.version ?? "",
  },
  {
    id: "time",
    header: "Changed",
    size: 130,
    cell: (row) => row.create_time && <When time={row.create_time} />,
  },
  { id: "by", header: "By", size: 120, cell: (row) => row.creator ?? "" },
];

export function DirectoryView({ path }: { path: string }) {
  const listing = usePaged(["files", path], (cursor) =>
    got(api.GET("/api/v1/files", { params: { query: { path, cursor, limit: 1000 } } })),
  );
  const upload = useUpload(path);
  const [over, setOver] = useState(false);
  const [making, { open, close }] = useDisclosure(false);
  const whole = useMemo(() => [path], [path]);

  async function drop(event: DragEvent) {
    event.preventDefault();
    setOver(false);
    upload.start(await droppedFiles(event.dataTransfer, path));
  }

  return (
    <Stack
      className={over ? "drop" : undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => void drop(event)}
    >
      <Group justify="space-between">
        <Title order={1} size="h3">
          {path === "/" ? "Data" : <Crumbs path={path} />}
        </Title>
        <Group gap="xs">
          <FileButton
            multiple
            onChange={(files) => upload.start(fromInput(files, path))}
            inputProps={{ "aria-label": "Files to upload" }}
          >
            {(props) => (
              <Button {...props} size="sm" leftSection={<Upload size={15} />}>
                Upload files
              </Button>
            )}
          </FileButton>
          {listing.items.length > 0 && (
            <Button variant="default" leftSection={<Boxes size={15} />} onClick={open}>
              Make a set
            </Button>
          )}
        </Group>
      </Group>
      <UploadProgress upload={upload} />
      <Problem error={listing.error} />
      {listing.isPending && <Skeleton h={300} />}
      {listing.isSuccess && listing.items.length === 0 && (
        <Empty title="No files here yet" command={`acai file put ./data ${path === "/" ? "/data/" : path}`}>
          Drop files on this page, or put a directory from a terminal:
        </Empty>
      )}
      {listing.items.length > 0 && (
        <>
          <Grid
            label={`Files in ${path}`}
            rows={listing.items}
            columns={COLUMNS}
            rowKey={(line) => line.path}
            more={listing.more}
            loadingMore={listing.isFetchingNextPage}
          />
          <Group gap="xs" c="dimmed">
            <Text size="sm">Drop files on this page to upload them here. To fetch all of them:</Text>
            <CopyCommand command={`acai file get ${path} .`} />
          </Group>
        </>
      )}
      {making && <CreateSet specs={whole} close={close} />}
    </Stack>
  );
}

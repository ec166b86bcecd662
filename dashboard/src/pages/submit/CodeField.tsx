import { Button, CloseButton, FileButton, Group, Input, Paper, Stack, Text, TextInput } from "@mantine/core";
import { FileCode, Folder } from "lucide-react";
import { type DragEvent, useState } from "react";
import { type Dropped, type Progress } from "../../api/upload";
import { formatCount, formatSize } from "../../format";
import { Problem } from "../../parts/Problem";
import { droppedFiles } from "../data/dropping";
import { type LocalCode, localCode } from "./code";
import { neverCode } from "./ignoring";

interface CodeFieldProps {
  reference: string;
  setReference: (reference: string) => void;
  local: LocalCode | null;
  setLocal: (code: LocalCode | null) => void;
  progress: Progress | null;
}

/** Code that lies in the lake, or a folder or files of this computer that are sent there. */
export function CodeField({ reference, setReference, local, setLocal, progress }: CodeFieldProps) {
  const [over, setOver] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const take = (chosen: Promise<Dropped[]>) => {
    setOver(false);
    setError(null);
    chosen.then((files) => (files.length > 0 ? localCode(files).then(setLocal) : undefined)).catch(setError);
  };
  const choose = (files: File[]) =>
    take(Promise.resolve(files.map((file) => ({ file, path: file.webkitRelativePath || file.name }))));
  return (
    <Stack
      gap={6}
      className={over ? "drop" : undefined}
      onDragOver={(event: DragEvent) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event: DragEvent) => {
        event.preventDefault();
        take(droppedFiles(event.dataTransfer, "", neverCode));
      }}
    >
      {local ? (
        <Input.Wrapper label="Code" description="Sent to the lake as a set, with the job.">
          <Paper withBorder px="sm" py={6} mt={4}>
            <Group justify="space-between" wrap="nowrap">
              <Text size="sm" className="name">
                {local.name}: {formatCount(local.files.length, "file")}, {formatSize(local.size)}
                {progress && ` · ${progress.stage} ${formatSize(progress.done)}`}
              </Text>
              <CloseButton size="sm" aria-label="Take the code away" onClick={() => setLocal(null)} />
            </Group>
          </Paper>
        </Input.Wrapper>
      ) : (
        <TextInput
          label="Code"
          description="A reference to files in the lake; or drop a folder or files here."
          placeholder="/src/@mycode:1"
          value={reference}
          onChange={(event) => setReference(event.currentTarget.value)}
        />
      )}
      <Group gap="xs">
        <FileButton multiple onChange={choose} inputProps={{ "aria-label": "Folder to send", ...DIRECTORY }}>
          {(props) => (
            <Button {...props} size="compact-xs" variant="default" leftSection={<Folder size={13} />}>
              Choose a folder
            </Button>
          )}
        </FileButton>
        <FileButton multiple onChange={choose} inputProps={{ "aria-label": "Files to send" }}>
          {(props) => (
            <Button {...props} size="compact-xs" variant="default" leftSection={<FileCode size={13} />}>
              Choose files
            </Button>
          )}
        </FileButton>
      </Group>
      <Problem error={error} />
    </Stack>
  );
}

const DIRECTORY = { webkitdirectory: "" };

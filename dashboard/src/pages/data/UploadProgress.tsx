import { Alert, CloseButton, Group, Paper, Progress as Bar, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Dropped, type Progress, upload as send } from "../../api/upload";
import { formatCount, formatSize } from "../../format";
import { Problem } from "../../parts/Problem";

interface Upload {
  progress: Progress | null;
  error: Error | null;
  made: number | null;
  start: (files: Dropped[]) => void;
  dismiss: () => void;
}

export function useUpload(directory: string): Upload {
  const queries = useQueryClient();
  const [progress, setProgress] = useState<Progress | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [made, setMade] = useState<number | null>(null);
  return {
    progress,
    error,
    made,
    dismiss: () => setMade(null),
    start: (files) => {
      if (files.length === 0 || progress) return;
      setError(null);
      setMade(null);
      setProgress({ stage: "reading", done: 0, total: 1 });
      send(files, setProgress)
        .then(async (session) => {
          setMade(session.file_count);
          await queries.invalidateQueries({ queryKey: ["files", directory] });
        })
        .catch(setError)
        .finally(() => setProgress(null));
    },
  };
}

const STAGES = { reading: "Reading", sending: "Sending", finishing: "Finishing" };

export function UploadProgress({ upload }: { upload: Upload }) {
  const { progress, error, made } = upload;
  return (
    <div aria-live="polite">
      {progress && (
        <Paper withBorder p="sm">
          <Stack gap={6}>
            <Text size="sm">
              {STAGES[progress.stage]} {formatSize(progress.done)} of {formatSize(progress.total)}
            </Text>
            <Bar
              value={(100 * progress.done) / Math.max(1, progress.total)}
              aria-label="Upload"
              animated
            />
          </Stack>
        </Paper>
      )}
      <Problem error={error} />
      {made !== null && (
        <Alert color="green" p="xs">
          <Group justify="space-between">
            {formatCount(made, "file")} uploaded.
            <CloseButton size="sm" aria-label="Dismiss" onClick={upload.dismiss} />
          </Group>
        </Alert>
      )}
    </div>
  );
}

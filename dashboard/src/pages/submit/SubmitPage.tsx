import { Anchor, Button, Checkbox, Group, NumberInput, Paper, Select, SimpleGrid, Skeleton, Stack, TagsInput, Textarea, TextInput, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { api, got, type Schemas } from "../../api/client";
import type { Progress } from "../../api/upload";
import { CopyCommand } from "../../parts/CopyCommand";
import { Problem } from "../../parts/Problem";
import { asCommandLine } from "../jobs/writing";
import { type LocalCode, sendCode } from "./code";
import { CodeField } from "./CodeField";
import { draftOf, EMPTY, type JobDraft, requestOf } from "./draft";

/** A new job, or an earlier one with changes: `?from=JOB`. */
export function Component() {
  const [search] = useSearchParams();
  const from = search.get("from");
  const earlier = useQuery({
    queryKey: ["job", from],
    queryFn: () => got(api.GET("/api/v1/jobs/{job}", { params: { path: { job: from ?? "" } } })),
    enabled: from !== null,
  });
  if (earlier.error) return <Problem error={earlier.error} />;
  if (from && !earlier.data) return <Skeleton h={400} />;
  const input = search.get("input");
  const draft = earlier.data
    ? draftOf(earlier.data.request)
    : { ...EMPTY, input: input ? [input] : [] };
  return (
    <Stack maw={860}>
      <Title order={1} size="h3">
        {from ? (
          <>
            Run{" "}
            <Anchor component={Link} to={`/jobs/${from}`} inherit>
              {earlier.data?.name ?? from}
            </Anchor>{" "}
            with changes
          </>
        ) : (
          "Submit a job"
        )}
      </Title>
      <JobForm key={from ?? "new"} draft={draft} />
    </Stack>
  );
}

function JobForm({ draft }: { draft: JobDraft }) {
  const go = useNavigate();
  const [job, setJob] = useState(draft);
  const sets = useQuery({
    queryKey: ["sets", "names"],
    queryFn: () => got(api.GET("/api/v1/sets", { params: { query: { limit: 1000 } } })),
  });
  const names = (sets.data?.items ?? []).map((one) => one.name);
  const set = <K extends keyof JobDraft>(key: K) => (value: JobDraft[K]) =>
    setJob((before) => ({ ...before, [key]: value }));
  const text = (key: "command" | "name" | "args" | "env" | "output" | "outputPath" | "memory" | "timeout" | "description" | "requirements") => ({
    value: job[key],
    onChange: (event: { currentTarget: { value: string } }) => set(key)(event.currentTarget.value),
  });
  const [local, setLocal] = useState<LocalCode | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const submit = useMutation({
    mutationFn: async () => {
      const request = requestOf(job); // what is wrong in the form is said before anything is sent
      const code = local ? await sendCode(local, job.name.trim(), setProgress) : request.code;
      return got(api.POST("/api/v1/jobs", { body: { ...request, code } }));
    },
    onSettled: () => setProgress(null),
    onSuccess: (made) => go(`/jobs/${made.id}`),
  });
  function send(event: FormEvent) {
    event.preventDefault();
    submit.mutate();
  }
  return (
    <form onSubmit={send}>
      <Stack>
        <Paper withBorder p="md">
          <Stack gap="sm">
            <Textarea
              label="Command"
              description="For the shell; {name} stands for an argument."
              placeholder="python train.py --epochs {epochs}"
              classNames={{ input: "mono" }}
              autosize
              required
              {...text("command")}
            />
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              <TagsInput
                label="Input sets"
                description="Their files lie at their paths."
                placeholder="mnist:2"
                data={names}
                value={job.input}
                onChange={set("input")}
                splitChars={[",", " "]}
              />
              <CodeField
                reference={job.code}
                setReference={set("code")}
                local={local}
                setLocal={setLocal}
                progress={progress}
              />
              <TextInput label="Output set" description="Made of what lies under the path." placeholder="model" {...text("output")} />
              <TextInput label="Output path" description="Below the working directory." {...text("outputPath")} />
            </SimpleGrid>
            <Textarea
              label="Arguments"
              description="One name=value a line."
              placeholder={"epochs=20\nlr=0.001"}
              classNames={{ input: "mono" }}
              autosize
              minRows={2}
              {...text("args")}
            />
          </Stack>
        </Paper>
        <Paper withBorder p="md">
          <SimpleGrid cols={{ base: 2, sm: 4 }}>
            <NumberInput label="CPU" min={0.1} step={0.5} value={job.cpu} onChange={(value) => set("cpu")(Number(value))} />
            <TextInput label="Memory" placeholder="2GB" {...text("memory")} />
            <NumberInput label="GPU" min={0} value={job.gpu} onChange={(value) => set("gpu")(Number(value))} />
            <TextInput label="Time limit" placeholder="2h" {...text("timeout")} />
          </SimpleGrid>
        </Paper>
        <Paper withBorder p="md">
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextInput label="Name" {...text("name")} />
            <Select
              label="Priority"
              data={["batch", "interactive"]}
              value={job.priority}
              onChange={(value) => set("priority")((value ?? "batch") as Schemas["Priority"])}
              allowDeselect={false}
            />
            <TagsInput label="Tags" value={job.tags} onChange={set("tags")} />
            <TextInput label="Description" {...text("description")} />
            <Textarea
              label="Python packages"
              description="The lines of a requirements file."
              classNames={{ input: "mono" }}
              autosize
              minRows={2}
              {...text("requirements")}
            />
            <Textarea
              label="Environment variables"
              description="One NAME=VALUE a line."
              classNames={{ input: "mono" }}
              autosize
              minRows={2}
              {...text("env")}
            />
            <Checkbox
              label="Take the output of an identical finished job, if there is one"
              checked={job.cache}
              onChange={(event) => set("cache")(event.currentTarget.checked)}
            />
          </SimpleGrid>
        </Paper>
        <Problem error={submit.error} />
        <Group>
          <Button type="submit" loading={submit.isPending} disabled={!job.command.trim()}>
            Submit
          </Button>
        </Group>
        {job.command.trim() && <AsCommand job={local ? { ...job, code: local.path } : job} />}
      </Stack>
    </form>
  );
}

function AsCommand({ job }: { job: JobDraft }) {
  try {
    return <CopyCommand command={asCommandLine(requestOf(job))} label="Copy as a command line" />;
  } catch {
    return null;
  }
}

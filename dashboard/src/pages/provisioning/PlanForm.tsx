import { Alert, Button, Group, NumberInput, SegmentedControl, Stack, Table, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useNavigate } from "react-router";
import { api, got, type Schemas } from "../../api/client";
import { formatCost, formatDuration, formatSize } from "../../format";
import { Problem } from "../../parts/Problem";
import { parseValue } from "../../values";
import { secondsOf } from "../submit/draft";
import { Surface } from "./Surface";

type Template = Schemas["TemplateDetail"];
type Plan = Schemas["ProvisionPlan"];

/** Asks for a budget or a deadline, shows the plan, and runs it when told to. */
export function PlanForm({ template }: { template: Template }) {
  const go = useNavigate();
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(template.parameters.map((one) => [one.name, String(one.values.at(-1) ?? "")])),
  );
  const [limit, setLimit] = useState<"cost" | "time">("cost");
  const [cost, setCost] = useState<number | string>("");
  const [time, setTime] = useState("");
  const [output, setOutput] = useState("");
  const plan = useMutation({
    mutationFn: (dry: boolean) =>
      got(
        api.POST("/api/v1/plans", {
          body: {
            template_name: template.name,
            values: Object.fromEntries(
              Object.entries(values).map(([key, text]) => {
                const value = parseValue(text);
                return [key, typeof value === "number" ? value : text];
              }),
            ),
            max_cost: limit === "cost" && cost !== "" ? Number(cost) : null,
            max_time: limit === "time" && time.trim() ? secondsOf(time.trim()) : null,
            output: output.trim() || null,
            dry_run: dry,
            surface: true,
            probability: 0.5,
            args: {},
          },
        }),
      ),
    onSuccess: (found) => {
      if (found.job) void go(`/jobs/${found.job.id}`);
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    plan.mutate(true);
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Group align="flex-end">
          {template.parameters.map((one) => (
            <TextInput
              key={one.name}
              label={one.name}
              w={120}
              value={values[one.name] ?? ""}
              onChange={(event) => {
                const { value } = event.currentTarget;
                setValues((before) => ({ ...before, [one.name]: value }));
              }}
            />
          ))}
          <TextInput label="Output set" w={150} value={output} onChange={(event) => setOutput(event.currentTarget.value)} />
        </Group>
        <Group align="flex-end">
          <SegmentedControl
            aria-label="What is limited"
            value={limit}
            onChange={(next) => setLimit(next as "cost" | "time")}
            data={[
              { value: "cost", label: "Within a budget" },
              { value: "time", label: "By a deadline" },
            ]}
          />
          {limit === "cost" ? (
            <NumberInput label="At most, in $" min={0} step={0.01} w={130} value={cost} onChange={setCost} />
          ) : (
            <TextInput label="At most" placeholder="30m" w={130} value={time} onChange={(event) => setTime(event.currentTarget.value)} />
          )}
          <Button type="submit" loading={plan.isPending}>
            Show the plan
          </Button>
        </Group>
        <Problem error={plan.error} />
        {plan.data && <PlanView plan={plan.data} run={() => plan.mutate(false)} busy={plan.isPending} />}
      </Stack>
    </form>
  );
}

function PlanView({ plan, run, busy }: { plan: Plan; run: () => void; busy: boolean }) {
  const { choice } = plan;
  return (
    <Stack gap="sm">
      <Alert color={choice ? "green" : "red"} title={choice ? "The plan" : "No configuration is good enough"}>
        {plan.shortfall ?? plan.explanation}
      </Alert>
      {plan.warnings.map((warning) => (
        <Alert key={warning} color="yellow" p="xs">
          {warning}
        </Alert>
      ))}
      {choice && (
        <Group justify="space-between">
          <Text size="sm">
            <b>
              {choice.cpu} CPU, {formatSize(choice.memory)}
            </b>{" "}
            · about {formatDuration(choice.seconds)} · {formatCost(choice.cost)}
          </Text>
          <Button onClick={run} loading={busy}>
            Run it
          </Button>
        </Group>
      )}
      <Surface plan={plan} />
      {plan.next_best.length > 0 && (
        <Table fz="xs" verticalSpacing={3}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Next best</Table.Th>
              <Table.Th ta="right">Time</Table.Th>
              <Table.Th ta="right">Cost</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {plan.next_best.map((one) => (
              <Table.Tr key={`${one.cpu}/${one.memory}`}>
                <Table.Td>
                  {one.cpu} CPU, {formatSize(one.memory)}
                </Table.Td>
                <Table.Td ta="right">{formatDuration(one.seconds)}</Table.Td>
                <Table.Td ta="right">{formatCost(one.cost)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Stack>
  );
}

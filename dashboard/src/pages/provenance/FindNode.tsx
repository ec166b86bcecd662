import { Autocomplete, Group, Stack, Text } from "@mantine/core";
import { Search } from "lucide-react";
import { useMemo, useState } from "react";
import { api, got } from "../../api/client";
import { formatCount } from "../../format";
import { QueryError } from "../../parts/QueryBox";
import type { Drawing } from "./graph";

interface FindNodeProps {
  drawing: Drawing;
  onFound: (ids: Set<string> | null) => void;
  onChoose: (id: string) => void;
}

/** Find by name, which chooses the node; or by a query, which marks all that it selects. */
export function FindNode({ drawing, onFound, onChoose }: FindNodeProps) {
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [count, setCount] = useState<number | null>(null);
  const byLabel = useMemo(
    () => new Map(drawing.nodes.map((node) => [node.label, node.id])),
    [drawing],
  );
  const offered = useMemo(() => {
    const wanted = text.toLowerCase();
    const found: string[] = [];
    for (const label of byLabel.keys()) {
      if (label.toLowerCase().includes(wanted)) found.push(label);
      if (found.length === 20) break;
    }
    return text ? found : [];
  }, [text, byLabel]);

  function clear() {
    setText("");
    setError(null);
    setCount(null);
    onFound(null);
  }

  async function ask(query: string) {
    setError(null);
    try {
      const found = await got(
        api.GET("/api/v1/search/sets", { params: { query: { q: query, limit: 1000 } } }),
      );
      setCount(found.items.length);
      onFound(new Set(found.items.map((one) => one.id)));
    } catch (wrong) {
      setError(wrong);
      setCount(null);
      onFound(null);
    }
  }

  function choose(label: string) {
    const id = byLabel.get(label);
    if (!id) return false;
    setError(null);
    setCount(null);
    onFound(null);
    onChoose(id);
    return true;
  }

  return (
    <Stack gap={4} w={{ base: "100%", sm: 380 }}>
      <Autocomplete
        aria-label="Find a node by name or query"
        placeholder="Name, or a query: model = BERT"
        leftSection={<Search size={15} aria-hidden />}
        value={text}
        data={offered}
        filter={({ options }) => options}
        onChange={(next) => (next ? setText(next) : clear())}
        onOptionSubmit={choose}
        onKeyDown={(event) => {
          if (event.key === "Enter" && text.trim() && !choose(text.trim()) && offered.length === 0) {
            void ask(text.trim());
          }
          if (event.key === "Escape") clear();
        }}
      />
      <QueryError error={error} />
      {count !== null && (
        <Group gap={6}>
          <Text size="xs" c="dimmed" role="status">
            {formatCount(count, "set matches", "sets match")}
          </Text>
        </Group>
      )}
    </Stack>
  );
}

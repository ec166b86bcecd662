import { ActionIcon, Code, Group } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { Check, Copy } from "lucide-react";

export function CopyCommand({ command, label = "Copy" }: { command: string; label?: string }) {
  return (
    <Group gap={6} wrap="nowrap" maw="100%">
      <Code block fz="sm" py={6} style={{ overflowX: "auto" }} tabIndex={0}>
        {command}
      </Code>
      <CopyIcon text={command} label={label} />
    </Group>
  );
}

export function CopyIcon({ text, label }: { text: string; label: string }) {
  const { copied, copy } = useClipboard();
  return (
    <ActionIcon variant="subtle" aria-label={label} title={label} onClick={() => copy(text)}>
      {copied ? <Check size={16} /> : <Copy size={16} />}
    </ActionIcon>
  );
}

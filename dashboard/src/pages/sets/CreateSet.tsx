import { Button, Checkbox, Modal, Stack, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { api, got } from "../../api/client";
import { escapePath } from "../../format";
import { Problem } from "../../parts/Problem";
import { setLink } from "../data/links";

export function CreateSet(props: { specs: string[]; name?: string; close: () => void }) {
  const go = useNavigate();
  const queries = useQueryClient();
  const [name, setName] = useState(props.name ?? "");
  const [text, setText] = useState(props.specs.map(escapePath).join("\n"));
  const [last, setLast] = useState(false);
  const create = useMutation({
    mutationFn: () =>
      got(
        api.POST("/api/v1/sets", {
          body: {
            name: name.trim(),
            specs: text.split("\n").map((line) => line.trim()).filter(Boolean),
            prefer: last ? "last" : null,
          },
        }),
      ),
    onSuccess: async (made) => {
      await queries.invalidateQueries();
      props.close();
      await go(setLink(made.name, made.version));
    },
  });
  return (
    <Modal opened onClose={props.close} title="Make a set" closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            description="An existing name gets its next version."
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
            required
          />
          <Textarea
            label="Made of"
            description="One file, directory or set a line: /data/, /data/train.json:2, /@HotpotQA:1"
            autosize
            minRows={3}
            classNames={{ input: "mono" }}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            required
          />
          <Checkbox
            label="Where two sets disagree, the later line wins"
            checked={last}
            onChange={(event) => setLast(event.currentTarget.checked)}
          />
          <Problem error={create.error} />
          <Button type="submit" loading={create.isPending}>
            Make it
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

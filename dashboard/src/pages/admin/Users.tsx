import {
  Alert,
  Badge,
  Button,
  Group,
  Modal,
  Select,
  Skeleton,
  Stack,
  Table,
  Text,
  TextInput,
  VisuallyHidden,
} from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, got, type Schemas } from "../../api/client";
import { usePaged } from "../../api/hooks";
import { useSession } from "../../api/session";
import { CopyCommand } from "../../parts/CopyCommand";
import { Problem } from "../../parts/Problem";
import { Wide } from "../../parts/Wide";
import { When } from "../../parts/When";

type NewUser = Schemas["NewUser"];
type User = Schemas["User"];

export function Users() {
  const { user: me } = useSession();
  const queries = useQueryClient();
  const users = usePaged(["users"], (cursor) =>
    got(api.GET("/api/v1/users", { params: { query: { cursor, limit: 1000 } } })),
  );
  const [shown, setShown] = useState<NewUser | null>(null);
  const [leaving, setLeaving] = useState<User | null>(null);
  const [rotating, setRotating] = useState<User | null>(null);
  const admin = me?.role !== "member";
  const rotate = useMutation({
    mutationFn: (name: string) => got(api.POST("/api/v1/tokens/rotate", { body: { user: name } })),
    onSuccess: setShown,
    onSettled: () => setRotating(null),
  });
  const remove = useMutation({
    mutationFn: (name: string) =>
      got(api.DELETE("/api/v1/users/{name}", { params: { path: { name } } })),
    onSettled: () => {
      setLeaving(null);
      void queries.invalidateQueries({ queryKey: ["users"] });
    },
  });
  return (
    <Stack>
      {admin && <NewUserForm onMade={setShown} />}
      <Problem error={users.error ?? rotate.error ?? remove.error} />
      {users.isPending && <Skeleton h={200} />}
      {users.items.length > 0 && (
        <Wide label="Users" minWidth={480}>
          <Table verticalSpacing="xs">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>User</Table.Th>
                <Table.Th>Role</Table.Th>
                <Table.Th>Since</Table.Th>
                <Table.Th>
                  <VisuallyHidden>Actions</VisuallyHidden>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {users.items.map((user) => (
                <Table.Tr key={user.id}>
                  <Table.Td className="name">
                    {user.name} {user.id === me?.id && <Badge size="xs">you</Badge>}
                  </Table.Td>
                  <Table.Td>{user.role}</Table.Td>
                  <Table.Td>
                    <When time={user.create_time} />
                  </Table.Td>
                  <Table.Td>
                    <Group gap="xs" justify="flex-end" wrap="nowrap">
                      {(admin || user.id === me?.id) && (
                        <Button size="compact-xs" variant="default" onClick={() => setRotating(user)}>
                          New token
                        </Button>
                      )}
                      {admin && user.id !== me?.id && (
                        <Button
                          size="compact-xs"
                          variant="light"
                          color="red"
                          onClick={() => setLeaving(user)}
                        >
                          Remove
                        </Button>
                      )}
                    </Group>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
      <ShownOnce made={shown} close={() => setShown(null)} />
      <Confirm
        title={rotating && `A new token for ${rotating.name}?`}
        text="The old token stops at once, and with it every browser that is signed in by it."
        act="Make a new token"
        busy={rotate.isPending}
        onYes={() => rotating && rotate.mutate(rotating.name)}
        close={() => setRotating(null)}
      />
      <Confirm
        title={leaving && `Remove ${leaving.name}?`}
        text="The token stops at once. What the user made stays."
        act="Remove"
        busy={remove.isPending}
        onYes={() => leaving && remove.mutate(leaving.name)}
        close={() => setLeaving(null)}
      />
    </Stack>
  );
}

function NewUserForm({ onMade }: { onMade: (made: NewUser) => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<"member" | "admin">("member");
  const create = useMutation({
    mutationFn: () => got(api.POST("/api/v1/users", { body: { name: name.trim(), role } })),
    onSuccess: (made) => {
      setName("");
      onMade(made);
      void queries.invalidateQueries({ queryKey: ["users"] });
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate();
  }
  return (
    <form onSubmit={submit}>
      <Group align="flex-end">
        <TextInput
          label="New user"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          required
          withAsterisk={false}
        />
        <Select
          label="Role"
          w={130}
          data={["member", "admin"]}
          value={role}
          onChange={(next) => setRole((next ?? "member") as "member" | "admin")}
          allowDeselect={false}
        />
        <Button type="submit" loading={create.isPending}>
          Create
        </Button>
      </Group>
      <Problem error={create.error} />
    </form>
  );
}

function ShownOnce({ made, close }: { made: NewUser | null; close: () => void }) {
  return (
    <Modal
      opened={made !== null}
      onClose={close}
      title={`Token of ${made?.user.name ?? ""}`}
      closeButtonProps={{ "aria-label": "Close" }}
      size="lg"
    >
      {made && (
        <Stack>
          <Alert color="yellow">This is the only time it is shown. Keep it somewhere safe.</Alert>
          <CopyCommand command={made.token} label="Copy the token" />
          <Text size="sm">On the other machine:</Text>
          <CopyCommand command={`acai login ${window.location.origin} --token ${made.token}`} />
        </Stack>
      )}
    </Modal>
  );
}

interface ConfirmProps {
  title: string | null;
  text: string;
  act: string;
  busy: boolean;
  onYes: () => void;
  close: () => void;
}

function Confirm({ title, text, act, busy, onYes, close }: ConfirmProps) {
  return (
    <Modal
      opened={title !== null}
      onClose={close}
      title={title}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <Text>{text}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Leave it
          </Button>
          <Button color="red" loading={busy} onClick={onYes} data-autofocus>
            {act}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

import {
  ActionIcon,
  AppShell,
  Burger,
  Group,
  Loader,
  Menu,
  NavLink,
  Select,
  Text,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Activity, Boxes, Gauge, FolderTree, LogOut, Moon, Settings2, Sun, UserRound, Workflow } from "lucide-react";
import { type ComponentType, Suspense, useEffect } from "react";
import { Link, Outlet, useLocation, useNavigation } from "react-router";
import { api, got } from "../api/client";
import { useLiveProject } from "../api/live";
import { useSession } from "../api/session";
import { Connection } from "./Connection";
import { Mark } from "./Mark";
import { SignIn } from "./SignIn";

interface Place {
  to: string;
  label: string;
  icon: ComponentType<{ size?: number }>;
}

const PLACES: Place[] = [
  { to: "/jobs", label: "Jobs", icon: Activity },
  { to: "/data", label: "Data", icon: FolderTree },
  { to: "/sets", label: "Sets", icon: Boxes },
  { to: "/provenance", label: "Provenance", icon: Workflow },
  { to: "/provisioning", label: "Provisioning", icon: Gauge },
  { to: "/admin", label: "Admin", icon: Settings2 },
];

export function Shell() {
  const { user } = useSession();
  return user ? <House /> : <SignIn />;
}

function House() {
  const [open, { toggle, close }] = useDisclosure(false);
  const { pathname, search } = useLocation();
  const navigation = useNavigation();
  const { project, user } = useSession();
  useEffect(close, [pathname, close]);
  useLiveProject(project);
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 196, breakpoint: "sm", collapsed: { mobile: !open } }}
      padding="md"
    >
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={open}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label="Navigation"
            />
            <UnstyledButton component={Link} to="/" aria-label="acai, to the start">
              <Group gap={8} wrap="nowrap">
                <Mark size={26} />
                <Text fw={700} size="lg">
                  acai
                </Text>
              </Group>
            </UnstyledButton>
            {user?.project ? (
              <Text c="dimmed" size="sm" className="clip" maw={180}>
                {project}
              </Text>
            ) : (
              <ProjectChoice />
            )}
          </Group>
          <Group gap="xs" wrap="nowrap">
            <SchemeToggle />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" component="nav" aria-label="Pages">
        {PLACES.map(({ to, label, icon: Icon }) => (
          <NavLink
            key={to}
            component={Link}
            to={to}
            label={label}
            leftSection={<Icon size={17} aria-hidden />}
            active={pathname === to || pathname.startsWith(`${to}/`)}
            aria-current={pathname === to ? "page" : undefined}
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main aria-busy={navigation.state !== "idle"} data-path={pathname + search}>
        <Connection />
        {project ? (
          <Suspense fallback={<Loader />}>
            <Outlet key={project} />
          </Suspense>
        ) : (
          <Text>You are the global admin: choose a project above.</Text>
        )}
      </AppShell.Main>
    </AppShell>
  );
}

function ProjectChoice() {
  const { project, choose } = useSession();
  const { data } = useQuery({
    queryKey: ["projects"],
    queryFn: () => got(api.GET("/api/v1/projects", { params: { query: { limit: 1000 } } })),
  });
  return (
    <Select
      aria-label="Project"
      placeholder="Choose a project"
      size="xs"
      searchable
      value={project}
      data={(data?.items ?? []).map((one) => one.name)}
      onChange={(name) => name && choose(name)}
    />
  );
}

function SchemeToggle() {
  const { setColorScheme } = useMantineColorScheme();
  const now = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const next = now === "dark" ? "light" : "dark";
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={`Switch to ${next}`}
      title={`Switch to ${next}`}
      onClick={() => setColorScheme(next)}
    >
      {now === "dark" ? <Sun size={17} /> : <Moon size={17} />}
    </ActionIcon>
  );
}

function UserMenu() {
  const { user, signOut } = useSession();
  return (
    <Menu position="bottom-end" withArrow>
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={`Signed in as ${user?.name}`}>
          <UserRound size={17} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {user?.name} · {user?.role.replace("_", " ")}
        </Menu.Label>
        <Menu.Item leftSection={<LogOut size={15} />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

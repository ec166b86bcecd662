import { useQueryClient } from "@tanstack/react-query";
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
} from "react";
import { actAs, api, got, type Schemas, whenSignedOut } from "./client";

export type User = Schemas["User"];
type BrowserSession = Schemas["BrowserSession"];

interface SessionValue {
  user: User | null;
  project: string | null;
  ended: boolean;
  problem: string | null;
  signIn: (token: string) => Promise<void>;
  signOut: () => Promise<void>;
  choose: (project: string) => void;
}

const SessionContext = createContext<SessionValue | null>(null);

export function useSession(): SessionValue {
  const value = useContext(SessionContext);
  if (!value) throw new Error("useSession outside of SessionProvider");
  return value;
}

/** The word of a sign-in link, taken out of the address so that it is not kept in the history. */
function takeLink(): string | null {
  const found = /^#link=([A-Za-z0-9_-]+)$/.exec(window.location.hash);
  if (!found) return null;
  window.history.replaceState(null, "", window.location.pathname + window.location.search);
  return found[1] ?? null;
}

const CHOSEN = "acai.project";

function entered(session: BrowserSession): BrowserSession {
  actAs(session.csrf, session.user.project ? null : localStorage.getItem(CHOSEN));
  return session;
}

export interface Found {
  session: BrowserSession | null;
  problem: string | null;
}

/** The session that the browser has, or that a sign-in link opens; asked for before all is drawn. */
export async function findSession(): Promise<Found> {
  const link = takeLink();
  let problem: string | null = null;
  if (link) {
    try {
      return { session: entered(await got(api.POST("/api/v1/session", { body: { link } }))), problem };
    } catch (error) {
      problem = (error as Error).message;
    }
  }
  try {
    const { session } = await got(api.GET("/api/v1/session"));
    return { session: session && entered(session), problem };
  } catch (error) {
    return { session: null, problem: (error as Error).message };
  }
}

export function SessionProvider({ found, children }: { found: Found; children: ReactNode }) {
  const queries = useQueryClient();
  const [session, setSession] = useState(found.session);
  const [chosen, setChosen] = useState<string | null>(() => localStorage.getItem(CHOSEN));
  const [ended, setEnded] = useState(false);
  const [problem, setProblem] = useState(found.problem);

  const enter = useCallback((opened: BrowserSession) => {
    setSession(entered(opened));
    setEnded(false);
    setProblem(null);
  }, []);

  useEffect(() => {
    whenSignedOut(() => {
      setSession(null);
      setEnded(true);
    });
  }, []);

  const value = useMemo<SessionValue>(
    () => ({
      user: session?.user ?? null,
      project: session?.user.project ?? chosen,
      ended,
      problem,
      signIn: async (token) => {
        enter(await got(api.POST("/api/v1/session", { body: { token } })));
      },
      signOut: async () => {
        await got(api.DELETE("/api/v1/session"));
        queries.clear();
        setSession(null);
      },
      choose: (name) => {
        localStorage.setItem(CHOSEN, name);
        actAs(session?.csrf ?? "", name);
        setChosen(name);
        queries.clear();
      },
    }),
    [session, chosen, ended, problem, enter, queries],
  );
  return <SessionContext value={value}>{children}</SessionContext>;
}

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
  state: "asking" | "out" | "in";
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

export function SessionProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [state, setState] = useState<SessionValue["state"]>("asking");
  const [session, setSession] = useState<BrowserSession | null>(null);
  const [chosen, setChosen] = useState<string | null>(() => localStorage.getItem(CHOSEN));
  const [ended, setEnded] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  const enter = useCallback((opened: BrowserSession) => {
    const own = opened.user.project;
    actAs(opened.csrf, own ? null : localStorage.getItem(CHOSEN));
    setSession(opened);
    setEnded(false);
    setProblem(null);
    setState("in");
  }, []);

  useEffect(() => {
    let gone = false;
    const link = takeLink();
    const begin = async () => {
      if (link) {
        try {
          enter(await got(api.POST("/api/v1/session", { body: { link } })));
          return;
        } catch (error) {
          setProblem((error as Error).message);
        }
      }
      const found = await got(api.GET("/api/v1/session"));
      if (gone) return;
      if (found.session) enter(found.session);
      else setState("out");
    };
    begin().catch((error: Error) => {
      setProblem(error.message);
      setState("out");
    });
    return () => {
      gone = true;
    };
  }, [enter]);

  useEffect(() => {
    whenSignedOut(() => {
      setSession(null);
      setEnded(true);
      setState("out");
    });
  }, []);

  const value = useMemo<SessionValue>(
    () => ({
      state,
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
        setState("out");
      },
      choose: (name) => {
        localStorage.setItem(CHOSEN, name);
        actAs(session?.csrf ?? "", name);
        setChosen(name);
        queries.clear();
      },
    }),
    [state, session, chosen, ended, problem, enter, queries],
  );
  return <SessionContext value={value}>{children}</SessionContext>;
}

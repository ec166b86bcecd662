import { createBrowserRouter, Navigate } from "react-router";
import { Broken } from "./shell/Broken";
import { NothingHere } from "./shell/NothingHere";
import { Shell } from "./shell/Shell";

/** Each page is a file of its own, fetched when it is first opened. */
const PAGES = {
  jobs: () => import("./pages/jobs/JobsPage"),
  "jobs/:job": () => import("./pages/jobs/JobPage"),
  submit: () => import("./pages/submit/SubmitPage"),
  compare: () => import("./pages/compare/ComparePage"),
  data: () => import("./pages/data/DataPage"),
  sets: () => import("./pages/sets/SetsPage"),
  "sets/:name": () => import("./pages/sets/SetPage"),
  provenance: () => import("./pages/provenance/ProvenancePage"),
  provisioning: () => import("./pages/provisioning/TemplatesPage"),
  "provisioning/:template": () => import("./pages/provisioning/TemplatePage"),
  admin: () => import("./pages/admin/AdminPage"),
};

export const router = createBrowserRouter([
  {
    element: <Shell />,
    errorElement: <Broken />,
    hydrateFallbackElement: <></>,
    children: [
      { index: true, element: <Navigate to="/jobs" replace /> },
      ...Object.entries(PAGES).map(([path, lazy]) => ({ path, lazy })),
      { path: "*", element: <NothingHere /> },
    ],
  },
]);

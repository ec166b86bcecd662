import { createBrowserRouter, Navigate } from "react-router";
import { Component as JobsPage } from "./pages/jobs/JobsPage";
import { Broken } from "./shell/Broken";
import { NothingHere } from "./shell/NothingHere";
import { Shell } from "./shell/Shell";

/** Each page but the first is a file of its own, fetched when it is opened. */
const PAGES = {
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
      { path: "jobs", element: <JobsPage /> },
      ...Object.entries(PAGES).map(([path, lazy]) => ({ path, lazy })),
      { path: "*", element: <NothingHere /> },
    ],
  },
]);

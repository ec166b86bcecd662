import { createBrowserRouter, Navigate } from "react-router";
import { Broken } from "./shell/Broken";
import { NothingHere } from "./shell/NothingHere";
import { Shell } from "./shell/Shell";

/** Each page is a file of its own, fetched when it is first opened. */
export const router = createBrowserRouter([
  {
    element: <Shell />,
    errorElement: <Broken />,
    hydrateFallbackElement: <></>,
    children: [
      { index: true, element: <Navigate to="/jobs" replace /> },
      { path: "jobs", lazy: () => import("./pages/jobs/JobsPage") },
      { path: "jobs/:job", lazy: () => import("./pages/jobs/JobPage") },
      { path: "submit", lazy: () => import("./pages/submit/SubmitPage") },
      { path: "compare", lazy: () => import("./pages/compare/ComparePage") },
      { path: "data", lazy: () => import("./pages/data/DataPage") },
      { path: "sets", lazy: () => import("./pages/sets/SetsPage") },
      { path: "sets/:name", lazy: () => import("./pages/sets/SetPage") },
      { path: "provenance", lazy: () => import("./pages/provenance/ProvenancePage") },
      { path: "provisioning", lazy: () => import("./pages/provisioning/TemplatesPage") },
      { path: "provisioning/:template", lazy: () => import("./pages/provisioning/TemplatePage") },
      { path: "admin", lazy: () => import("./pages/admin/AdminPage") },
      { path: "*", element: <NothingHere /> },
    ],
  },
]);

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The server of `acai up` for `npm run dev`; the built files are served by it itself.
const api = process.env.ACAI_SERVER ?? "http://127.0.0.1:7650";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/acai/dashboard_files",
    emptyOutDir: true,
    // A content security policy without `data:` scripts, and one file less to doubt.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        // Few files: a browser fetches six at once from us, and a page of twenty waits for them.
        // What only some pages need stays apart, and so does all that is large and rarely used.
        codeSplitting: {
          groups: [
            {
              name: "library",
              test: /node_modules[\\/](?!uplot|@dagrejs|hyparquet|fzstd|@noble)/,
              minShareCount: 4,
              priority: 2,
            },
            { name: "shared", test: /src[\\/](?!parts[\\/]Chart)/, minShareCount: 2 },
          ],
        },
      },
    },
  },
  worker: { format: "es" },
  server: { proxy: { "/api": api, "/version": api } },
});

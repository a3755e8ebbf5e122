import { ConvexProvider, ConvexReactClient } from "convex/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import "./styles.css";

// `npx convex dev` writes the address of the deployment to .env.local. The embedded backend is the server of the page itself.
const client = new ConvexReactClient((import.meta.env["VITE_CONVEX_URL"] as string | undefined) ?? location.origin);

const root = document.getElementById("app");
if (!root) throw new Error("index.html has no element #app.");
createRoot(root).render(
  <StrictMode>
    <ConvexProvider client={client}>
      <App />
    </ConvexProvider>
  </StrictMode>,
);

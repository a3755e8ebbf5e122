import { ConvexProvider } from "convex/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { connect } from "./backend.js";
import { Page } from "./Page.js";
import "./styles.css";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no root.");
createRoot(root).render(
  <StrictMode>
    <ConvexProvider client={connect()}>
      <Page />
    </ConvexProvider>
  </StrictMode>,
);

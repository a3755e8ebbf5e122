import { ConvexProvider } from "convex/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { connect } from "./backend.js";
import { startSite } from "./site.js";
import { Stage } from "./stage/Stage.js";
import "./styles.css";

startSite();
const root = document.getElementById("stage");
if (!root) throw new Error("index.html has no stage.");
createRoot(root).render(
  <StrictMode>
    <ConvexProvider client={connect()}>
      <Stage />
    </ConvexProvider>
  </StrictMode>,
);

/** The documents in the browser: buttons, the search box, and marks of where the reader is. */
import { markOverflow, markSection } from "./reading.js";
import { startSearch } from "./searchBox.js";
import { startSite } from "./site.js";
import "./styles.css";

startSite();
startSearch();
markOverflow();
markSection();

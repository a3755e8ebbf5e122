/** Runs the tests of docs/testing.md, on the app of docs/start.md. */
import "docs:start,testing/convex/messages.test";
import "docs:start,testing/convex/reminders.test";

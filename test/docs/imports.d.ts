/** Blocks of the docs by name: pages.ts makes them, and test/tidy holds them to their types. */
declare module "docs:*";

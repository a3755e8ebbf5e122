#!/usr/bin/env bash
# Runs the hooks' tests with the oldest React that the package permits, in a copy of the project, since a project holds one React.
set -euo pipefail
cd "$(dirname "$0")/../.."
oldest=18.2.0

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/react"
(cd "$copy/react" && npm init -y >/dev/null && npm install --no-audit --no-fund --silent "react@$oldest" "react-dom@$oldest")
# Hard links are enough, if the file system can make them.
cp -al node_modules "$copy/node_modules" 2>/dev/null || { rm -rf "$copy/node_modules" && cp -a node_modules "$copy/node_modules"; }
rm -rf "$copy"/node_modules/{react,react-dom,scheduler}
cp -a "$copy"/react/node_modules/* "$copy/node_modules/"
cp -a src convex test docs package.json tsconfig.json vitest.config.ts "$copy/"

cd "$copy"
node -e 'if (require("react-dom").version !== process.argv[1]) process.exit(1)' "$oldest"
npx vitest run test/react

#!/usr/bin/env node
import { existsSync } from 'node:fs'

// An installed package has a bundle; the repository has `dist`, once it is built. This file is here before anything is built, so that
// installing the workspace can already link the command.
const main = ['../dist/main.js', '../bundle/main.mjs']
  .map((path) => new URL(path, import.meta.url))
  .find((file) => existsSync(file))
if (main) await import(main.href)
else {
  process.stderr.write('Askback is not built yet. Run `npm run build` first.\n')
  process.exitCode = 1
}

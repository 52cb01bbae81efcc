#!/usr/bin/env node
import { existsSync } from 'node:fs'

// This file is here before anything is built, so that installing the workspace can already link the command.
const main = new URL('../dist/main.js', import.meta.url)
if (existsSync(main)) await import(main.href)
else {
  process.stderr.write('Askback is not built yet. Run `npm run build` first.\n')
  process.exitCode = 1
}

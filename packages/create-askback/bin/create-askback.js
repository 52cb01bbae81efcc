#!/usr/bin/env node
// This file is here before anything is built, so that installing the workspace can already link the command.
const { main } = await import('../dist/main.js')
process.exitCode = await main(process.argv.slice(2))

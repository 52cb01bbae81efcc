#!/usr/bin/env node
// Stands here before anything is built, so that installing the workspace can already link the command.
try {
  await import('../dist/main.js')
} catch (error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND' || !String(error.url ?? '').endsWith('/cli/dist/main.js'))
    throw error
  process.stderr.write('Askback is not built yet. Run `npm run build` first.\n')
  process.exitCode = 1
}

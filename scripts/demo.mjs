const core = await import('@askback/core')
if (!('createDesk' in core)) {
  console.error('The demo needs @askback/core, which has no desk yet.')
  process.exit(1)
}

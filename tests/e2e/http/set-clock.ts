import type { RunningGateway } from './gateways.js'

/** The environment of a process whose wall clock is ahead by `aheadMs`, and which `jumpClock` moves by `jumpMs`. */
export function clockOf({ aheadMs = 0, jumpMs = 0 }: { aheadMs?: number; jumpMs?: number }): {
  NODE_OPTIONS: string
} {
  const script = `
    const now = Date.now
    let ahead = ${aheadMs}
    Date.now = () => now() + ahead
    process.on('SIGUSR2', () => (ahead += ${jumpMs}))`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` }
}

export function jumpClock({ ready }: RunningGateway): void {
  process.kill(ready.pid, 'SIGUSR2')
}

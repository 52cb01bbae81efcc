import { availableParallelism } from 'node:os'
import { defaultClientConditions, defaultServerConditions } from 'vite'
import { defineConfig } from 'vitest/config'

// Workspace packages resolve to their TypeScript source, so tests need no build.
const source = 'askback-source'

export default defineConfig({
  resolve: { conditions: [source, ...defaultClientConditions] },
  ssr: { resolve: { conditions: [source, ...defaultServerConditions] } },
  test: {
    projects: [
      // To load everything anew for each of their files took longer than to run them.
      {
        extends: true,
        test: { name: 'packages', include: ['packages/*/src/**/*.test.{ts,tsx}'], isolate: false },
      },
      { extends: true, test: { name: 'tests', include: ['tests/**/*.test.ts'] } },
    ],
    pool: 'threads',
    // On two cores one worker would be the default, though much of the time is spent waiting for other processes.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    retry: 0,
    // Real browsers, agents and processes share the machine with everything else.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
  },
})

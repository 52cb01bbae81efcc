import { playwright } from '@vitest/browser-playwright'
import { availableParallelism } from 'node:os'
import { defaultClientConditions, defaultServerConditions } from 'vite'
import { defineConfig } from 'vitest/config'

// Workspace packages resolve to their TypeScript source, so tests need no build.
const source = 'askback-source'

const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export default defineConfig({
  resolve: { conditions: [source, ...defaultClientConditions] },
  ssr: { resolve: { conditions: [source, ...defaultServerConditions] } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'packages',
          include: ['packages/*/src/**/*.test.{ts,tsx}'],
          exclude: ['**/*.browser.test.ts'],
          // Loading all modules again for each file took longer than running its tests.
          isolate: false,
          // Some start programs, and some a PostgreSQL, on a machine that may be busy with everything else.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
      {
        extends: true,
        // Found while the tests run, these would reload the page in the middle of one.
        optimizeDeps: { include: ['fast-check', 'idb', 're2js', 'zod'] },
        test: {
          name: 'browser',
          include: ['packages/*/src/**/*.browser.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 8000 } },
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({
              launchOptions: { executablePath: '/usr/bin/chromium', args: CHROMIUM_FLAGS },
            }),
            instances: [{ browser: 'chromium' }],
          },
        },
      },
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['tests/**/*.test.ts'],
          // Real browsers, agents and processes share the machine with everything else.
          testTimeout: 180_000,
          hookTimeout: 180_000,
          expect: { poll: { timeout: 45_000 } },
        },
      },
    ],
    pool: 'threads',
    // On two cores one worker would be the default, though much of the time is spent waiting for other processes.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    retry: 0,
  },
})

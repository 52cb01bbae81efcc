import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['askback-source'] },
  ssr: { resolve: { conditions: ['askback-source'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'tests/**/*.test.ts'],
    pool: 'threads',
  },
})

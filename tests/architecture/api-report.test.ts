import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { apiReports } from '../../scripts/api-report.mjs'
import { root } from '../../scripts/workspace.mjs'

// The declarations are those that `tsc -b` has made, which the gate runs before the tests.
it.each(apiReports())('$path is the public API', ({ path, report }) => {
  const file = join(root, path)
  const checkedIn = existsSync(file) ? readFileSync(file, 'utf8') : ''
  expect(report === checkedIn, `${path} is out of date: run npm run api-report and look at the diff`).toBe(
    true,
  )
})

import { expect, it } from 'vitest'
import { countByFolder, findProblems, raiseMinimums } from '../../scripts/test-report.mjs'

type Files = Parameters<typeof findProblems>[0]['files']
type Status = Files[number]['assertionResults'][number]['status']

const root = '/repository'

function testFile(path: string, ...statuses: Status[]): Files[number] {
  const assertionResults = statuses.map((status, index) => ({ fullName: `test ${index}`, status }))
  return {
    name: `${root}/${path}`,
    status: statuses.includes('failed') ? 'failed' : 'passed',
    assertionResults,
  }
}

function problemsOf(files: Files, minimums: Record<string, number> = {}, testFiles: string[] = []): string[] {
  return findProblems({ root, files, testFiles, minimums })
}

it('a run in which every test passed has no problems', () => {
  const files = [testFile('packages/core/src/a.test.ts', 'passed', 'passed')]
  expect(problemsOf(files, { 'packages/core': 2 }, ['packages/core/src/a.test.ts'])).toEqual([])
})

it.each(['skipped', 'pending', 'todo', 'disabled'] as const)('a test that is %s is a problem', (status) => {
  expect(problemsOf([testFile('packages/core/src/a.test.ts', 'passed', status)])).toEqual([
    `${status}: packages/core/src/a.test.ts: test 1`,
  ])
})

it('a test file without tests is a problem', () => {
  expect(problemsOf([testFile('packages/core/src/a.test.ts')])).toEqual([
    'no tests: packages/core/src/a.test.ts',
  ])
})

it('a test file on disk that did not run is a problem', () => {
  expect(problemsOf([], {}, ['packages/core/test/a.test.ts'])).toEqual([
    'did not run: packages/core/test/a.test.ts',
  ])
})

it('fewer passed tests than the minimum of a folder are a problem, also if the folder is missing', () => {
  const files = [testFile('tests/e2e/web/a.test.ts', 'passed', 'failed')]
  expect(problemsOf(files, { 'tests/e2e': 2, 'tests/agents': 1 })).toEqual([
    'tests/e2e: 1 tests passed, expected at least 2',
    'tests/agents: 0 tests passed, expected at least 1',
  ])
})

it('accepting a run raises minimums, lowers none and adds no folder', () => {
  const files = [
    testFile('tests/e2e/web/a.test.ts', 'passed', 'passed'),
    testFile('tests/agents/src/a.test.ts', 'passed'),
    testFile('packages/core/src/a.test.ts', 'passed'),
  ]
  const passed = countByFolder(root, files)
  expect(raiseMinimums({ 'tests/agents': 5, 'tests/e2e': 1 }, passed)).toEqual({
    'tests/agents': 5,
    'tests/e2e': 2,
  })
})

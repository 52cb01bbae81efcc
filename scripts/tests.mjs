import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { root, toolEnv } from './workspace.mjs'

const report = 'node_modules/.cache/askback/tests.json'
const expectedFile = join(root, 'tests/expected.json')

/**
 * The part of vitest's JSON report that is used.
 *
 * @typedef {{ fullName: string; status: 'passed' | 'failed' | 'skipped' | 'pending' | 'todo' | 'disabled' }} Test
 * @typedef {{ name: string; status: 'passed' | 'failed'; assertionResults: Test[] }} TestFile
 * @typedef {{ testResults: TestFile[] }} Report
 */

/** Runs all tests. A test that did not run is a problem, and so is a folder with fewer tests than the committed minimum. */
export function runTests() {
  rmSync(join(root, report), { force: true })
  const command = `vitest run --allowOnly=false --reporter=default --reporter=json --outputFile.json=${report}`
  const { status } = spawnSync(command, { cwd: root, env: toolEnv, shell: true, stdio: 'inherit' })

  const files = readReport().testResults
  const passed = countByFolder(files)
  const failed = files.reduce((sum, file) => sum + failures(file), 0)
  const problems = [...notRun(files), ...belowMinimum(passed)]
  if (status !== 0 && failed === 0) problems.push(`vitest ended with exit code ${status}`)
  return { passed, failed, problems }
}

/**
 * Raises the committed minimum to the number of passed tests. It is never lowered here; that needs a decision.
 *
 * @param {Record<string, number>} passed
 */
export function accept(passed) {
  const expected = readExpected()
  for (const [folder, count] of Object.entries(passed)) {
    expected[folder] = Math.max(expected[folder] ?? 0, count)
  }
  const sorted = Object.fromEntries(Object.entries(expected).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(expectedFile, `${JSON.stringify(sorted, null, 2)}\n`)
}

/** @returns {Report} */
function readReport() {
  try {
    return JSON.parse(readFileSync(join(root, report), 'utf8'))
  } catch {
    return { testResults: [] }
  }
}

/** @returns {Record<string, number>} */
function readExpected() {
  return JSON.parse(readFileSync(expectedFile, 'utf8'))
}

/**
 * @param {TestFile[]} files
 * @returns {Record<string, number>}
 */
function countByFolder(files) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const file of files) {
    const folder = relative(root, file.name).split(sep).slice(0, 2).join('/')
    const passed = file.assertionResults.filter((test) => test.status === 'passed').length
    counts[folder] = (counts[folder] ?? 0) + passed
  }
  return counts
}

/** A file that fails to load has no tests, and counts as one failure. @param {TestFile} file */
function failures(file) {
  const failed = file.assertionResults.filter((test) => test.status === 'failed').length
  return failed === 0 && file.status === 'failed' ? 1 : failed
}

/** @param {TestFile[]} files */
function notRun(files) {
  return files.flatMap((file) =>
    file.assertionResults
      .filter((test) => test.status !== 'passed' && test.status !== 'failed')
      .map((test) => `${test.status}: ${relative(root, file.name)}: ${test.fullName}`),
  )
}

/** @param {Record<string, number>} passed */
function belowMinimum(passed) {
  return Object.entries(readExpected())
    .filter(([folder, minimum]) => (passed[folder] ?? 0) < minimum)
    .map(
      ([folder, minimum]) => `${folder}: ${passed[folder] ?? 0} tests passed, expected at least ${minimum}`,
    )
}

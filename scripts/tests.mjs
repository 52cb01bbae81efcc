import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countByFolder, findProblems, raiseMinimums } from './test-report.mjs'
import { root, toolEnv } from './workspace.mjs'

/** @import { Report, TestFile } from './test-report.mjs' */

const report = 'node_modules/.cache/askback/tests.json'
const expectedFile = join(root, 'tests/expected.json')

/** Runs all tests. A test that did not run is a problem: see `test-report.mjs`. */
export function runTests() {
  rmSync(join(root, report), { force: true })
  const command = `vitest run --allowOnly=false --reporter=default --reporter=json --outputFile.json=${report}`
  const { status } = spawnSync(command, { cwd: root, env: toolEnv, shell: true, stdio: 'inherit' })

  const files = readReport().testResults
  const passed = countByFolder(root, files)
  const failed = files.reduce((sum, file) => sum + failures(file), 0)
  const testFiles = ['packages', 'apps', 'tests'].flatMap(testFilesIn)
  const problems = findProblems({ root, files, testFiles, minimums: readExpected() })
  if (status !== 0 && failed === 0) problems.push(`vitest ended with exit code ${status}`)
  return { passed, failed, problems }
}

/**
 * Raises the committed minimums to the number of passed tests.
 *
 * @param {Record<string, number>} passed
 */
export function accept(passed) {
  writeFileSync(expectedFile, `${JSON.stringify(raiseMinimums(readExpected(), passed), null, 2)}\n`)
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
 * @param {string} folder
 * @returns {string[]}
 */
function testFilesIn(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return ['node_modules', 'dist'].includes(entry.name) ? [] : testFilesIn(path)
    return /\.test\.tsx?$/u.test(entry.name) ? [path] : []
  })
}

/** A file that fails to load has no tests, and counts as one failure. @param {TestFile} file */
function failures(file) {
  const failed = file.assertionResults.filter((test) => test.status === 'failed').length
  return failed === 0 && file.status === 'failed' ? 1 : failed
}

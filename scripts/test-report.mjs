// Finds what a green test run hides: tests that were skipped, test files that did not run or have no tests, and, in folders
// whose tests depend on the environment, fewer tests than the committed minimum. A suite registers its tests while it is
// loaded, so a missing PostgreSQL, browser or agent can make tests disappear without a skip; only their number shows that.
// Elsewhere the code alone decides which tests exist, so those folders have no minimum.
import { relative, sep } from 'node:path'

/**
 * The part of vitest's JSON report that is used.
 *
 * @typedef {{ fullName: string; status: 'passed' | 'failed' | 'skipped' | 'pending' | 'todo' | 'disabled' }} Test
 * @typedef {{ name: string; status: 'passed' | 'failed'; assertionResults: Test[] }} TestFile
 * @typedef {{ testResults: TestFile[] }} Report
 */

/**
 * @typedef {object} TestRun
 * @property {string} root The absolute path of the repository.
 * @property {TestFile[]} files The files in the report, with absolute paths.
 * @property {string[]} testFiles The test files on disk, relative to `root`.
 * @property {Record<string, number>} minimums Tests that must pass, by folder.
 */

/**
 * @param {TestRun} run
 * @returns {string[]} One sentence per problem.
 */
export function findProblems({ root, files, testFiles, minimums }) {
  const reported = new Set(files.map((file) => relative(root, file.name)))
  const passed = countByFolder(root, files)
  return [
    ...files.flatMap((file) => skippedTests(root, file)),
    ...files.filter(isEmpty).map((file) => `no tests: ${relative(root, file.name)}`),
    ...testFiles.filter((path) => !reported.has(path)).map((path) => `did not run: ${path}`),
    ...Object.entries(minimums)
      .filter(([folder, minimum]) => (passed[folder] ?? 0) < minimum)
      .map(
        ([folder, minimum]) => `${folder}: ${passed[folder] ?? 0} tests passed, expected at least ${minimum}`,
      ),
  ]
}

/**
 * The number of passed tests by folder, such as `packages/core`.
 *
 * @param {string} root
 * @param {TestFile[]} files
 * @returns {Record<string, number>}
 */
export function countByFolder(root, files) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const file of files) {
    const folder = relative(root, file.name).split(sep).slice(0, 2).join('/')
    const passed = file.assertionResults.filter((test) => test.status === 'passed').length
    counts[folder] = (counts[folder] ?? 0) + passed
  }
  return counts
}

/**
 * The committed minimums, raised to the number of passed tests. A minimum is never lowered here, and no folder is added:
 * both are decisions.
 *
 * @param {Record<string, number>} minimums
 * @param {Record<string, number>} passed
 * @returns {Record<string, number>}
 */
export function raiseMinimums(minimums, passed) {
  return Object.fromEntries(
    Object.entries(minimums).map(([folder, minimum]) => [folder, Math.max(minimum, passed[folder] ?? 0)]),
  )
}

/**
 * @param {string} root
 * @param {TestFile} file
 */
function skippedTests(root, file) {
  return file.assertionResults
    .filter((test) => test.status !== 'passed' && test.status !== 'failed')
    .map((test) => `${test.status}: ${relative(root, file.name)}: ${test.fullName}`)
}

/** A file that fails to load has no tests either, but is counted as a failure. @param {TestFile} file */
function isEmpty(file) {
  return file.status === 'passed' && file.assertionResults.length === 0
}

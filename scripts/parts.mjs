// Prints every real part the tests run against, with its version; a missing one fails with one sentence.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from './workspace.mjs'

/**
 * `find` gives the part's version, or undefined where it is missing. A part with `apt` is installed from that Debian
 * package when it is missing and this runs as root; one with `npm` by `npm ci` in that folder.
 *
 * @typedef {{ name: string; find: () => string | undefined; apt?: string; npm?: string; help: string }} Part
 */

const AGENTS = 'tests/agents'
const SDK = '@anthropic-ai/claude-agent-sdk'
const CODEX = '@openai/codex'
const ACP_AGENT = '@zed-industries/claude-code-acp'

/** @type {Part[]} */
const parts = [
  { name: 'node', find: () => process.versions.node, help: 'install Node.js 20.19 or newer' },
  { name: 'npm', find: () => output('npm', ['--version']), help: 'install npm' },
  { name: 'sqlite', find: sqliteVersion, help: 'run `npm ci`' },
  { name: 'postgresql', find: postgresVersion, apt: 'postgresql', help: 'install PostgreSQL 14 or newer' },
  { name: 'pgbouncer', find: pgbouncerVersion, apt: 'pgbouncer', help: 'install PgBouncer' },
  { name: 'chromium', find: chromiumVersion, apt: 'chromium', help: 'install Chromium' },
  { name: 'claude', find: claudeVersion, npm: AGENTS, help: 'run `npm ci` in tests/agents' },
  { name: 'codex', find: codexVersion, npm: AGENTS, help: 'run `npm ci` in tests/agents' },
  { name: 'acp agent', find: acpAgentVersion, npm: AGENTS, help: 'run `npm ci` in tests/agents' },
]

for (const part of parts) {
  const version = part.find() ?? installed(part)
  if (version === undefined) {
    console.error(`${part.name} is missing: ${part.help}.`)
    process.exit(1)
  }
  console.log(`${part.name.padEnd(12)}${version}`)
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

/** Debian keeps its programs out of the path, by version. */
function postgresVersion() {
  const folder = '/usr/lib/postgresql'
  const versions = existsSync(folder)
    ? readdirSync(folder).sort((one, other) => Number(other) - Number(one))
    : []
  const programs = [...versions.map((version) => join(folder, version, 'bin/postgres')), 'postgres']
  for (const program of programs) {
    const version = output(program, ['--version'])
    if (version !== undefined) return version.replace(/^postgres \(PostgreSQL\) /, '')
  }
  return undefined
}

function pgbouncerVersion() {
  const told = output('/usr/sbin/pgbouncer', ['--version']) ?? output('pgbouncer', ['--version'])
  return told?.split('\n', 1)[0]?.replace(/^PgBouncer /, '')
}

function chromiumVersion() {
  return output('chromium', ['--version', '--no-sandbox'])
}

function claudeVersion() {
  const found = agentVersion(SDK)
  const programs = `${SDK}-${process.platform}-${process.arch}`
  const told = found && output(join(root, AGENTS, 'node_modules', programs, 'claude'), ['--version'])
  return told === undefined ? undefined : `SDK ${found}, ${told}`
}

function codexVersion() {
  const found = agentVersion(CODEX)
  return found && output(join(root, AGENTS, 'node_modules/.bin/codex'), ['--version'])
}

function acpAgentVersion() {
  const found = agentVersion(ACP_AGENT)
  return found && `${ACP_AGENT} ${found}`
}

/**
 * The lock that was installed must be the lock that is there, or the tests would run against another version.
 *
 * @param {string} name
 */
function agentVersion(name) {
  const folder = join(root, AGENTS)
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

/** @param {Part} part */
function installed(part) {
  if (part.npm !== undefined) {
    spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: join(root, part.npm), stdio: 'inherit' })
    return part.find()
  }
  if (part.apt === undefined || process.getuid?.() !== 0) return undefined
  const options = ['--quiet', '--yes', '--no-install-recommends']
  output('apt-get', ['update', '--quiet'])
  output('apt-get', ['install', ...options, part.apt])
  return part.find()
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function output(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

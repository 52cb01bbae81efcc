// How good are the tests? Plants one bug at a time into a copy of the work tree, runs the simulation and the tests of the
// packages, and prints which of them found it. It takes some minutes, so it is no part of `npm test`:
//   node tests/simulation/planted-bugs.mjs                 the tests of the packages where the simulation finds nothing
//   node tests/simulation/planted-bugs.mjs --all           both for each bug
//   node tests/simulation/planted-bugs.mjs --simulation    only the simulation
//   node tests/simulation/planted-bugs.mjs --tests         only the tests of the packages
//   node tests/simulation/planted-bugs.mjs --only A,B      some bugs; `--show` prints the output of the tests
// The work tree itself is never changed. Exit code 1 if fewer than 18 of 20 are found.
import { spawn } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * `from` stands exactly once in `file`. The first ten were chosen from the source alone, before any test of these parts
 * was read.
 *
 * @type {{ name: string, file: string, from: string, to: string, why: string }[]}
 */
const bugs = [
  {
    name: 'pull-trusts-position',
    file: 'packages/core/src/desk/committed.ts',
    from: 'return page[0]?.id === from.id ? page.slice(1) : null',
    to: 'return page[0] !== undefined ? page.slice(1) : null',
    why: 'A log that was made anew under the same id is read on as if it were the old one.',
  },
  {
    name: 'pull-joins-running-read',
    file: 'packages/core/src/desk/committed.ts',
    from: 'if (!this.#pulling) return this.#startPull()',
    to: 'return this.#pulling ?? this.#startPull()',
    why: 'A hint that comes during a read is answered by that read, which may have begun before the append.',
  },
  {
    name: 'hint-while-loading-lost',
    file: 'packages/core/src/desk/session-cache.ts',
    from: 'if (!wasKnown && committed.wasHinted) await this.refresh(sessionId)',
    to: '',
    why: 'A doorbell that rings while a session is being loaded is forgotten.',
  },
  {
    name: 'failed-pull-not-retried',
    file: 'packages/core/src/desk/session-cache.ts',
    from: '      this.#tryAgain(sessionId)\n      throw error',
    to: '      throw error',
    why: 'A read that fails after a doorbell is never tried again.',
  },
  {
    name: 'followers-not-told-gone',
    file: 'packages/core/src/desk/committed.ts',
    from: 'this.#tellFollowers((follower) => follower.gone())',
    to: '',
    why: 'Who follows an erased session is never told that its log is gone.',
  },
  {
    name: 'short-page-is-the-end',
    file: 'packages/core/src/desk/all-sessions.ts',
    from: 'for (const { events } of changes) this.#tell(events)\n    return true',
    to: 'for (const { events } of changes) this.#tell(events)\n    return changes.length === PAGE',
    why: 'A page of changes that is short for another reason than the end stops the stream over all sessions.',
  },
  {
    name: 'reaches-ignores-log',
    file: 'packages/core/src/desk/session-cache.ts',
    from: 'return head?.logId === logId && head.seq >= seq',
    to: 'return head !== undefined && head !== null && head.seq >= seq && logId !== undefined',
    why: 'The repair takes the head of an erased, longer log for that of the new one.',
  },
  {
    name: 'feed-head-moves-back',
    file: 'packages/gateway/src/streams/feed.ts',
    from: 'this.#head ??= head',
    to: 'this.#head = head',
    why: 'An event that came while the feed opened is forgotten: the head moves back.',
  },
  {
    name: 'fold-keeps-old-log',
    file: 'packages/client/src/stores/session-fold.ts',
    from: 'if (this.#state && this.#state.logId !== next.logId) this.#ahead.clear()',
    to: '',
    why: 'Events of an erased log that came early are folded into the log made anew.',
  },
  {
    name: 'lease-of-unseen-owner-taken',
    file: 'packages/core/src/cluster/leases.ts',
    from: '(await kv.get(MEMBERS + owner))) return { mine: false, owner }',
    to: 'this.#others.has(owner)) return { mine: false, owner }',
    why: 'A session is taken from a living process that this one has not seen yet.',
  },
  {
    name: 'unknown-append-given-up',
    file: 'packages/core/src/desk/speculative.ts',
    from: 'this.committed.doubt(sent)',
    to: 'this.committed.abandon(sent)',
    why: 'An append of unknown outcome is taken for not written: whoever waited for it is not woken.',
  },
  {
    name: 'page-of-another-log',
    file: 'packages/gateway/src/streams/pages.ts',
    from: 'if (first?.id !== logId) return null',
    to: '',
    why: 'A page that was read after an erasure comes from the log made anew.',
  },
  {
    name: 'reconnect-without-log',
    file: 'packages/client/src/transport/http-transport.ts',
    from: 'query: { log: place.logId }',
    to: 'query: {}',
    why: 'A client that reconnects names its place by a number alone, which another log has, too.',
  },
  {
    name: 'waiters-of-erased-session-left',
    file: 'packages/core/src/desk/session-cache.ts',
    from: 'this.#ports.gone(sessionId)\n    void this.#recheck(sessionId)',
    to: 'this.#ports.gone(sessionId)',
    why: 'Who waits in a session that another process deletes waits for ever.',
  },
  {
    name: 'settlement-elsewhere-not-seen',
    file: 'packages/core/src/desk/session-cache.ts',
    from: 'if (foreign.some(settles)) void this.#recheck(sessionId)',
    to: '',
    why: 'A settlement that another process has written wakes nobody here.',
  },
  {
    name: 'repair-forgets-deadlines',
    file: 'packages/core/src/desk/housekeeping.ts',
    from: 'await this.#keepDeadlines()\n    await this.#finishErasures()\n  }\n\n  async #news',
    to: 'await this.#finishErasures()\n  }\n\n  async #news',
    why: 'What a process opened that is gone at its deadline never times out.',
  },
  {
    name: 'snapshot-of-what-is-not-durable',
    file: 'packages/core/src/desk/speculative.ts',
    from: 'if (head?.seq !== seq) return',
    to: 'if (!head) return',
    why: 'A snapshot is saved with the id of an earlier event than its last one.',
  },
  {
    name: 'claim-without-fence',
    file: 'packages/core/src/desk/engine.ts',
    from: 'const fence = own ?? claims.find((waiter) => waiter.fence)?.fence',
    to: 'const fence = own',
    why: 'A process whose session was taken over claims an approval for its own agent.',
  },
  {
    name: 'answer-wakes-no-lost-agent',
    file: 'packages/core/src/agents/interrupted-sessions.ts',
    from: "event.type === 'interaction_response'",
    to: "event.type === 'interaction_progress'",
    why: 'An answer does not start an agent again that was lost while it waited.',
  },
  {
    name: 'mail-of-the-dead-dropped',
    file: 'packages/core/src/cluster/leases.ts',
    from: '(await kv.put(key, null, version))) letters.push(value)',
    to: '(await kv.put(key, null, version))) letters.length = 0',
    why: 'A message that was on its way to a process that died is lost.',
  },
]

/**
 * @typedef {{ status: string, title: string, failureMessages: string[] }} Result
 *
 * @typedef {{ testResults: { name: string, assertionResults: Result[] }[] }} Report
 */

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')
const args = process.argv.slice(2)
const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : undefined
const suites = [
  { name: 'simulation', paths: ['tests/simulation'] },
  {
    name: 'tests',
    paths: ['packages/core/src', 'packages/client/src', 'packages/gateway/src/streams'],
  },
].filter(({ name }) => !args.includes(name === 'simulation' ? '--tests' : '--simulation'))

const copy = mkdtempSync(join(tmpdir(), 'askback-planted-'))
/** @type {import('node:child_process').ChildProcess | null} */
let running = null
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    running?.kill('SIGKILL')
    process.exit(130)
  })
}

makeCopy()
const rows = []
for (const bug of bugs.filter(({ name }) => only === undefined || only.split(',').includes(name))) {
  const restore = plant(bug)
  const found = []
  for (const suite of suites) {
    if (found.length === 0 || args.includes('--all')) found.push(...(await findings(suite)))
  }
  restore()
  rows.push({ name: bug.name, found })
  process.stdout.write(`${bug.name} → ${found.length > 0 ? found.join('; ') : 'NOT FOUND'}\n`)
}
const hits = rows.filter(({ found }) => found.length > 0).length
process.stdout.write(`\n${hits} of ${rows.length} found\n`)
process.exit(hits >= Math.ceil(rows.length * 0.9) ? 0 : 1)

/** The packages and the simulation, with the installed modules of the work tree and its own links between the packages. */
function makeCopy() {
  const isSource = (/** @type {string} */ path) => !/\/(node_modules|dist|\.cache)$/.test(path)
  for (const part of ['packages', 'tests/simulation'])
    cpSync(join(root, part), join(copy, part), {
      recursive: true,
      force: true,
      filter: isSource,
      errorOnExist: false,
    })
  for (const file of readdirSync(root)) {
    if (/^(package|tsconfig|vitest)\b.*\.(json|ts)$/.test(file)) cpSync(join(root, file), join(copy, file))
  }
  mkdirSync(join(copy, 'node_modules/@askback'), { recursive: true })
  const modules = join(root, 'node_modules')
  for (const name of readdirSync(modules)) {
    if (name !== '@askback' && name !== '.cache')
      symlinkSync(join(modules, name), join(copy, 'node_modules', name))
  }
  for (const name of readdirSync(join(copy, 'packages')))
    symlinkSync(join(copy, 'packages', name), join(copy, 'node_modules/@askback', name))
}

/** @param {typeof bugs[number]} bug */
function plant({ name, file, from, to }) {
  const path = join(copy, file)
  const before = readFileSync(path, 'utf8')
  const places = before.split(from).length - 1
  if (places !== 1) throw new Error(`${name}: ${file} holds the text ${places} times, not once.`)
  writeFileSync(
    path,
    before.replace(from, () => to),
  )
  return () => writeFileSync(path, before)
}

/**
 * The tests that fail, at most three of them by name.
 *
 * @param {typeof suites[number]} suite
 */
async function findings({ name, paths }) {
  const output = await run([
    'vitest',
    'run',
    '--reporter=json',
    ...(name === 'simulation' ? ['--bail=1'] : []),
    ...paths,
  ])
  if (args.includes('--show')) process.stdout.write(output)
  const start = output.indexOf('{"num')
  const report = /** @type {Report} */ (JSON.parse(output.slice(start, output.lastIndexOf('}') + 1)))
  const failed = report.testResults.flatMap((file) =>
    file.assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ title, failureMessages }) => {
        const [message = ''] = failureMessages
        const seed = /seed (\d+)/.exec(message)?.[1]
        const rule = /Violation: (.*)/.exec(message)?.[1]
        return seed === undefined
          ? `${file.name.slice(copy.length + 1)}: ${title}`
          : `simulation, seed ${seed}: ${rule ?? message.split('\n').at(-1)}`
      }),
  )
  return failed.length > 3 ? [...failed.slice(0, 3), `and ${failed.length - 3} more`] : failed
}

/**
 * @param {string[]} command
 * @returns {Promise<string>}
 */
function run(command) {
  return new Promise((resolvePromise) => {
    let output = ''
    running = spawn('npx', command, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] })
    running.stdout?.on('data', (/** @type {Buffer} */ data) => (output += data.toString()))
    running.stderr?.on(
      'data',
      (/** @type {Buffer} */ data) => args.includes('--show') && process.stderr.write(data),
    )
    running.on('close', () => resolvePromise(output))
  })
}

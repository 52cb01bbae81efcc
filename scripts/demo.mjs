// A small agent asks, you answer here. Stop it at any time, even with kill -9: what it asked is still there next time.
import { createDesk } from '@askback/core'
import { approvalRequest, formRequest, planReviewRequest, questionRequest } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { stdin, stdout } from 'node:process'
import { createInterface } from 'node:readline'

/**
 * @typedef {import('@askback/protocol').Interaction} Interaction
 * @typedef {import('@askback/protocol').Json} Json
 */

const approve = { decision: 'approve' }
/** @type {Record<string, Record<string, Json>>} */
const decisions = {
  approval: { y: approve, s: { ...approve, scope: 'session' }, n: { decision: 'deny' } },
  plan_review: { 1: { decision: 'clean_edit' }, 2: { decision: 'edit' }, 3: { decision: 'default' } },
}
const data = process.env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share')
const folder = process.argv[2] ?? join(data, 'askback-demo')
mkdirSync(folder, { recursive: true, mode: 0o700 })
const store = sqliteStore({ path: join(folder, 'demo.db') })
const desk = createDesk({ store, timeouts: { defaultMs: null } })
const session = desk.session('demo', { agent: 'demo', cwd: process.cwd(), permissionMode: 'plan' })
const lines = createInterface({ input: stdin })[Symbol.asyncIterator]()

say(`Everything is kept in ${folder}. Stop me at any time, and start me again.`)
const finished = await Promise.race([runAgent(), answerAll()])
if (finished) await desk.deleteSession('demo')
say(finished ? '\nThat was all.' : '\nWhat is open waits for you: start me again.')
desk.close()
await store.close()
process.exit()

/** It owns its tool calls, so that a second start takes up what the first has asked. */
async function runAgent() {
  const own = (/** @type {string} */ toolCallId) => ({ toolCallId, attach: true })
  const options = [{ label: 'Postgres' }, { label: 'SQLite' }]
  const questions = [
    { header: 'Database', question: 'Which database?', options },
    { header: 'Region', question: 'In which region?', options: [] },
  ]
  const asked = await session.ask({ ...own('setup'), questions })
  tell(asked.settlement, asked.settlement === 'answered' ? asked.answer : '')
  const input = { command: 'npm run migrate' }
  const run = await session.approve({ ...own('migrate'), toolName: 'Bash', input })
  if (run.settlement !== 'approved') tell(run.settlement, 'message' in run ? run.message : '')
  else tell('approved', run.inDoubt ? 'before I was stopped: it may have run, so not again' : run.input)
  for (let version = 1, wish = ''; ; version++) {
    const plan = `1. Build. 2. Test. 3. Deploy.${wish && ` And: ${wish}`}`
    const review = await session.reviewPlan({ ...own(`plan-${version}`), plan })
    tell(review.settlement, review.settlement === 'approved' ? review.answer : '')
    if (review.settlement !== 'denied') break
    wish = review.message ?? ''
  }
  const fields = /** @type {const} */ ([
    { name: 'port', type: 'number', required: true, min: 1, max: 65535 },
    { name: 'host', type: 'text' },
  ])
  const form = await session.form({ ...own('address'), message: 'Where?', schema: { fields: [...fields] } })
  tell(form.settlement, form.settlement === 'answered' ? form.answer : '')
  return true
}

/** Shows what is pending, oldest first, and answers it line by line until the input ends. */
async function answerAll() {
  for (;;) {
    const [item] = await session.pending()
    if (!item) await new Promise((resolve) => setTimeout(resolve, 20))
    else if (!(await answered(item))) return false
  }
}

/** @param {Interaction} item */
async function answered(item) {
  const { interactionId, digest, kind } = item
  const who = /** @type {const} */ ({ sessionId: 'demo', by: { id: 'you' }, via: 'terminal' })
  say(`\n${kind}, asked at ${new Date(item.requestedAt).toLocaleTimeString()}\n${shown(item)}`)
  try {
    if (kind === 'form') {
      const answer = await filledIn(item)
      if (answer) await desk.respond({ ...who, interactionId, digest, answer })
      return answer !== null
    }
    const text = await read('> ')
    const answer = text === null ? undefined : decisions[kind]?.[text]
    if (answer !== undefined) await desk.respond({ ...who, interactionId, digest, answer })
    else if (text) await desk.message({ ...who, interactionId, text, route: 'interaction' })
    return text !== null
  } catch (error) {
    say(`! ${error instanceof Error ? error.message : String(error)}`)
    return true
  }
}

/** @param {Interaction} item */
async function filledIn(item) {
  /** @type {Record<string, Json>} */
  const values = {}
  for (const { name, type } of formRequest.parse(item.request).schema.fields ?? []) {
    const text = await read(`${name}: `)
    if (text === null) return null
    if (text !== '') values[name] = type === 'number' ? Number(text) : text
  }
  return { values }
}

/** @param {Interaction} item */
function shown({ kind, request, progress, errors = {}, toolName }) {
  if (kind === 'approval') {
    const { input } = approvalRequest.parse(request)
    return `${toolName} ${JSON.stringify(input)}\ny: approve, s: for this session, n: deny, or say why not`
  }
  if (kind === 'plan_review') {
    const { plan } = planReviewRequest.parse(request)
    return `${plan}\n1: fresh context and edits, 2: edits, 3: fresh context, or say what should change`
  }
  if (kind === 'form') {
    const wrong = Object.entries(errors).map(([name, why]) => `\n! ${name}: ${why}`)
    return `${formRequest.parse(request).message}${wrong.join('')}`
  }
  const { questions } = questionRequest.parse(request)
  const { question, options } = questions[Array.isArray(progress) ? progress.length : 0] ?? { options: [] }
  const labels = options.map(({ label }, index) => `${index + 1}: ${label}\n`)
  return `${question}\n${labels.join('')}or a text of your own`
}

/** @param {string} prompt */
async function read(prompt) {
  stdout.write(prompt)
  const { value, done } = await lines.next()
  if (!stdin.isTTY) say(done ? '' : value)
  return done ? null : value.trim()
}

/** @param {string} settlement @param {unknown} what */
function tell(settlement, what) {
  say(`  agent: ${settlement} ${typeof what === 'string' ? what : JSON.stringify(what)}`)
}

/** @param {string} text */
function say(text) {
  stdout.write(`${text}\n`)
}

import { database, deploy, layout, migrate, release, rewrite } from './requests.mjs'

/** @import { Page } from 'playwright-core' */
/** @import { Gateway } from './gateway.mjs' */

/**
 * @typedef {object} ScreenshotState
 * @property {(gateway: Gateway) => Promise<string>} [prepare] Prepares the data, and resolves to the hash of the page.
 * @property {(page: Page) => Promise<unknown>} [show] What a person does on the page before the screenshot.
 * @property {boolean} [isSignedOut]
 */

/** The session of the demo agent. */
let tour = ''
const openTour = async () => `#/s/${tour}`

/** @type {(answer: unknown) => (gateway: Gateway) => Promise<string>} */
const answerTour = (answer) => async (gateway) => {
  await gateway.answer(await gateway.pending(tour), answer)
  await gateway.pending(tour)
  return openTour()
}

/** @type {(body: object) => (gateway: Gateway) => Promise<string>} */
const ask = (body) => async (gateway) => {
  const sessionId = await gateway.session(null, { title: 'The shop', cwd: '/home/ada/shop' })
  await gateway.ask(sessionId, body)
  return `#/s/${sessionId}`
}

/** @type {(gateway: Gateway) => Promise<string>} */
async function askAndSettle(gateway) {
  const sessionId = await gateway.session(null, { title: 'How things end' })
  await gateway.answer(await gateway.ask(sessionId, database), {
    answers: [{ selected: ['SQLite'], note: 'for now' }],
  })
  await gateway.answer(await gateway.ask(sessionId, deploy), {
    decision: 'deny',
    message: 'Not on a Friday.',
  })
  await gateway.ask(sessionId, { ...database, timeoutMs: 1 })
  await gateway.cancel(await gateway.ask(sessionId, database))
  await gateway.answer(await gateway.ask(sessionId, rewrite), {
    decision: 'adjust',
    feedback: 'Smaller steps.',
  })
  return `#/s/${sessionId}`
}

/** @type {(gateway: Gateway) => Promise<string>} */
async function createLongSession(gateway) {
  const sessionId = await gateway.session(null, { title: 'A long one' })
  for (let turn = 0; turn < 40; turn++) await gateway.reportCalls(sessionId, turn)
  await gateway.ask(sessionId, database)
  return `#/s/${sessionId}`
}

/** @type {(name: string | RegExp) => (page: Page) => Promise<void>} */
const press = (name) => async (page) => {
  const button = page.getByRole('button', { name, exact: typeof name === 'string' }).first()
  if (await button.isVisible().catch(() => false)) await button.click()
}
/** @type {(page: Page) => Promise<void>} */
const waitForCard = (page) => page.locator('.ab-card').last().waitFor()
/** @type {(...steps: ((page: Page) => Promise<unknown>)[]) => (page: Page) => Promise<void>} */
const inOrder =
  (...steps) =>
  async (page) => {
    for (const step of steps) await step(page)
  }
/** @type {(page: Page) => Promise<void>} */
const pickSqlite = (page) =>
  page
    .getByRole('radio', { name: /SQLite/ })
    .last()
    .click()
/** @type {(page: Page) => Promise<void>} */
const goOffline = async (page) => {
  await page.context().setOffline(true)
  await page
    .getByText(/can’t be reached/)
    .first()
    .waitFor()
}
/** @type {(page: Page) => Promise<void>} */
const failToSubmit = async (page) => {
  await page.routeWebSocket(/\/api\/ws/, (socket) => {
    const server = socket.connectToServer()
    socket.onMessage((message) => {
      const { op, ref } = JSON.parse(String(message))
      const error = {
        code: 'internal',
        message: 'The disk of the gateway is full. Free some space, then try again.',
      }
      if (op === 'respond') socket.send(JSON.stringify({ ref, ok: false, error }))
      else server.send(message)
    })
  })
  await page.reload()
  await pickSqlite(page)
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('button', { name: 'Try again' }).waitFor()
}
/** @type {(page: Page) => Promise<void>} */
const changeToCustomKind = async (page) => {
  await page.route(/\/api\/sessions\/[^/]+$/, async (route) => {
    const response = await route.fetch()
    await route.fulfill({
      response,
      body: (await response.text()).replaceAll('"kind":"question"', '"kind":"poll"'),
    })
  })
  await page.reload()
  await waitForCard(page)
}

/** @type {Record<string, ScreenshotState>} */
export const states = {
  welcome: {},
  'signed-out': { isSignedOut: true },
  question: {
    prepare: async (gateway) => {
      tour = await gateway.session('demo', { title: 'The tour', text: 'Show me around.' })
      await gateway.pending(tour)
      return openTour()
    },
    show: waitForCard,
  },
  'question-other': {
    prepare: openTour,
    show: async (page) => {
      await page.getByRole('radio', { name: /Other/ }).click()
      await page.locator('.ab-option textarea').fill('DuckDB, next to the app')
      await press('Add a note')(page)
    },
  },
  questions: { prepare: answerTour({ answers: [{ selected: ['PostgreSQL'] }] }), show: waitForCard },
  approval: {
    prepare: answerTour({ answers: [{ selected: ['Search, by name'] }, { selected: ['End to end'] }] }),
    show: waitForCard,
  },
  'approval-rule': {
    prepare: openTour,
    show: inOrder(waitForCard, (page) => page.getByText('This session').click()),
  },
  'approval-reason': { prepare: openTour, show: inOrder(waitForCard, press('Deny with a reason…')) },
  'approval-editor': { prepare: openTour, show: inOrder(waitForCard, press('Edit…')) },
  edit: { prepare: answerTour({ decision: 'approve' }), show: waitForCard },
  'edit-split': { prepare: openTour, show: inOrder(waitForCard, press('Side by side')) },
  plan: { prepare: answerTour({ decision: 'approve' }), show: waitForCard },
  'plan-adjust': { prepare: openTour, show: inOrder(waitForCard, press('Adjust…')) },
  'plan-rich': { prepare: ask(rewrite), show: waitForCard },
  'question-preview': { prepare: ask(layout), show: waitForCard },
  'approval-long': { prepare: ask(deploy), show: waitForCard },
  'approval-suggestions': {
    prepare: ask(deploy),
    show: inOrder(waitForCard, press(/Show all/), (page) => page.getByText('Rules that the agent').click()),
  },
  'approval-preview': { prepare: ask(migrate), show: waitForCard },
  'approval-always': {
    prepare: ask(migrate),
    show: inOrder(waitForCard, (page) => page.getByText('Always', { exact: true }).click()),
  },
  form: { prepare: ask(release), show: waitForCard },
  'form-errors': {
    prepare: ask(release),
    show: inOrder(waitForCard, (page) => page.waitForTimeout(400), press('Submit')),
  },
  countdown: { prepare: ask({ ...database, timeoutMs: 100_000 }), show: waitForCard },
  ends: { prepare: askAndSettle, show: waitForCard },
  inbox: { prepare: async () => '#/inbox', show: waitForCard },
  refused: { prepare: ask(database), show: failToSubmit },
  offline: { prepare: ask(database), show: inOrder(waitForCard, goOffline) },
  queued: { prepare: ask(database), show: inOrder(waitForCard, goOffline, pickSqlite, press('Submit')) },
  unknown: { prepare: ask(database), show: changeToCustomKind },
  long: { prepare: createLongSession, show: waitForCard },
  'long-past': {
    prepare: createLongSession,
    show: inOrder(waitForCard, (page) =>
      page.locator('.ab-scroller').evaluate((element) => element.scrollBy(0, -2000)),
    ),
  },
  new: { prepare: async () => '#/new' },
  settings: { prepare: async () => '#/inbox', show: inOrder(press(/^Menu/), press('Settings')) },
  keys: { prepare: async () => '#/inbox', show: inOrder(press(/^Menu/), press('Keyboard shortcuts')) },
  mode: { prepare: openTour, show: inOrder(waitForCard, press(/^Permission mode/)) },
  menu: { prepare: openTour, show: inOrder(waitForCard, press(/^Menu/)) },
  'tour-end': {
    prepare: async (gateway) => {
      await gateway.answer(await gateway.pending(tour), { decision: 'edit' })
      return openTour()
    },
    show: (page) => page.getByText('That was the tour.').waitFor(),
  },
  'not-found': { prepare: async () => '#/s/nothing-there' },
}

import { database, deploy, layout, migrate, release, rewrite } from './requests.mjs'

/** @import { Page } from 'playwright-core' */
/** @import { Gateway } from './gateway.mjs' */

/**
 * @typedef {object} State
 * @property {(gateway: Gateway) => Promise<string>} [prepare] Makes what is shown, and says where.
 * @property {(page: Page) => Promise<unknown>} [show] What somebody does there.
 * @property {boolean} [isSignedOut]
 */

let tour = ''
const onTour = async () => `#/s/${tour}`

/** @type {(answer: unknown) => (gateway: Gateway) => Promise<string>} */
const goesOn = (answer) => async (gateway) => {
  await gateway.answer(await gateway.waiting(tour), answer)
  await gateway.waiting(tour)
  return onTour()
}

/** @type {(body: object) => (gateway: Gateway) => Promise<string>} */
const asks = (body) => async (gateway) => {
  const sessionId = await gateway.session(null, { title: 'The shop', cwd: '/home/ada/shop' })
  await gateway.ask(sessionId, body)
  return `#/s/${sessionId}`
}

/** @type {(gateway: Gateway) => Promise<string>} */
async function asksAndEnds(gateway) {
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
async function hasALongSession(gateway) {
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
const card = (page) => page.locator('.ab-card').last().waitFor()
/** @type {(...steps: ((page: Page) => Promise<unknown>)[]) => (page: Page) => Promise<void>} */
const all =
  (...steps) =>
  async (page) => {
    for (const step of steps) await step(page)
  }
/** @type {(page: Page) => Promise<void>} */
const picksSqlite = (page) =>
  page
    .getByRole('radio', { name: /SQLite/ })
    .last()
    .click()
/** @type {(page: Page) => Promise<void>} */
const goesOffline = async (page) => {
  await page.context().setOffline(true)
  await page
    .getByText(/can’t be reached/)
    .first()
    .waitFor()
}
/** @type {(page: Page) => Promise<void>} */
const isRefused = async (page) => {
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
  await picksSqlite(page)
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('button', { name: 'Try again' }).waitFor()
}
/** @type {(page: Page) => Promise<void>} */
const isOfAnotherKind = async (page) => {
  await page.route(/\/api\/sessions\/[^/]+$/, async (route) => {
    const response = await route.fetch()
    await route.fulfill({
      response,
      body: (await response.text()).replaceAll('"kind":"question"', '"kind":"poll"'),
    })
  })
  await page.reload()
  await card(page)
}

/** @type {Record<string, State>} */
export const states = {
  welcome: {},
  'signed-out': { isSignedOut: true },
  question: {
    prepare: async (gateway) => {
      tour = await gateway.session('demo', { title: 'The tour', text: 'Show me around.' })
      await gateway.waiting(tour)
      return onTour()
    },
    show: card,
  },
  'question-other': {
    prepare: onTour,
    show: async (page) => {
      await page.getByRole('radio', { name: /Other/ }).click()
      await page.locator('.ab-option textarea').fill('DuckDB, next to the app')
      await press('Add a note')(page)
    },
  },
  questions: { prepare: goesOn({ answers: [{ selected: ['PostgreSQL'] }] }), show: card },
  approval: {
    prepare: goesOn({ answers: [{ selected: ['Search, by name'] }, { selected: ['End to end'] }] }),
    show: card,
  },
  'approval-rule': { prepare: onTour, show: all(card, (page) => page.getByText('This session').click()) },
  'approval-reason': { prepare: onTour, show: all(card, press('Deny with a reason…')) },
  'approval-editor': { prepare: onTour, show: all(card, press('Edit…')) },
  edit: { prepare: goesOn({ decision: 'approve' }), show: card },
  'edit-split': { prepare: onTour, show: all(card, press('Side by side')) },
  plan: { prepare: goesOn({ decision: 'approve' }), show: card },
  'plan-adjust': { prepare: onTour, show: all(card, press('Adjust…')) },
  'plan-rich': { prepare: asks(rewrite), show: card },
  'question-preview': { prepare: asks(layout), show: card },
  'approval-long': { prepare: asks(deploy), show: card },
  'approval-suggestions': {
    prepare: asks(deploy),
    show: all(card, press(/Show all/), (page) => page.getByText('Rules that the agent').click()),
  },
  'approval-preview': { prepare: asks(migrate), show: card },
  'approval-always': {
    prepare: asks(migrate),
    show: all(card, (page) => page.getByText('Always', { exact: true }).click()),
  },
  form: { prepare: asks(release), show: card },
  'form-errors': {
    prepare: asks(release),
    show: all(card, (page) => page.waitForTimeout(400), press('Submit')),
  },
  countdown: { prepare: asks({ ...database, timeoutMs: 100_000 }), show: card },
  ends: { prepare: asksAndEnds, show: card },
  inbox: { prepare: async () => '#/inbox', show: card },
  refused: { prepare: asks(database), show: isRefused },
  offline: { prepare: asks(database), show: all(card, goesOffline) },
  kept: { prepare: asks(database), show: all(card, goesOffline, picksSqlite, press('Submit')) },
  unknown: { prepare: asks(database), show: isOfAnotherKind },
  long: { prepare: hasALongSession, show: card },
  'long-past': {
    prepare: hasALongSession,
    show: all(card, (page) => page.locator('.ab-scroller').evaluate((element) => element.scrollBy(0, -2000))),
  },
  new: { prepare: async () => '#/new' },
  settings: { prepare: async () => '#/inbox', show: all(press(/^Menu/), press('Settings')) },
  keys: { prepare: async () => '#/inbox', show: all(press(/^Menu/), press('Keyboard shortcuts')) },
  mode: { prepare: onTour, show: all(card, press(/^Permission mode/)) },
  menu: { prepare: onTour, show: all(card, press(/^Menu/)) },
  'tour-end': {
    prepare: async (gateway) => {
      await gateway.answer(await gateway.waiting(tour), { decision: 'edit' })
      return onTour()
    },
    show: (page) => page.getByText('That was the tour.').waitFor(),
  },
  'not-found': { prepare: async () => '#/s/nothing-there' },
}

import { createDesk, createHost, memoryStore, type Desk, type Host, type OpenInput } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import type { Actor, Interaction, Json } from '@askback/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import type { Connector } from '../runner/connector.js'
import { connectorDesk } from '../runner/connector-desk.js'
import { runConnector, type RunningConnector } from '../runner/runner.js'

/** A card that can still be answered, as a person sees it. */
export interface VisibleCard {
  text: string
  controls: string[]
}

/** One surface with one place, and what people can see and do there. */
export interface ConnectorUnderTest {
  /** A new connector on the same surface, as after a restart. */
  make(): Connector
  place: string
  /** The actor that the log names for this person. */
  actor(name: 'ada' | 'bob'): Actor
  /** The cards that can still be answered, and all text that a person can read. */
  screen(): Promise<{ cards: VisibleCard[]; everything: string }>
  /** Uses the newest control whose label begins like this. */
  tap(label: string, by: 'ada' | 'bob'): Promise<void>
  type(text: string, by: 'ada' | 'bob'): Promise<void>
  /** Makes the surface unreachable, or reachable again. */
  setDown?(down: boolean): void
  end(): Promise<void>
}

const web = { by: { id: 'carol', name: 'Carol' }, via: 'web' } as const
const database = {
  header: 'Database',
  question: 'Which database?',
  options: [{ label: 'Postgres' }, { label: 'SQLite', description: 'One file' }],
}
const extras = {
  header: 'Extras',
  question: 'What else?',
  options: [{ label: 'Cache' }, { label: 'Queue, durable' }, { label: 'Search' }],
  multiSelect: true,
}

/**
 * The behaviour that every connector must have, as a suite for vitest. `isTransient` is for a surface with a single person
 * that ends with its process, such as a terminal: it skips the tests with a restart, an outage and a second person.
 *
 * @example
 * connectorContract('my chat', async () => myChatUnderTest())
 */
export function connectorContract(
  name: string,
  create: () => Promise<ConnectorUnderTest>,
  { isTransient = false } = {},
): void {
  describe(`${name} as a connector`, () => {
    let end: () => Promise<void> = async () => undefined
    afterEach(() => end())

    async function begin() {
      const surface = await create()
      const setup = await runOn(surface)
      end = () => setup.end()
      return setup
    }

    it('shows a question, takes a choice, and says that it is answered', async () => {
      const { ask, expectSeen, surface, settled } = await begin()
      const item = await ask('question', { questions: [database] })
      await expectSeen((cards) => cards[0]?.text.includes('Which database?'))
      const { cards } = await surface.screen()
      expect(cards[0]!.text).toContain('One file')
      expect(cards[0]!.controls.join()).toMatch(/Postgres.*SQLite.*Other/)
      await surface.tap('SQLite', 'ada')
      expect(await settled(item)).toMatchObject({
        settlement: 'answered',
        answer: { answers: [{ selected: ['SQLite'] }] },
        by: surface.actor('ada'),
      })
      await expectSeen((open) => open.length === 0)
      await expectSeen((_, everything) => everything.includes('Answered by'))
    })

    it('asks questions one after the other, and writes each reply to the log', async () => {
      const { ask, expectSeen, surface, settled, desk } = await begin()
      const item = await ask('question', { questions: [database, extras] })
      await expectSeen((cards) => cards[0]?.text.includes('1 of 2'))
      expect((await surface.screen()).everything).not.toContain('What else?')
      await surface.tap('Postgres', 'ada')
      await expectSeen((cards) => cards[0]?.text.includes('What else?'))
      if (!isTransient) {
        expect((await desk.interaction('s', item.interactionId)).progress).toEqual([
          { selected: ['Postgres'] },
        ])
      }
      await surface.tap('Cache', 'ada')
      await expectSeen((cards) => cards[0]?.controls.some((label) => label === 'Done (1)'))
      await surface.tap('Queue, durable', 'ada')
      await expectSeen((cards) => cards[0]?.controls.some((label) => label === 'Done (2)'))
      await surface.tap('Cache', 'ada')
      await expectSeen((cards) => cards[0]?.controls.some((label) => label === 'Done (1)'))
      await surface.tap('Done', 'ada')
      expect((await settled(item)).answer).toEqual({
        answers: [{ selected: ['Postgres'] }, { selected: ['Queue, durable'] }],
      })
    })

    it('takes the text after Other literally, also if it is a number', async () => {
      const { ask, expectSeen, surface, settled } = await begin()
      const item = await ask('question', { questions: [database] })
      await expectSeen((cards) => cards.length === 1)
      await surface.tap('Other', 'ada')
      await expectSeen((cards) => cards[0]?.text.includes('Send your answer'))
      await surface.type('2', 'ada')
      expect((await settled(item)).answer).toEqual({ answers: [{ selected: [], other: '2' }] })
    })

    it('approves with the control only, and denies with a reason in two steps', async () => {
      const { ask, expectSeen, surface, settled, desk } = await begin()
      const first = await ask('approval', { input: { command: 'rm -rf build\nls' } }, { toolName: 'Bash' })
      await expectSeen((cards) => cards[0]?.text.includes('rm -rf build'))
      await surface.tap('Approve', 'ada')
      expect(await settled(first)).toMatchObject({ settlement: 'approved', by: surface.actor('ada') })
      const second = await ask('approval', { input: { command: 'ls' } }, { toolName: 'Bash' })
      await expectSeen((cards) => cards[0]?.text.includes('ls') && cards[0].controls.length > 1)
      await surface.tap('Deny with a reason', 'ada')
      await expectSeen((cards) => cards[0]?.text.includes('Send the reason'))
      expect((await desk.interaction('s', second.interactionId)).status).toBe('pending')
      await surface.type('Use the API', 'ada')
      expect(await settled(second)).toMatchObject({ settlement: 'denied', message: 'Use the API' })
    })

    it('goes back from a step that waits for a text', async () => {
      const { ask, expectSeen, surface, settled } = await begin()
      const item = await ask('plan_review', { plan: '# Plan\n1. Do it' })
      await expectSeen((cards) => cards[0]?.text.includes('Do it'))
      await surface.tap('Adjust', 'ada')
      await expectSeen((cards) => cards[0]?.controls.join() === 'Back')
      await surface.tap('Back', 'ada')
      await expectSeen((cards) => (cards[0]?.controls.length ?? 0) > 1)
      await surface.tap('Approve, but ask before edits', 'ada')
      expect((await settled(item)).answer).toEqual({ decision: 'default' })
    })

    it('adjusts a plan twice and approves the third one', async () => {
      const { ask, expectSeen, surface, settled } = await begin()
      for (const feedback of ['Smaller steps', 'Tests first']) {
        const item = await ask('plan_review', { plan: `# Plan before ${feedback}` })
        await expectSeen((cards) => cards.at(-1)?.text.includes(`before ${feedback}`))
        await surface.tap('Adjust', 'ada')
        await expectSeen((cards) => cards[0]?.text.includes('what should change'))
        await surface.type(feedback, 'ada')
        expect(await settled(item)).toMatchObject({ settlement: 'denied', message: feedback })
        await expectSeen((cards) => cards.length === 0)
      }
      const last = await ask('plan_review', { plan: '# Plan three' })
      await expectSeen((cards) => cards[0]?.text.includes('Plan three'))
      await surface.tap('Proceed', 'ada')
      expect(await settled(last)).toMatchObject({ settlement: 'approved', answer: { decision: 'edit' } })
    })

    it('does not confuse an option with a decision of the same name', async () => {
      const { ask, expectSeen, surface, settled } = await begin()
      const options = ['edit', 'approve', 'deny', 'adjust', 'done', 'other'].map((label) => ({ label }))
      const item = await ask('question', { questions: [{ question: 'Which word?', options }] })
      await expectSeen((cards) => cards.length === 1)
      await surface.tap('edit', 'ada')
      expect((await settled(item)).answer).toEqual({ answers: [{ selected: ['edit'] }] })
    })

    it('fills a form field by field', async () => {
      const { ask, expectSeen, surface, settled } = await begin()
      const fields = [
        { name: 'port', type: 'number', required: true, max: 65535 },
        { name: 'tls', type: 'boolean', required: true },
        { name: 'note', type: 'text' },
      ]
      const item = await ask('form', { message: 'Where?', schema: { fields } })
      await expectSeen((cards) => cards[0]?.text.includes('port'))
      await surface.type('70000', 'ada')
      await expectSeen((_, everything) => everything.includes('65535'))
      await surface.type('8080', 'ada')
      await expectSeen((cards) => cards[0]?.text.includes('tls'))
      await surface.tap('Yes', 'ada')
      await expectSeen((cards) => cards[0]?.text.includes('note'))
      await surface.tap('Leave out', 'ada')
      expect((await settled(item)).answer).toEqual({ values: { port: 8080, tls: true } })
    })

    it('closes a card at once when it is settled elsewhere, and says by whom', async () => {
      const { ask, expectSeen, desk } = await begin()
      const item = await ask('approval', { input: { command: 'ls' } }, { toolName: 'Bash' })
      await expectSeen((cards) => cards.length === 1)
      await desk.as(web).respond({ interactionId: item.interactionId, answer: { decision: 'approve' } })
      await expectSeen((cards) => cards.length === 0)
      await expectSeen((_, everything) => everything.includes('Approved by Carol in the web app'))
    })

    it('says that an interaction timed out or was cancelled', async () => {
      const { ask, expectSeen, host, clock } = await begin()
      await ask('question', { questions: [database] }, { timeoutMs: 60_000 })
      await expectSeen((cards) => cards.length === 1)
      clock.advance(60_000)
      await expectSeen((cards, everything) => cards.length === 0 && everything.includes('Timed out'))
      await ask('question', { questions: [extras] })
      await expectSeen((cards) => cards.length === 1)
      await host.as(web).clear('s')
      await expectSeen((cards, everything) => cards.length === 0 && everything.includes('Cancelled by Carol'))
    })

    it('makes hidden characters visible', async () => {
      const { ask, expectSeen, surface } = await begin()
      await ask('approval', { input: { command: 'echo \u001b[2J\u202e\u0007' } }, { toolName: 'Bash' })
      await expectSeen((_, everything) => /ESC\[2J.*U\+202E.*BEL/.test(everything))
      const { everything } = await surface.screen()
      for (const raw of ['\u202e', '\u0007']) expect(everything).not.toContain(raw)
    })

    it('takes a text as the answer to the only pending question, and names the question', async () => {
      const { ask, expectSeen, surface, settled } = await begin()
      const item = await ask('question', { questions: [database] })
      await expectSeen((cards) => cards.length === 1)
      await surface.type('sqlite', 'ada')
      expect((await settled(item)).answer).toEqual({ answers: [{ selected: ['SQLite'] }] })
      await expectSeen((_, everything) => /taken for .*Database|Answered by/.test(everything))
    })

    it.each([
      ['approval', { input: { command: 'ls' } }, 'To approve, press Approve'],
      ['plan_review', { plan: 'A plan' }, 'To approve it, use one of its buttons'],
    ] as const)('neither approves nor denies on a bare yes: %s', async (kind, request, refusal) => {
      const { ask, expectSeen, surface, desk } = await begin()
      const item = await ask(kind, request, { toolName: 'Bash' })
      await expectSeen((cards) => cards.length === 1)
      await surface.type('lgtm', 'ada')
      await expectSeen((_, everything) => everything.includes(refusal))
      expect((await desk.interaction('s', item.interactionId)).status).toBe('pending')
    })

    it('discards a text whose interaction was settled before it was sent, and says so', async () => {
      const { ask, expectSeen, surface, desk, messages } = await begin()
      const item = await ask('plan_review', { plan: 'A plan' })
      await expectSeen((cards) => cards.length === 1)
      await surface.tap('Adjust', 'ada')
      await expectSeen((cards) => cards[0]?.controls.join() === 'Back')
      await desk.as(web).respond({ interactionId: item.interactionId, answer: { decision: 'edit' } })
      await expectSeen((cards) => cards.length === 0)
      await surface.type('Smaller steps', 'ada')
      await expectSeen((_, everything) => everything.includes('Your text went nowhere'))
      expect(await messages()).toEqual([])
      await surface.type('Hello agent', 'ada')
      await expectSeen((_, everything) => everything.includes('Saved as a note'))
      expect(await messages()).toEqual(['Hello agent'])
    })

    if (isTransient) return

    it('shows no card twice and loses none after a restart', async () => {
      const setup = await begin()
      const { ask, expectSeen, surface, desk, settled } = setup
      const stays = await ask('question', { questions: [database] })
      const goes = await ask('approval', { input: { command: 'ls' } }, { toolName: 'Bash' })
      await expectSeen((cards) => cards.length === 2)
      await setup.restart(async () => {
        await desk.as(web).respond({ interactionId: goes.interactionId, answer: { decision: 'deny' } })
        await ask('plan_review', { plan: 'Asked during the restart' })
      })
      await expectSeen((cards, everything) => cards.length === 2 && everything.includes('Denied by Carol'))
      const { everything } = await surface.screen()
      expect(everything.split('Which database?')).toHaveLength(2)
      expect(everything).toContain('Asked during the restart')
      await surface.tap('SQLite', 'ada')
      expect((await settled(stays)).answer).toEqual({ answers: [{ selected: ['SQLite'] }] })
    })

    it('shows everything once the surface is reachable again', async () => {
      const { ask, expectSeen, surface, desk } = await begin()
      const before = await ask('question', { questions: [database] })
      await expectSeen((cards) => cards.length === 1)
      surface.setDown?.(true)
      await desk
        .as(web)
        .respond({ interactionId: before.interactionId, answer: { answers: [{ selected: ['SQLite'] }] } })
      await ask('approval', { input: { command: 'ls' } }, { toolName: 'Bash' })
      surface.setDown?.(false)
      await expectSeen((cards) => cards.length === 1 && cards[0]!.text.includes('ls'))
      await expectSeen((_, everything) => everything.includes('Answered by Carol'))
    })

    it('tells the second of two people who answered first', async () => {
      const { ask, expectSeen, surface, settled } = await begin()
      const item = await ask('approval', { input: { command: 'ls' } }, { toolName: 'Bash' })
      await expectSeen((cards) => cards.length === 1)
      const both = [surface.tap('Approve', 'ada'), surface.tap('Deny', 'bob')]
      await Promise.allSettled(both)
      const { by, settlement } = await settled(item)
      const first = by?.id === surface.actor('ada').id ? 'ada' : 'bob'
      expect(settlement).toBe(first === 'ada' ? 'approved' : 'denied')
      await expectSeen((_, everything) => everything.includes(`by ${surface.actor(first).name}`))
    })
  })
}

/** A desk in memory with the session `s`, and the surface connected to it. */
async function runOn(surface: ConnectorUnderTest) {
  const store = memoryStore()
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const clock = fakeClock()
  const desk: Desk = createDesk({ store, onError, clock })
  const host: Host = createHost({ desk, onError })
  await host.ready
  await desk.createSession({ id: 's', agent: null, title: 'The session' })
  const start = (): RunningConnector =>
    // A poll this rare never runs in a test, so the doorbell alone must be enough.
    runConnector({
      connector: surface.make(),
      desk: connectorDesk(host, store, { sessions: 'all' }),
      onError,
      pollMs: 3_600_000,
    })
  let running = start()
  await running.ready
  await running.context.setPlace(surface.place, { sessions: 'all', current: 's' })

  return {
    surface,
    clock,
    desk,
    host,
    ask: async (kind: string, request: Json | object, more: Partial<OpenInput> = {}): Promise<Interaction> =>
      (await desk.open({ sessionId: 's', kind, request: request as Json, ...more })).interaction,
    /** Waits until the screen looks like this. */
    expectSeen: async (
      look: (cards: VisibleCard[], everything: string) => boolean | undefined,
    ): Promise<void> => {
      await expect
        .poll(
          async () => {
            expect(errors).toEqual([])
            const screen = await surface.screen()
            return look(screen.cards, screen.everything) ? 'seen' : JSON.stringify(screen)
          },
          { interval: 10 },
        )
        .toBe('seen')
    },
    settled: async ({ interactionId }: Interaction) =>
      (await desk.wait(interactionId, { sessionId: 's', claim: false })).interaction,
    messages: async () =>
      (await store.read({ sessionId: 's', limit: 1000 })).flatMap((event) =>
        event.type === 'user_message' ? [event.text] : [],
      ),
    async restart(meanwhile: () => Promise<void>): Promise<void> {
      await running.stop()
      await meanwhile()
      running = start()
      await running.ready
    },
    async end(): Promise<void> {
      await running.stop()
      await surface.end()
      await host.close()
      expect(errors).toEqual([])
    },
  }
}

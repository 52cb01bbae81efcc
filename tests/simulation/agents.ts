import type { Opened, SessionDefaults, Settlement } from '@askback/core'
import type { AskbackError } from '@askback/protocol'
import { describe, randomAsking, type Asking } from './asking.js'
import type { LoggedInteraction } from './log-model.js'
import type { SentOpen } from './sent.js'
import { checkHandOver, checkSettlement, checkReturned } from './interaction-rules.js'
import { holds } from './violation.js'
import type { Waits } from './waits.js'
import type { World } from './world.js'

/** Agents that ask, and retry through every crash and fault until they have the settlement. */
export class Agents {
  readonly #world: World
  readonly #waits: Waits
  readonly #defaults: ReadonlyMap<string, SessionDefaults>
  readonly #requests: Asking[] = []
  /** By asking agent: the interactions that were already superseded when it asked. */
  readonly #superseded = new Map<string, Set<LoggedInteraction>>()

  constructor(world: World, waits: Waits, defaults: ReadonlyMap<string, SessionDefaults>) {
    this.#world = world
    this.#waits = waits
    this.#defaults = defaults
  }

  ask(sessionId: string): void {
    const { random, model } = this.#world
    const id = this.#world.newId('ask')
    const before = this.#requests.filter((asking) => asking.sessionId === sessionId)
    const { input, sent } = randomAsking(random, id, { sessionId, before, ...this.#defaults.get(sessionId) })
    this.#requests.push(input)
    model.sent.set(id, { id, sessionId, ...sent })
    const earlier = model.sessions.get(sessionId)?.interactions ?? []
    this.#superseded.set(id, new Set(earlier.filter(({ response }) => response?.settlement === 'superseded')))
    if (random.chance(0.5) && input.rendezvous !== true) this.#request(input, sent)
    else {
      const open = random.chance(0.2) ? { ...input, claim: true } : input
      if (sent.keyed) this.#world.sendKeyed(() => this.#open(open, sent))
      else this.#open(open, sent)
    }
  }

  /** Opens and waits in two calls, as over HTTP. */
  #open(input: Asking, sent: SentOpen): void {
    const { model } = this.#world
    const { sessionId, agentId } = input
    const there = model.sessions.has(sessionId)
    const again = () => {
      if (sent.keyed) this.#world.retry(agentId, () => this.#open(input, sent))
    }
    this.#world.call(`${agentId} open ${describe(input)}`, (desk) => desk.as({ id: 'http' }).open(input), {
      done: (opened) => this.#opened(opened, input, sent),
      refused: (error) => {
        if (error.code === 'unavailable') again()
        else this.#expect(error, input, there)
      },
      lost: again,
    })
  }

  /** Asks and waits in one call, as an agent in the same process does. */
  #request(input: Asking, sent: SentOpen): void {
    const { model } = this.#world
    const { sessionId, kind, request, agentId, rendezvous: _, ...rest } = input
    const again = () => {
      // A repeated request with `attach` for the same tool call gets the interaction of the first (L11).
      if (sent.keyed || sent.owns) this.#world.retry(agentId, () => this.#request(input, sent))
    }
    this.#world.call<Settlement>(
      `${agentId} request ${describe(input)}`,
      (desk) => {
        const session = desk.session(sessionId, this.#defaults.get(sessionId))
        const asked = { kind } as Parameters<typeof session.request>[0]
        return session.request(asked, request, { agentId, ...rest } as object) as Promise<Settlement>
      },
      {
        done: (settled) => {
          const own = [...model.interactions.values()].findLast((one) => one.request.agentId === agentId)
          checkSettlement(model, own && !sent.attach ? own.request.interactionId : null, settled)
          const { digest } = settled.interaction
          holds(digest === sent.digest, 'L11', () => `${agentId} got ${settled.interactionId}`)
        },
        refused: (error) => {
          if (error.code === 'unavailable') again()
          else this.#expect(error, input, true)
        },
        lost: again,
      },
    )
  }

  #opened({ interaction, created }: Opened, input: Asking, sent: SentOpen): void {
    const { model, random } = this.#world
    const { agentId, sessionId, claim = false } = input
    const { interactionId } = interaction
    const asked = checkReturned(model, interaction)
    const wrong = () => `${agentId} got ${interactionId} of ${asked.request.agentId}, created: ${created}`
    const own = asked.request.agentId === agentId
    holds(interaction.digest === sent.digest && (own || !created), 'L11', wrong)
    // Under an idempotency key it gets its first interaction again, even if that was superseded since.
    const superseded = sent.keyed
      ? this.#superseded.get(agentId)!.has(asked)
      : interaction.settlement === 'superseded'
    if (!own) holds(sent.attach && !superseded, 'L11', wrong)
    const first = this.#world.firsts.get(agentId)
    const isSame = first === undefined || first === asked || first.session !== asked.session
    holds(isSame, 'idempotency', wrong)
    if (sent.keyed) this.#world.firsts.set(agentId, asked)
    // If a rule or a mode approved it at once, `open` returns the settlement as claimed.
    if (created && interaction.status === 'settled' && claim) checkHandOver(model, interactionId, interaction)
    else if (random.chance(0.85)) this.#waits.start(sessionId, interactionId)
  }

  #expect(error: AskbackError, { sessionId, onTimeout, agentId }: Asking, there: boolean): void {
    const { model, plan } = this.#world
    const gone = [...model.logs.values()].some((log) => log.id === sessionId && log.ended)
    const expected =
      (error.code === 'not_found' && (gone || !there)) ||
      (error.code === 'rate_limited' && plan.pendingPerSession < 100) ||
      (error.code === 'invalid_answer' && typeof onTimeout === 'object')
    holds(expected, 'opening', () => `${agentId} was refused: ${error.message}`)
  }
}

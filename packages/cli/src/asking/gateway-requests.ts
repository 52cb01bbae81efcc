import type { RequestPort, SettlementWait } from '@askback/agents/mcp'
import { isUnfinished } from '@askback/agents/mcp'
import { AskbackError } from '@askback/protocol/errors'
import type { Interaction, OpenBody } from '@askback/protocol'
import type { GatewayClient } from '../reach/gateway-client.js'
import { cancelRequest, openRequest, waitForSettlement } from './ask-person.js'
import { findAskingSession, type AskingSession } from './session.js'

export interface GatewayRequestsOptions {
  gateway: GatewayClient
  /** The session to ask in, if one is named. */
  session: string | undefined
  env: NodeJS.ProcessEnv
  /** How long a person has to answer, in milliseconds; `null` for ever. */
  timeoutMs: number | null | undefined
  /** Aborts when the MCP client is gone. */
  stopped: AbortSignal
}

/** The requests of the MCP client that started `askback mcp`. They are in the gateway, so the next process finds them again. */
export class GatewayRequests implements RequestPort {
  readonly #options: GatewayRequestsOptions
  /** The calls that this process must finish before it ends, so that what they opened is cancelled. */
  readonly #running = new Set<Promise<unknown>>()

  constructor(options: GatewayRequestsOptions) {
    this.#options = options
  }

  open(body: OpenBody): Promise<Interaction> {
    const { gateway, env, timeoutMs } = this.#options
    const opens = this.#session().then((session) =>
      openRequest(timeoutMs === undefined ? body : { ...body, timeoutMs }, {
        gateway,
        session,
        env,
        source: 'mcp',
      }),
    )
    return this.#finishing(opens)
  }

  async find(interactionId: string): Promise<Interaction> {
    const { gateway, session: named, env } = this.#options
    const { interaction, yours } = await gateway.json<{ interaction: Interaction; yours: boolean }>({
      method: 'GET',
      path: `/api/interactions/${encodeURIComponent(interactionId)}`,
    })
    const given = named ?? env['ASKBACK_SESSION']
    if (yours && (!given || given === interaction.sessionId)) return interaction
    throw new AskbackError('not_found', `There is no request ${interactionId} that you have asked here.`)
  }

  async unfinished(): Promise<Interaction[]> {
    const { gateway } = this.#options
    const { sessionId } = await this.#session()
    const { state } = await gateway.json<{ state: { interactions: Interaction[]; pending: Interaction[] } }>({
      method: 'GET',
      path: `/api/sessions/${encodeURIComponent(sessionId)}`,
    })
    return [...state.interactions, ...state.pending].filter(isUnfinished)
  }

  wait(item: Interaction, { ms, signal, isCancelledBySignal }: SettlementWait): Promise<Interaction> {
    const { gateway, stopped } = this.#options
    const waits = waitForSettlement(item, {
      gateway,
      signal: AbortSignal.any([signal, stopped]),
      isObserver: !isCancelledBySignal,
      ...(ms !== null && { endsAt: Date.now() + ms }),
    })
    return this.#finishing(waits)
  }

  async cancel(item: Interaction): Promise<void> {
    await cancelRequest(item, this.#options.gateway)
  }

  /** Resolves when no call is running any more. */
  async finished(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }

  #finishing<Result>(work: Promise<Result>): Promise<Result> {
    this.#running.add(work)
    return work.finally(() => this.#running.delete(work))
  }

  #session(): Promise<AskingSession> {
    const { gateway, session, env } = this.#options
    return findAskingSession(gateway, session, env)
  }
}

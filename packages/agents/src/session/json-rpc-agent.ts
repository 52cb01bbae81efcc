/** The part that is the same for agents which speak JSON-RPC: `codex app-server`, and agents of the Agent Client Protocol. */
import type { AgentContext, Clock, EditScope } from '@askback/core'
import { AskbackError, errorMessage } from '@askback/protocol'
import type { RunningProgram } from '../program/child-program.js'
import { JsonRpcConnection, type Params } from '../program/json-rpc.js'
import type { Channel } from '../program/ndjson.js'
import { BaseAgentProcess, type ContinueOptions } from './base-agent-process.js'
import { editScopeOf } from './edit-scope.js'
import { TurnLog } from './turn-log.js'

export interface JsonRpcAgentOptions {
  /** The agent's name, for messages to people. */
  name: string
  channel: Channel
  /** Goes into every message. */
  header?: { jsonrpc: '2.0' }
  clock: Clock
  newId: () => string
}

/** What an agent's program may send: the params of each method. */
export interface AgentProtocol {
  request: { method: string; params: object }
  notification: { method: string; params: object }
}

export abstract class JsonRpcAgent<Protocol extends AgentProtocol> extends BaseAgentProcess {
  protected readonly editScope: () => Promise<EditScope>
  protected readonly program: RunningProgram
  protected readonly connection: JsonRpcConnection
  /** Aborts when the agent's current turn is interrupted. Replaced at the start of each turn of the program. */
  protected interrupting = new AbortController()
  readonly #name: string
  readonly #exited = new AbortController()

  constructor(context: AgentContext, program: RunningProgram, options: JsonRpcAgentOptions) {
    const { name, channel, header, clock, newId } = options
    super(context, { turnLog: new TurnLog(context, newId), clock })
    this.editScope = editScopeOf(context.session, context)
    this.program = program
    this.#name = name
    const handlers = {
      request: (method: string, params: Params) => this.#answerRequest(method, params),
      notification: async (method: string, params: Params) => {
        // The program is trusted to follow its protocol.
        const notification = { method, params } as Protocol['notification']
        if (!this.isStopped) await this.handleNotification(notification)
      },
      failed: (error: unknown) => void this.fail(error),
    }
    this.connection = new JsonRpcConnection(channel, handlers, header)
    program.exited.then(() => this.#programExited()).catch(() => {})
  }

  /** Must throw for a method that is not part of the protocol: `request` is then something else than its type says. */
  protected abstract answerRequest(request: Protocol['request']): Promise<unknown>
  /** Must ignore a method that is not part of the protocol. */
  protected abstract handleNotification(notification: Protocol['notification']): Promise<void>
  /** Sends the agent a message, in a context that knows nothing else if `isFreshContext`. */
  protected abstract sendToModel(message: string, isFreshContext: boolean): Promise<void>
  /** Called when the program has ended by itself, before that is reported. */
  protected abstract programLost(): Promise<void>

  /** Aborts when the turn is interrupted, or the agent has ended. After that no settlement may be claimed for it (L10). */
  protected get signal(): AbortSignal {
    return AbortSignal.any([this.stopSignal, this.#exited.signal, this.interrupting.signal])
  }

  /**
   * Runs `handshake`, then continues an interrupted turn. If the handshake fails, or `signal` aborts before it is done, the
   * program is ended, and the error is `unavailable`.
   */
  protected async openWith(handshake: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const stop = () => void this.stop()
    signal.addEventListener('abort', stop)
    try {
      signal.throwIfAborted()
      await handshake()
    } catch (error) {
      await this.stop()
      throw new AskbackError('unavailable', errorMessage(error), { cause: error })
    } finally {
      signal.removeEventListener('abort', stop)
    }
    this.resumeTurn()
  }

  protected abortTurn(): void {
    this.cancelResume()
    this.interrupting.abort()
  }

  protected override async continueTurn(message: string, options: ContinueOptions): Promise<void> {
    await this.sendToModel(message, options.isFreshContext)
    await this.turnLog.report(...options.results)
  }

  protected override async killProgram(): Promise<void> {
    if (this.isStopped) this.connection.close('The session was stopped.')
    await this.program.kill()
  }

  async #answerRequest(method: string, params: Params): Promise<unknown> {
    try {
      // The program is trusted to follow its protocol.
      const request = { method, params } as Protocol['request']
      return await this.answerRequest(request)
    } catch (error) {
      // The program is being ended. Any answer, even an error, would make it send one more request to its model.
      if (this.isStopped) return new Promise(() => {})
      throw error
    }
  }

  async #programExited(): Promise<void> {
    this.cancelResume()
    this.#exited.abort()
    await this.connection.notificationsHandled
    const message = `${this.#name}${this.program.endedHow}`
    this.connection.close(message)
    if (this.isStopped) return
    await this.programLost()
    this.setEnded({ how: 'lost', message })
  }
}

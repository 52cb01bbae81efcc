import type { ErrorBody, Interaction, Session } from '@askback/protocol'
import { freePort } from '@askback/store-postgres/testing'
import { afterEach } from 'vitest'
import { Command, newFolder, type CommandExit, type Ready, type CommandOptions } from './command.js'

export interface ApiResponse<Body> {
  status: number
  body: Body
  headers: Headers
}

/** A gateway in its own process, and calls to its API. */
export class RunningGateway {
  readonly command: Command
  readonly data: string
  readonly ready: Ready

  constructor(command: Command, data: string, ready: Ready) {
    this.command = command
    this.data = data
    this.ready = ready
  }

  stop(signal: NodeJS.Signals): Promise<CommandExit> {
    return this.command.kill(signal)
  }

  async call<Body = ErrorBody>(
    method: string,
    path: string,
    options: { body?: unknown; as?: string; key?: string; signal?: AbortSignal } = {},
  ): Promise<ApiResponse<Body>> {
    const { body, as = this.ready.token, key, signal } = options
    const response = await fetch(`${this.ready.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${as}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
    return { status: response.status, body: (await response.json()) as Body, headers: response.headers }
  }

  async session(): Promise<string> {
    const { body } = await this.call<{ session: Session }>('POST', '/api/sessions', {
      body: { agent: null },
      as: this.ready.agentToken,
    })
    return body.session.id
  }

  async open(sessionId: string, key?: string): Promise<Interaction> {
    const { body } = await this.call<{ interaction: Interaction }>(
      'POST',
      `/api/sessions/${sessionId}/interactions`,
      { body: question, as: this.ready.agentToken, ...(key !== undefined && { key }) },
    )
    return body.interaction
  }
}

export const question = {
  kind: 'question',
  toolCallId: 'call',
  request: {
    questions: [
      {
        header: 'Database',
        question: 'Which?',
        options: [{ label: 'SQLite' }, { label: 'Postgres' }],
        multiSelect: false,
      },
    ],
  },
}
export const sqlite = { answer: { answers: [{ selected: ['SQLite'] }] } }

export function at({ sessionId, interactionId }: Interaction): string {
  return `/api/sessions/${sessionId}/interactions/${interactionId}`
}

const running: Command[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((command) => command.kill('SIGKILL')))
})

/** Runs a command, which is killed after the test. */
export function run(args: string[], env?: Record<string, string>, started?: CommandOptions): Command {
  const command = new Command(args, env, started)
  running.push(command)
  return command
}

export async function serve(
  options: { data?: string; port?: string; args?: string[]; env?: Record<string, string> } = {},
): Promise<RunningGateway> {
  const { data = newFolder(), port = '0', args = [], env } = options
  const command = run(['serve', '--port', port, '--data', data, '--json', ...args], env)
  return new RunningGateway(command, data, await command.ready())
}

/** A port for a gateway that restarts: no other process gets it meanwhile. */
export async function portToKeep(): Promise<string> {
  return String(await freePort())
}

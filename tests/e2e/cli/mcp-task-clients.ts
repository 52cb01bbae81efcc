import type { Client } from '@modelcontextprotocol/client'
import {
  createTaskSessionFromClient,
  type ApplicationElicitResult,
  type ApplicationInputHandler,
  type RawClientDispatch,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client'
import type { JsonValue } from '@modelcontextprotocol/ext-tasks/core'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { afterEach, onTestFinished } from 'vitest'
import { file as commandFile } from '../http/command.js'
import type { RunningGateway } from '../http/gateways.js'
import { connectNewest } from './mcp-2026-clients.js'
import type { How } from './mcp-clients.js'

const PROTOCOL_VERSION = '2026-07-28'
const sessions: TaskEnabledSession[] = []
afterEach(async () => {
  await Promise.all(sessions.splice(0).map((session) => session.close()))
})

interface TaskClientOptions {
  token?: string
  /** More arguments of `askback mcp`. */
  args?: string[]
  capabilities?: Record<string, JsonValue>
  /** What the client's user enters into a form. */
  onInput?: () => ApplicationElicitResult
}

/** The official client for the extension Tasks. */
export async function connectTasks(
  how: How,
  gateway: RunningGateway,
  { token = gateway.ready.agentToken, args = [], capabilities = {}, onInput }: TaskClientOptions = {},
): Promise<TaskEnabledSession> {
  const client: Client = await connectNewest(how, gateway, { token })
  const session = createTaskSessionFromClient(client, {
    endpointId: 'askback',
    rawDispatch: how === 'http' ? byHttp(gateway, token) : byStdio(gateway, args),
    v2RequestFraming: {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: 'newest', version: '2.0.0' },
      clientCapabilities: capabilities,
    },
    ...(onInput && { onInputRequest: onInputRequest(onInput) }),
  })
  sessions.push(session)
  return session
}

function onInputRequest(enter: () => ApplicationElicitResult): ApplicationInputHandler['handle'] {
  // Only forms are asked for.
  return () => Promise.resolve(enter() as never)
}

interface RpcRequest {
  method: string
  params: { name?: string; taskId?: string }
}
interface RpcReply {
  id?: number
  result?: never
  error?: { code: number; message: string }
}

let lastId = 0

/** The client for tasks does not send its requests by itself: the official client does not know their results yet. */
function byHttp({ ready }: RunningGateway, token: string): RawClientDispatch {
  return async (given, { signal } = {}) => {
    const request = given as unknown as RpcRequest
    const response = await fetch(`${ready.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': PROTOCOL_VERSION,
        'mcp-method': request.method,
        'mcp-name': request.params.taskId ?? request.params.name ?? '',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: (lastId += 1), ...request }),
      ...(signal && { signal }),
    })
    const text = await response.text()
    const data = text.startsWith('{') ? text : /^data: (\{.*"id".*)$/m.exec(text)![1]!
    return replyOf(JSON.parse(data) as RpcReply)
  }
}

/** Each session has an `askback mcp` of its own. */
function byStdio({ data }: RunningGateway, args: string[]): RawClientDispatch {
  const child = spawn(process.execPath, [commandFile, 'mcp', '--data', data, ...args], {
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  onTestFinished(async () => {
    child.stdin.end()
    await ended
  })
  const waiting = new Map<number, (reply: RpcReply) => void>()
  createInterface(child.stdout).on('line', (line) => {
    const reply = JSON.parse(line) as RpcReply
    if (reply.id !== undefined) waiting.get(reply.id)?.(reply)
  })
  return (given) => {
    const id = (lastId += 1)
    const replied = new Promise<RpcReply>((resolve) => waiting.set(id, resolve))
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...(given as unknown as RpcRequest) })}\n`)
    return replied.then(replyOf)
  }
}

function replyOf({ result, error }: RpcReply): Awaited<ReturnType<RawClientDispatch>> {
  return error ? { kind: 'error', error } : { kind: 'result', result: result! }
}

/**
 * Starts `codex app-server`, or connects to one that runs. It either speaks over its pipes and ends with the gateway, or
 * listens on loopback and survives a killed gateway.
 */
import { createHash, randomBytes } from 'node:crypto'
import { ChildProgram, type RunningProgram } from '../program/child-program.js'
import { DetachedProgram, type DetachOptions } from '../program/detached-program.js'
import type { Program } from '../program/launch.js'
import { ndjsonChannel, type Channel } from '../program/ndjson.js'

const HANDSHAKE_TIMEOUT_MS = 10_000

export interface AppServer {
  program: RunningProgram
  channel: Channel
}

/** Ends with the gateway. */
export function startPipedServer(program: Program): AppServer {
  const child = new ChildProgram(program)
  return { program: child, channel: ndjsonChannel(child.process) }
}

/**
 * Survives the gateway. Every program of this machine can connect to a loopback port, so the server requires a token:
 * otherwise a command that Codex runs could approve the next one. `null` if this version of Codex has no such option.
 */
export async function startDetachedServer(
  program: Program,
  options: Omit<DetachOptions, 'findAddress'>,
): Promise<AppServer | null> {
  const token = randomBytes(32).toString('hex')
  const hash = createHash('sha256').update(token).digest('hex')
  const listen = ['--listen', 'ws://127.0.0.1:0', '--ws-auth', 'capability-token', '--ws-token-sha256', hash]
  const findAddress = (log: string) => {
    const url = /listening on: (ws:\/\/127\.0\.0\.1:\d+)/.exec(log)?.[1]
    return url === undefined ? null : `${url}#${token}`
  }
  const started = await DetachedProgram.start(
    { ...program, args: [...program.args, ...listen] },
    { ...options, findAddress },
  )
  return started && connect(started)
}

/** The server that an earlier gateway has left running for this session; `null` if there is none. */
export async function findDetachedServer(folder: string, sessionId: string): Promise<AppServer | null> {
  const found = await DetachedProgram.find(folder, sessionId)
  return found && connect(found)
}

async function connect(program: DetachedProgram): Promise<AppServer | null> {
  try {
    return { program, channel: await openSocket(program) }
  } catch {
    await program.kill()
    return null
  }
}

async function openSocket(program: DetachedProgram): Promise<Channel> {
  const { WebSocket } = await import('ws')
  const [url = '', token = ''] = program.address.split('#')
  const socket = new WebSocket(url, {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
    maxPayload: 0,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  socket.on('error', () => {})
  // Without the connection nobody receives its requests, so it would wait for ever.
  socket.once('close', () => void program.kill())
  return {
    send: (text) => socket.send(text, () => {}),
    listen: (onMessage) =>
      void socket.on('message', (data) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a socket of ws passes a Buffer, unless its `binaryType` is changed
        onMessage((data as Buffer).toString())
      }),
  }
}

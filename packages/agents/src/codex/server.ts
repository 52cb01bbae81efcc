import { createHash, randomBytes } from 'node:crypto'
import { AgentChild, type Program, type Running } from '../program/child.js'
import { KeptProgram, type KeepOptions } from '../program/kept.js'
import { lineChannel } from '../program/lines.js'
import type { Channel } from '../program/peer.js'

const HANDSHAKE_MS = 10_000

interface Server {
  program: Running
  channel: Channel
}

/** A `codex app-server` that ends with us. */
export function pipedServer(program: Program): Server {
  const child = new AgentChild(program)
  return { program: child, channel: lineChannel(child.process) }
}

/**
 * One that outlives us. It listens on loopback, where everybody can knock, so it speaks only to who has the token: a command
 * that it runs must not approve the next one. `null` if this Codex cannot.
 */
export async function keepServer(
  program: Program,
  keep: Omit<KeepOptions, 'address'>,
): Promise<Server | null> {
  const token = randomBytes(32).toString('hex')
  const hash = createHash('sha256').update(token).digest('hex')
  const listen = ['--listen', 'ws://127.0.0.1:0', '--ws-auth', 'capability-token', '--ws-token-sha256', hash]
  const address = (log: string) => {
    const url = /listening on: (ws:\/\/127\.0\.0\.1:\d+)/.exec(log)?.[1]
    return url === undefined ? null : `${url}#${token}`
  }
  const started = await KeptProgram.start(
    { ...program, args: [...program.args, ...listen] },
    { ...keep, address },
  )
  return started && connected(started)
}

/** The one that a gateway before us has left running; `null` if there is none. */
export async function keptServer(folder: string, sessionId: string): Promise<Server | null> {
  const found = await KeptProgram.find(folder, sessionId)
  return found && connected(found)
}

async function connected(program: KeptProgram): Promise<Server | null> {
  try {
    return { program, channel: await socketChannel(program) }
  } catch {
    await program.kill()
    return null
  }
}

async function socketChannel(program: KeptProgram): Promise<Channel> {
  const { WebSocket } = await import('ws')
  const [url = '', token = ''] = program.address.split('#')
  const socket = new WebSocket(url, {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
    maxPayload: 0,
    handshakeTimeout: HANDSHAKE_MS,
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  socket.on('error', () => {})
  // Without it nobody hears what it asks.
  socket.once('close', () => void program.kill())
  return {
    send: (text) => socket.send(text, () => {}),
    listen: (use) => void socket.on('message', (data) => use((data as Buffer).toString())),
  }
}

import type { Clock, Host, Store } from '@askback/core'
import { MAX_JSON_DEPTH, type Actor, type Via } from '@askback/protocol'
import type { IncomingMessage } from 'node:http'

/** Whoever opens a stream, as the gateway's own checks see them. */
export interface Caller {
  /** Names the credential: its streams end when it is revoked. */
  readonly credential: string
  /** Set for people, who alone may settle and see all sessions at once. */
  readonly person: { by: Actor; via: Via } | null
  mayRead(sessionId: string): boolean | Promise<boolean>
}

export interface StreamConfig {
  heartbeatMs: number
  /** Open WebSockets. */
  sockets: number
  /** Open event streams over HTTP. */
  streams: number
  /** The largest frame that a WebSocket takes. */
  frameBytes: number
  /** The deepest JSON in a frame. */
  jsonDepth: number
  /** What may wait for a slow reader before it is cut. */
  bufferBytes: number
  /** What all sessions together keep of older frames, for those that reconnect. */
  cacheBytes: number
}

export const STREAM_DEFAULTS: StreamConfig = {
  heartbeatMs: 15_000,
  sockets: 1000,
  streams: 10_000,
  frameBytes: 4 * 1024 * 1024,
  jsonDepth: MAX_JSON_DEPTH,
  bufferBytes: 1024 * 1024,
  cacheBytes: 32 * 1024 * 1024,
}

export interface StreamOptions {
  host: Host
  store: Store
  /** Host, Origin and credential of a request, upgraded or not. Throws what its sender is to be told. */
  authorize: (request: IncomingMessage) => Promise<Caller>
  config?: Partial<StreamConfig>
  clock?: Clock
  random?: () => number
  onError: (error: unknown) => void
}

import { createRequestStateCodec, type ServerContext } from '@modelcontextprotocol/server'
import { digestOf } from '@askback/protocol'
import { randomBytes } from 'node:crypto'
import type { Arguments } from './tools.js'

/** Longer than any request waits: what ends a request is its own deadline, not the age of the state. */
const VALID_SECONDS = 30 * 24 * 3600

/**
 * What a client of the specification of 2026-07-28 sends back when it repeats a call whose request is still pending. It comes from the
 * client, so it is signed. It only names a request: what the client may read is checked again at each call.
 */
export interface RequestState {
  interactionId: string
  /** How often the client has been asked to repeat the call. */
  round: number
  /** The digest of the call's name and arguments: a state counts only for the call that it was made for. */
  call: string
}

export interface RequestStates {
  sign(state: RequestState): Promise<string>
  verify(state: string, context: ServerContext): Promise<RequestState>
}

/** `key` must be the same in all processes that the client may reach. Without one, states end with this server. */
export function createRequestStates(key: string = randomBytes(32).toString('hex')): RequestStates {
  const codec = createRequestStateCodec<RequestState>({ key, ttlSeconds: VALID_SECONDS })
  return {
    sign: (state) => codec.mint(state),
    verify: (state, context) => codec.verify(state, context),
  }
}

export function callDigest(name: string, given: Arguments): string {
  return digestOf(name, given)
}

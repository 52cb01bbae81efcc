import { Adoption } from '../../adopt/adoption.js'
import { checkSessionLimit, realCwdOf, withinSessionLimit } from './create-session.js'
import type { Engine } from '../engine.js'

/** Adoption on a desk's engine. */
export function adoptionOn(engine: Engine, maxSessions: number): Adoption {
  const { store, clock, onError } = engine.options
  return new Adoption({
    store,
    clock,
    onError,
    isClosed: () => engine.closed,
    run: (sessionId, command) => engine.run(sessionId, command),
    follow: (sessionId, follower) => engine.follow(sessionId, follower),
    agentSessionId: (sessionId) => engine.read(sessionId, (state) => state.agentSessionId),
    realFolder: (cwd) => realCwdOf(engine, cwd),
    withinSessionLimit: (sessionId, begin) => withinSessionLimit(engine, sessionId, maxSessions, begin),
    checkSessionLimit: (sessionId) => checkSessionLimit(engine, sessionId, maxSessions),
  })
}

import type { Desk } from '@askback/core'
import { send } from './person.js'
import { holds } from './violation.js'
import type { World } from './world.js'

const ignored = { done: () => {}, refused: () => {} }

/** L8: when the call returns, everything that was pending before it is settled. */
export function cancelAll(
  world: World,
  sessionId: string,
  how: 'interrupt' | 'clear' | 'delete',
  done = () => {},
): void {
  const session = world.model.sessions.get(sessionId)
  if (!session) return
  const pending = session.interactions.filter(({ response }) => !response)
  const { sent, caller, call } = send(world, sessionId, { what: 'cancel_all' })
  const cancel = async (desk: Desk) => {
    const person = desk.as(caller)
    if (how === 'interrupt') await person.interrupt(sessionId, call)
    if (how === 'clear') await person.clear(sessionId, call)
    if (how === 'delete') await person.deleteSession(sessionId, call)
  }
  world.call(`${sent.id} ${how} ${sessionId}`, cancel, {
    done: () => {
      for (const { request, response } of pending)
        holds(response !== undefined, 'L8', () => `${request.interactionId} outlives ${sent.id}`)
      if (how === 'delete') holds(session.ended, 'deletion', () => `${sessionId} was not ended`)
      done()
    },
    refused: ({ code, message }) => {
      if (code !== 'unavailable') holds(code === 'not_found' && session.ended, 'L8', () => message)
    },
  })
}

export function setMode(world: World, sessionId: string): void {
  const mode = world.random.pick(['default', 'acceptEdits', 'plan', 'bypassPermissions'] as const)
  world.call(`mode ${mode} in ${sessionId}`, (desk) => desk.setPermissionMode(sessionId, mode), ignored)
}

export function deleteRule(world: World): void {
  const remove = async (desk: Desk) => {
    const rules = await desk.rules()
    if (rules.length === 0) return
    const { id } = world.random.pick(rules)
    world.model.removed.add(id)
    await desk.deleteRule(id)
  }
  world.call('delete a rule', remove, ignored)
}

import type { PersonCaller } from '@askback/core'
import type { MessageBody } from '@askback/protocol'
import type { LoggedInteraction } from './log-model.js'
import { send, target, type SessionCall } from './person.js'
import { checkRefusal } from './refusals.js'
import type { Sent } from './sent.js'
import { checkReturned } from './interaction-rules.js'
import { holds } from './violation.js'
import type { World } from './world.js'

type TextCall = SessionCall & MessageBody

/** A person types a text, which answers an interaction or goes to the agent. */
export function message(world: World, sessionId: string): void {
  const { random } = world
  const text = random.pick(['A', '2', 'no thanks', 'yes', 'x'])
  const asked = random.chance(0.3) ? target(world, sessionId) : undefined
  const { sent, caller, call } = send(world, sessionId, { what: 'text', text })
  const input: TextCall = {
    ...call,
    text,
    route: random.pick(['auto', 'auto', 'agent', 'interaction']),
    ...(asked && { interactionId: asked.request.interactionId }),
    ...(random.chance(0.1) && { questionIndex: random.below(2) }),
  }
  say(world, sent, { caller, input }, asked)
}

/** A person answers a part of a question. */
export function progress(world: World, sessionId: string): void {
  const { model, random } = world
  const asked = target(world, sessionId)
  if (asked?.request.kind !== 'question') return
  const { interactionId } = asked.request
  const { sent } = send(world, sessionId, { what: 'text', text: '' })
  const input = { sessionId, interactionId, answers: [{ selected: [random.pick(['A', 'Z'])] }] }
  world.call(`progress ${interactionId}`, (desk) => desk.progress(input), {
    done: (returned) => {
      checkReturned(model, returned)
      const logged = asked.session.events.some(
        (event) => event.type === 'interaction_progress' && event.interactionId === interactionId,
      )
      holds(logged, 'durable first', () => `the progress of ${interactionId} is not in the log`)
    },
    refused: (error) => checkRefusal(model, error, { sent, target: asked, keyed: false }),
  })
}

function say(
  world: World,
  sent: Sent,
  said: { caller: PersonCaller; input: TextCall },
  aim: LoggedInteraction | undefined,
): void {
  const { model } = world
  const { caller, input } = said
  const keyed = input.idempotencyKey !== undefined
  const again = () => {
    if (keyed) world.retry(sent.id, () => say(world, sent, said, aim))
  }
  const { text, route, interactionId } = input
  const name = `${sent.id} message ${JSON.stringify({ text, route, interactionId })} to ${input.sessionId}`
  world.call(name, (desk) => desk.as(caller).message(input), {
    done: ({ routed, interactionId: taker = '' }) => {
      if (routed === 'interaction') return void model.known(taker)
      const isSaid = [...model.logs.values()].some((log) => log.said.has(sent.id))
      holds(isSaid, 'durable first', () => `${sent.id} is not in the log`)
    },
    refused: (error) => {
      if (error.code === 'unavailable') again()
      else checkRefusal(model, error, { sent, target: aim, keyed })
    },
    lost: again,
  })
}

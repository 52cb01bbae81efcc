import type { BoundDesk, PersonCaller } from '@askback/core'
import type { Interaction } from '@askback/protocol'
import type { LoggedInteraction } from './log-model.js'
import { send, target, type SessionCall } from './person.js'
import { checkRefusal } from './refusals.js'
import { randomAnswer } from './requests.js'
import type { AnswerEffect, Sent } from './sent.js'
import { checkReturned } from './interaction-rules.js'
import { holds } from './violation.js'
import type { World } from './world.js'

/** People answer interactions of the log with valid or invalid answers, in time or late, and sometimes two at once. */
export function respond(world: World, sessionId: string): void {
  const asked = target(world, sessionId)
  if (!asked) return
  answer(world, asked)
  if (world.random.chance(0.25)) answer(world, asked)
}

function answer(world: World, asked: LoggedInteraction): void {
  const { random } = world
  const { sessionId, interactionId, kind, request, digest } = asked.request
  const { answer: given, fit } = randomAnswer(kind, request, { random, lasting: asked.session.cwd !== null })
  if (kind === 'approval' && fit !== 'invalid' && random.chance(0.3)) {
    return answerToolCall(world, asked, given as { decision: 'approve' }, fit)
  }
  const named = random.weighted([
    [6, undefined],
    [3, digest],
    [1, 'another'],
  ])
  const digestFits = named !== 'another'
  const { sent, caller, call } = send(world, sessionId, {
    what: 'answer',
    interactionId,
    answer: given,
    fit,
    digestFits,
  })
  const input = { ...call, interactionId, answer: given, ...(named !== undefined && { digest: named }) }
  const name = `respond ${interactionId} ${fit} ${JSON.stringify(given)}`
  sendMaybeTwice(world, sent, { caller, call }, name, async (desk) => (await desk.respond(input)).interaction)
}

export function cancel(world: World, sessionId: string): void {
  const asked = target(world, sessionId)
  if (!asked) return
  const { interactionId } = asked.request
  const { sent, caller, call } = send(world, sessionId, { what: 'cancel', interactionId })
  const input = { ...call, interactionId }
  sendMaybeTwice(
    world,
    sent,
    { caller, call },
    `cancel ${interactionId}`,
    async (desk) => (await desk.cancel(input)).interaction,
  )
}

function answerToolCall(
  world: World,
  asked: LoggedInteraction,
  answer: { decision: 'approve' },
  fit: AnswerEffect,
): void {
  const { sessionId, toolCallId } = asked.request
  const { sent, caller, call } = send(world, sessionId, {
    what: 'answer',
    interactionId: null,
    toolCallId,
    answer: null,
    fit,
    digestFits: true,
  })
  const input = { ...call, toolCallId, kind: 'approval', ...answer } as const
  sendMaybeTwice(world, sent, { caller, call }, `${fit} for ${toolCallId}`, (desk) =>
    desk.answerToolCall(input),
  )
}

function sendMaybeTwice(
  world: World,
  sent: Sent,
  who: { caller: PersonCaller; call: SessionCall },
  name: string,
  work: (desk: BoundDesk) => Promise<Interaction>,
): void {
  const send = () => attempt(world, sent, who, name, work)
  if (who.call.idempotencyKey === undefined) send()
  else world.sendKeyed(send)
}

/** L3: an acknowledged answer is the settlement; every other answer gets an error with that settlement. */
function attempt(
  world: World,
  sent: Sent,
  who: { caller: PersonCaller; call: SessionCall },
  name: string,
  work: (desk: BoundDesk) => Promise<Interaction>,
): void {
  const { model } = world
  const keyed = who.call.idempotencyKey !== undefined
  const id = 'interactionId' in sent ? sent.interactionId : null
  const aim = id === null ? undefined : model.interactions.get(id)
  const again = () => {
    if (keyed) world.retry(sent.id, () => attempt(world, sent, who, name, work))
  }
  world.call(`${sent.id} ${name}${keyed ? ' keyed' : ''}`, (desk) => work(desk.as(who.caller)), {
    done: (returned) => {
      const { response } = checkReturned(model, returned)
      const wins = response?.by?.name === sent.id
      holds(wins, 'L3', () => `${sent.id} was acknowledged, but ${JSON.stringify(response)} counts`)
    },
    refused: (error) => {
      if (error.code === 'unavailable') again()
      else checkRefusal(model, error, { sent, target: aim, keyed })
    },
    lost: again,
  })
}

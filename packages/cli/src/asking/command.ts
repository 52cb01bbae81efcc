import type { Interaction, OpenBody, QuestionReply, SettlementKind } from '@askback/protocol'
import { errorCodes } from '@askback/protocol/errors'
import { hasAnswer } from '@askback/protocol/guards'
import { isInDoubt } from '@askback/protocol/in-doubt'
import { parseTimeout } from '../arguments.js'
import { ADDRESS_FLAGS, type GatewayAddress } from '../reach/connection.js'
import { GatewayClient } from '../reach/gateway-client.js'
import { printData, printJson, say } from '../terminal.js'
import { abortOnSignals, askPerson, EXIT_INTERRUPTED } from './ask-person.js'
import { findAskingSession } from './session.js'

const EXIT_CODES: Record<SettlementKind, number> = {
  answered: 0,
  approved: 0,
  denied: 3,
  cancelled: 4,
  superseded: 4,
  timed_out: 5,
}

const IN_DOUBT_NOTICE =
  'This was approved, but the approval had been handed over before: what it allows may have run already. Check that, then ask again.'

/** The flags of all commands that ask. */
export const ASKING_FLAGS = {
  ...ADDRESS_FLAGS,
  session: { type: 'string' },
  timeout: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

export interface AskingFlags extends GatewayAddress {
  session?: string | undefined
  timeout?: string | undefined
  json: boolean
}

/** Asks a person and prints the outcome. Resolves to the exit code. Ctrl-C cancels the request. */
export async function runAsking(body: OpenBody, flags: AskingFlags, what: string): Promise<number> {
  const timeoutMs = flags.timeout === undefined ? undefined : parseTimeout(flags.timeout)
  const { env } = process
  const signal = abortOnSignals()
  const gateway = new GatewayClient('agent', flags, { env, say })
  const session = await findAskingSession(gateway, flags.session, env)
  const interaction = await askPerson(timeoutMs === undefined ? body : { ...body, timeoutMs }, {
    gateway,
    session,
    env,
    signal,
    onPending: (pending) => sayPending(pending, gateway.url, what, flags),
  })
  return printOutcome(interaction, flags)
}

/** Says where the request can be answered, and how to wait for the answer in another process. */
export function sayPending(
  { interactionId }: Interaction,
  url: string,
  what: string,
  address: GatewayAddress,
): void {
  const sentence = what === '' || /\p{P}$/u.test(what) ? what : `${what}.`
  // The printed command must reach the same gateway.
  const flags = [
    ...(address.url === undefined ? [] : ['--url', address.url]),
    ...(address.data === undefined ? [] : ['--data', address.data]),
  ]
  const later = ['askback wait', interactionId, ...flags].join(' ')
  say(`Waiting for a person: ${sentence} Answer at ${url}, or wait for the answer later with: ${later}`)
}

/**
 * Prints the answer on stdout and everything else on stderr. Returns the exit code for the settlement. An approval that was
 * already claimed is an error for the process that asked (L10), since its call may have run, but not for an observer.
 */
export function printOutcome(
  interaction: Interaction,
  { json, isObserver = false }: { json: boolean; isObserver?: boolean },
): number {
  const { settlement } = interaction
  const inDoubt = !isObserver && isInDoubt(interaction)
  const exit = inDoubt
    ? errorCodes.already_settled.exit
    : settlement === undefined
      ? EXIT_INTERRUPTED
      : EXIT_CODES[settlement]
  if (inDoubt) say(IN_DOUBT_NOTICE)
  if (json) printJson(interaction)
  else if (exit === 0) printData(answerText(interaction))
  else if (!inDoubt) say(outcomeText(interaction))
  return exit
}

/** The bare answer for a script, with one line for each choice. */
function answerText(interaction: Interaction): string {
  if (hasAnswer(interaction, 'question')) return toLines(interaction.answer.answers.flatMap(replyTexts))
  if (hasAnswer(interaction, 'approval')) {
    const { updatedInput } = interaction.answer
    return updatedInput === undefined ? '' : `${JSON.stringify(updatedInput)}\n`
  }
  if (hasAnswer(interaction, 'form')) return `${JSON.stringify(interaction.answer.values)}\n`
  if (hasAnswer(interaction, 'plan_review')) return `${interaction.answer.decision}\n`
  return `${JSON.stringify(interaction.answer ?? null)}\n`
}

function replyTexts({ selected, other }: QuestionReply): string[] {
  return other === undefined ? selected : [...selected, other]
}

function toLines(texts: string[]): string {
  return texts.map((text) => `${text}\n`).join('')
}

function outcomeText({ settlement, message, by }: Interaction): string {
  const who = by ? ` by ${by.name ?? by.id}` : ''
  switch (settlement) {
    case 'denied':
      return message ? `Denied${who}: ${message}` : `Denied${who}.`
    case 'timed_out':
      return 'Nobody answered in time.'
    case 'superseded':
      return 'A newer request replaced this one.'
    case 'cancelled':
      return `Cancelled${who}.`
    // The first two exit with 0, so their answer is printed instead.
    case 'answered':
    case 'approved':
    case undefined:
      return 'It still waits for an answer.'
    default:
      return settlement satisfies never
  }
}

import {
  digestOf,
  emptyState,
  foldInto,
  type Json,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import { expect } from 'vitest'
import { approvalKind } from '../kinds/approval.js'
import { formKind } from '../kinds/form.js'
import { kindsByName } from '../kinds/kinds.js'
import { planReviewKind } from '../kinds/plan-review.js'
import { questionKind } from '../kinds/question.js'
import type { Command, Context, Decision, OpenCommand } from './command.js'
import { decide } from './decide.js'

// Table tests of `decide`, one table per command: each case has the commands before, the command, and the expected events.

const NOW = 1_000_000
const kinds = kindsByName([questionKind, approvalKind, planReviewKind, formKind])
export const ada = { by: { id: 'ada' }, via: 'web' } as const

export const choice = {
  questions: [
    { question: 'Which?', header: 'Pick', options: [{ label: 'A' }, { label: 'B' }], multiSelect: false },
  ],
}
export const twoQuestions = { questions: [...choice.questions, ...choice.questions] }
export const aNumber = {
  message: 'Port?',
  schema: { fields: [{ name: 'port', type: 'number', required: true, max: 9 }] },
}

export const start = {
  type: 'start',
  agent: 'demo',
  permissionMode: 'default',
  cwd: '/project',
} as const satisfies Command
export const turn: Command = { type: 'message', text: 'Go', ...ada, route: 'agent' }
export const listFiles = open('approval', { input: { command: 'ls' } }, { toolName: 'Bash' })

export function open(
  kind: string,
  request: Json,
  more: Partial<OpenCommand> & { toolName?: string } = {},
): OpenCommand {
  const { toolName = kind, ...rest } = more
  const { input = request } = request as { input?: Json }
  const prepared = {
    kind: kinds.get(kind)!,
    toolName,
    request,
    digest: digestOf(toolName, input),
    timeoutMs: null,
    onTimeout: 'deny' as const,
  }
  return { type: 'open', prepared, anchoring: { by: 'id', toolCallId: 'call' }, attach: false, ...rest }
}

/** The same, with a deadline a second after it is opened. */
export function expiring(
  command: OpenCommand,
  onTimeout: OpenCommand['prepared']['onTimeout'] = 'deny',
): OpenCommand {
  return { ...command, prepared: { ...command.prepared, timeoutMs: 1000, onTimeout } }
}

export function report(...events: Extract<Command, { type: 'report' }>['events']): Command {
  return { type: 'report', events }
}

/** One session without a desk: decides commands, numbers their events and folds them. */
export class Session {
  readonly state: SessionState = emptyState('s')
  now = NOW
  #ids = 0

  /** Ids are `#1`, `#2` and so on: the first interaction is `#1` unless a turn took that. */
  run(command: Command, context: Partial<Context> = {}): Decision {
    const decision = this.decide(command, context)
    const events = decision.events.map((event, index): SessionEvent => {
      return Object.assign(event, {
        seq: this.state.seq + 1 + index,
        id: `event-${this.state.seq + 1 + index}`,
        sessionId: 's',
        at: decision.times?.[index] ?? this.now,
      })
    })
    foldInto(this.state, events)
    return decision
  }

  decide(command: Command, context: Partial<Context> = {}): Decision {
    return decide(this.state, command, {
      now: this.now,
      newId: () => `#${++this.#ids}`,
      kind: (name) => kinds.get(name),
      maxPending: 3,
      claimant: () => null,
      ...context,
    })
  }
}

export interface Case {
  given?: Command[]
  /** Milliseconds between the last given command and this one. */
  later?: number
  context?: Partial<Context>
  command: Command
  /** Types of the decided events, with what they say of a settlement, a mode or a status. */
  events?: string[]
  refused?: string
  /** The code of a refusal that changes the log. */
  refusal?: string
}

export function expectCase({
  given = [],
  later = 0,
  context,
  command,
  events,
  refused,
  refusal,
}: Case): void {
  const session = new Session()
  for (const each of given) session.run(each)
  session.now += later
  const before = JSON.stringify([...session.state.interactions.values()])
  if (refused !== undefined) {
    expect(() => session.run(command, context)).toThrow(expect.objectContaining({ code: refused }))
    expect(JSON.stringify([...session.state.interactions.values()])).toBe(before)
    return
  }
  const decision = session.decide(command, context)
  expect(JSON.stringify([...session.state.interactions.values()])).toBe(before)
  expect(decision.events.map(summary)).toEqual(events)
  expect(decision.refusal?.code).toBe(refusal)
  const responses = decision.events.filter(({ type }) => type === 'interaction_response')
  expect((decision.settled ?? []).map(({ response }) => response)).toEqual(responses)
}

function summary(event: Decision['events'][number]): string {
  switch (event.type) {
    case 'interaction_response':
      return `response ${event.settlement}`
    case 'interaction_pending':
      return `pending ${event.pending ? 'yes' : 'no'} ${event.reason}`
    case 'interaction_request':
      return 'request'
    case 'interaction_delivered':
      return `delivered ${event.to}`
    case 'session_status':
      return `status ${event.status} ${event.permissionMode}`
    default:
      return event.type
  }
}

export const opened = ['pending yes requested', 'request']
export const settled = (how: string) => [`response ${how}`, `pending no ${how}`]

/**
 * The scripted model. A scenario is data: what the model says in each step, and what it must have received before. The endpoints
 * stream its replies in the format of each provider.
 */

/** One conversation, or the part of it that begins with a certain message. */
export interface Scenario {
  /** Part of the message that begins it: a person's, or the prompt of a subagent. */
  when: string
  /** One for each request to the model, in order. */
  steps: Step[]
  /**
   * Patterns to find in the conversation. In the input of a tool `{{name}}` stands for the first group, and `{{#name}}` for the
   * same as a number.
   */
  find?: Record<string, RegExp>
}

export type Step = Reply | Failure

export interface Reply {
  /** Each must occur in the messages that the model has got since its last reply. */
  expects?: (string | RegExp)[]
  /** None of these may occur there. */
  expectsNot?: (string | RegExp)[]
  say: Block[]
  /** How the stream ends: complete, not at all, or in the middle of the last block. */
  ends?: 'well' | 'never' | 'cut'
}

export interface Failure {
  status: number
  type: string
  message: string
  /** After so many failures the next step follows. Without it the failure lasts for ever. */
  times?: number
}

export type Block =
  | { text: string }
  | { thinking: string }
  /** Some tools of Codex have a text as their input. */
  | { tool: string; input: Record<string, unknown> | string; id?: string }

/** Fills the patterns of `find` into the reply. */
export function fillReply(reply: Reply, { find = {} }: Scenario, messages: Message[]): Reply {
  const all = [...messages.flatMap(textsOf), ...receivedSinceLastReply(messages).all].join('\n')
  let say = JSON.stringify(reply.say)
  for (const [name, pattern] of Object.entries(find)) {
    const found = pattern.exec(all)?.[1] ?? `nothing like ${String(pattern)}`
    say = say
      .replaceAll(`"{{#${name}}}"`, found)
      .replaceAll(`{{${name}}}`, JSON.stringify(found).slice(1, -1))
  }
  return { ...reply, say: JSON.parse(say) as Block[] }
}

/** The step of a scenario that a conversation has reached. */
export interface ScenarioStep {
  scenario: Scenario
  step: number
  received: ReceivedMessages
}

/**
 * Finds the scenario that began last in the conversation, and counts the replies of the model since then. Nothing but the
 * conversation is used, so any number of sessions can run at once and continue after a restart.
 */
export function findStep(scenarios: Scenario[], messages: Message[]): ScenarioStep | null {
  let found: { scenario: Scenario; at: number } | null = null
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'user') continue
    const said = textsOf(message).join('\n')
    // Agents may join several messages of a person into one.
    const matching = scenarios.filter(({ when }) => said.includes(when))
    const [last] = matching.toSorted(
      (a, b) => endOf(b, said) - endOf(a, said) || b.when.length - a.when.length,
    )
    if (last) found = { scenario: last, at }
  }
  if (!found) return null
  const after = messages.slice(found.at)
  const step = after.filter(
    ({ role }, index) => role === 'assistant' && after[index - 1]?.role !== 'assistant',
  ).length
  return { scenario: found.scenario, step, received: receivedSinceLastReply(messages) }
}

function endOf({ when }: Scenario, said: string): number {
  return said.lastIndexOf(when) + when.length
}

/** Describes what the scenario did not expect; empty if all is as expected. */
export function problemsWith({ expects = [], expectsNot = [] }: Reply, received: ReceivedMessages): string[] {
  const has = (what: string | RegExp) =>
    received.all.some((text) => (typeof what === 'string' ? text.includes(what) : what.test(text)))
  return [
    ...expects.filter((what) => !has(what)).map((what) => `the model did not get ${String(what)}`),
    ...expectsNot.filter(has).map((what) => `the model got ${String(what)}`),
  ]
}

/** Splits a text into the parts in which the model streams it. */
export function streamedParts(text: string): string[] {
  const parts: string[] = []
  for (let at = 0; at < text.length; at += PART_LENGTH) parts.push(text.slice(at, at + PART_LENGTH))
  return parts
}

const PART_LENGTH = 12

/** A message of a request to the model, with the fields that tests look at. */
export interface Message {
  role: string
  content: string | ContentBlock[]
}

type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_result'; tool_use_id: string; is_error?: boolean; content?: string | ContentBlock[] }
  | { type: 'tool_use'; id: string; name: string; input: unknown }
  | { type: 'thinking' }

export interface ReceivedResult {
  toolUseId: string
  isError: boolean
  text: string
}

/** What the model has received since its last reply. */
export interface ReceivedMessages {
  results: ReceivedResult[]
  texts: string[]
  /** The texts, and the texts of the results. */
  all: string[]
}

function receivedSinceLastReply(messages: Message[]): ReceivedMessages {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const received = messages.slice(last + 1)
  const texts = received.flatMap(textsOf)
  const results = received.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.flatMap(resultOf),
  )
  return { results, texts, all: [...texts, ...results.map(({ text }) => text)] }
}

function textsOf({ content }: Message): string[] {
  if (typeof content === 'string') return [content]
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
}

function resultOf(block: ContentBlock): ReceivedResult[] {
  if (block.type !== 'tool_result') return []
  const { tool_use_id: toolUseId, is_error: isError = false, content = '' } = block
  const text = typeof content === 'string' ? content : textsOf({ role: 'user', content }).join('\n')
  return [{ toolUseId, isError, text }]
}

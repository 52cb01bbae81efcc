import { toldSince, textsOf, type Message, type Told } from './told.js'

/** What the scripted model says, as data. */
export interface Scenario {
  /** Found in the message that begins it: a person's, or the prompt of a subagent. */
  when: string
  /** One for each request that follows, in order. */
  steps: Step[]
  /** What the model finds in what it was told: `{{name}}` in a tool's input stands for the first group, `{{#name}}` for it as a number. */
  find?: Record<string, RegExp>
}

export type Step = Reply | Failure

export interface Reply {
  /** Each must be found in what the model was told since it last spoke. */
  told?: (string | RegExp)[]
  /** None of these may be. */
  notTold?: (string | RegExp)[]
  say: Block[]
  /** How the stream ends: properly, never, or in the middle of the last block. */
  ends?: 'well' | 'never' | 'cut'
}

export interface Failure {
  status: number
  type: string
  message: string
  /** After that many the next step counts; for ever without it. */
  times?: number
}

export type Block =
  | { text: string }
  | { thinking: string }
  /** Codex has tools whose input is a text. */
  | { tool: string; input: Record<string, unknown> | string; id?: string }

/** A reply with what the model has found in the conversation. */
export function filled(reply: Reply, { find = {} }: Scenario, messages: Message[]): Reply {
  const all = [...messages.flatMap(textsOf), ...toldSince(messages).all].join('\n')
  let say = JSON.stringify(reply.say)
  for (const [name, pattern] of Object.entries(find)) {
    const found = pattern.exec(all)?.[1] ?? `nothing like ${String(pattern)}`
    say = say
      .replaceAll(`"{{#${name}}}"`, found)
      .replaceAll(`{{${name}}}`, JSON.stringify(found).slice(1, -1))
  }
  return { ...reply, say: JSON.parse(say) as Block[] }
}

export interface Chosen {
  scenario: Scenario
  step: number
  told: Told
}

/**
 * The scenario whose beginning is the latest in the conversation, and how often the model has spoken since. Only the
 * conversation decides, so that any number of sessions can talk at once, and go on after a restart.
 */
export function choose(scenarios: Scenario[], messages: Message[]): Chosen | null {
  let found: { scenario: Scenario; at: number } | null = null
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'user') continue
    const said = textsOf(message).join('\n')
    // Several messages of a person may have become one.
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
  return { scenario: found.scenario, step, told: toldSince(messages) }
}

function endOf({ when }: Scenario, said: string): number {
  return said.lastIndexOf(when) + when.length
}

/** What does not fit, in words; empty if all is as expected. */
export function problemsWith({ told: wanted = [], notTold = [] }: Reply, told: Told): string[] {
  const has = (what: string | RegExp) =>
    told.all.some((text) => (typeof what === 'string' ? text.includes(what) : what.test(text)))
  return [
    ...wanted.filter((what) => !has(what)).map((what) => `the model was not told ${String(what)}`),
    ...notTold.filter(has).map((what) => `the model was told ${String(what)}`),
  ]
}

/** A text as a model streams it. */
export function pieces(text: string): string[] {
  const all: string[] = []
  for (let at = 0; at < text.length; at += PIECE) all.push(text.slice(at, at + PIECE))
  return all
}

const PIECE = 12

/**
 * Requests for the interrupts of LangGraph. A graph that waits is in its checkpointer, so a program that was killed continues there: the
 * id of the thread and that of the interrupt name the request. What runs after an interrupt may have run before the
 * program was killed; LangGraph would run it again, so such a thread is refused.
 */
import { AskbackError, isRecord } from '@askback/protocol'
import { NotAnswered } from '../asking/asked.js'
import { askQuestion, questionIn, unknownQuestion } from './question.js'
import { reviewIn } from './reviews.js'
import { approveCalls, callKey, contentId, type FrameworkOptions } from './tool-approval.js'

/** The part of an interrupt that is used here. */
export interface GraphInterrupt {
  id?: string
  value?: unknown
}

/** The part of a compiled graph, or of an agent of LangChain, that is used here. */
export interface InterruptingGraph<Result> {
  // oxlint-disable-next-line typescript/no-explicit-any -- the types of a graph are its own
  invoke(input: any, config?: any): Promise<Result>
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  getState?(config: any): Promise<GraphState>
}

interface GraphState {
  next?: readonly string[]
  tasks?: readonly { interrupts?: readonly GraphInterrupt[] }[]
}

/** Options of `invokeWithAskback`. */
export interface InvokeWithAskbackOptions extends FrameworkOptions {
  /** Answers interrupts whose form is not known: the value is what `interrupt()` returns. `key` names the request. */
  answer?: (interrupt: GraphInterrupt, key: string) => Promise<unknown>
}

/**
 * Invokes a graph until it ends, and asks a person at each interrupt: the requests of LangChain's human-in-the-loop middleware and of
 * the Agent Inbox as approvals, a text or `{ question, choices? }` as a question. If the thread waits at an interrupt already, it continues
 * there, and `input` is not used.
 *
 * Throws `NotAnswered` if a question got no answer; the thread stays at its interrupt.
 *
 * @example
 * const config = { configurable: { thread_id: jobId } }
 * const result = await invokeWithAskback(graph, { messages }, config, { session })
 */
export async function invokeWithAskback<Result>(
  graph: InterruptingGraph<Result>,
  input: unknown,
  config: { configurable?: Record<string, unknown> },
  options: InvokeWithAskbackOptions,
): Promise<Result> {
  const interrupts = new Interrupts(options, threadOf(config))
  const state = await graph.getState?.(config)
  let waiting = state?.tasks?.flatMap((task) => task.interrupts ?? []) ?? []
  if (waiting.length === 0 && (state?.next?.length ?? 0) > 0) throw unfinished(state?.next ?? [])
  for (;;) {
    const next = waiting.length === 0 ? input : await interrupts.resume(waiting)
    const result = await graph.invoke(next, config)
    waiting = interruptsOf(result)
    if (waiting.length === 0) return result
  }
}

/** The interrupts of one call of `invokeWithAskback`. */
class Interrupts {
  readonly #options: InvokeWithAskbackOptions
  readonly #key: string
  /** How often each was answered in this process: a node may ask the same twice. */
  readonly #times = new Map<string, number>()

  constructor(options: InvokeWithAskbackOptions, thread: string) {
    this.#options = options
    this.#key = options.key ?? thread
  }

  /** Asks for all at once, and returns the command that resumes the graph. */
  async resume(waiting: readonly GraphInterrupt[]): Promise<object> {
    const { answer: _, ...asking } = this.#options
    const asked = waiting.map((interrupt) => ({
      interrupt,
      id: this.#idOf(interrupt),
      review: reviewIn(interrupt.value),
    }))
    const questions = Promise.all(
      asked.map(async ({ interrupt, id, review }) => (review ? null : this.#ask(interrupt, id))),
    )
    const calls = asked.flatMap(
      ({ id, review }) => review?.actions.map((action, index) => ({ ...action, id: `${id} ${index}` })) ?? [],
    )
    const [verdicts, answers] = await Promise.all([
      approveCalls(calls, { ...asking, key: this.#key }, questions),
      questions,
    ])
    const left = [...verdicts]
    const values = asked.map(({ review }, index): unknown =>
      review ? review.answer(left.splice(0, review.actions.length)) : answers[index],
    )
    const isNamed = waiting.every(({ id }) => id !== undefined)
    const resume: unknown = isNamed
      ? Object.fromEntries(waiting.map(({ id }, index) => [id, values[index]]))
      : values[0]
    // LangGraph knows a command by this name, so that its class need not be imported.
    return { lg_name: 'Command', resume }
  }

  #idOf({ id = '', value }: GraphInterrupt): string {
    const content = `${id} ${contentId('interrupt', value)}`
    const times = this.#times.get(content) ?? 0
    this.#times.set(content, times + 1)
    return `${content} ${times}`
  }

  async #ask(interrupt: GraphInterrupt, id: string): Promise<unknown> {
    const { answer, session, key: _, ...asking } = this.#options
    const key = callKey(this.#key, id)
    if (answer) return answer(interrupt, key)
    const question = questionIn(interrupt.value)
    if (!question) throw unknownQuestion('An interrupt of the graph')
    const outcome = await askQuestion(session, question, { ...asking, key })
    if (!outcome.ok) throw new NotAnswered(outcome)
    return outcome.value
  }
}

function threadOf({ configurable }: { configurable?: Record<string, unknown> }): string {
  const thread = configurable?.thread_id
  if (typeof thread === 'string' && thread !== '') return thread
  throw new AskbackError('invalid_request', 'invokeWithAskback() needs a thread_id in config.configurable.')
}

function interruptsOf(result: unknown): GraphInterrupt[] {
  const found: unknown = isRecord(result) ? result.__interrupt__ : undefined
  return Array.isArray(found) ? found.filter((each) => isRecord(each)) : []
}

function unfinished(next: readonly string[]): AskbackError {
  return new AskbackError(
    'invalid_request',
    `This thread was stopped before ${next.join(', ')} had ended, which may have run. Look what has happened; then graph.invoke(null, config) goes on.`,
  )
}

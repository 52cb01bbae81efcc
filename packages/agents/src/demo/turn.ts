import type { AgentContext, Clock, Settlement } from '@askback/core'
import type { Json, QuestionReply, SessionStateJson } from '@askback/protocol'
import { fill, isOutcome, type Outcome, type Step } from './script.js'

/** How much of a text comes at once, and how fast. */
const WORDS_PER_DELTA = 2

export interface TurnOptions {
  context: AgentContext
  turnId: string
  clock: Clock
  /** Milliseconds between two pieces of streamed text. */
  pace: number
  signal: AbortSignal
  /** What the log held when a restart cut the turn: that is not done again. */
  done: SessionStateJson | null
}

/**
 * Plays the steps of one turn. Ids derive from the turn and the place of a step, so that a turn which is played again
 * after a restart finds its own tool calls, blocks and interactions and goes on behind them.
 */
export async function playTurn(steps: Step[], options: TurnOptions): Promise<void> {
  await new Turn(options).play(steps, options.turnId)
}

class Turn {
  readonly #options: TurnOptions
  readonly #outcomes = new Map<string, Outcome>()
  /** The tool calls of named steps. */
  readonly #ids = new Map<string, string>()
  readonly #doneBlocks: ReadonlySet<string>
  readonly #doneCalls: ReadonlyMap<string, boolean>

  constructor(options: TurnOptions) {
    this.#options = options
    const { done } = options
    const items = done?.turns.flatMap((turn) => turn.items) ?? []
    this.#doneBlocks = new Set(items.flatMap((item) => ('id' in item ? [item.id] : [])))
    this.#doneCalls = new Map(done?.toolCalls.map((call) => [call.toolCallId, call.result !== undefined]))
  }

  async play(steps: Step[], place: string): Promise<void> {
    for (const [index, step] of steps.entries()) {
      this.#options.signal.throwIfAborted()
      await this.#step(step, `${place}.${index + 1}`)
    }
  }

  async #step(step: Step, id: string): Promise<void> {
    switch (step.do) {
      case 'say':
        return this.#stream('text', id, step.text)
      case 'think':
        return this.#stream('thinking', id, step.text)
      case 'tool':
        return this.#tool(step, id)
      case 'ask': {
        const { questions, timeoutMs } = step
        await this.#call('AskUserQuestion', { questions } as unknown as Json, id)
        const settled = await this.#options.context.session.ask({ questions, ...this.#asking(id, timeoutMs) })
        return this.#asked(step.name, settled, id, (answer) => summary(answer.answers))
      }
      case 'approve':
        return this.#approve(step, id)
      case 'plan': {
        const { planFilePath, timeoutMs } = step
        const plan = fill(step.plan, this.#outcomes)
        await this.#call('ExitPlanMode', { plan }, id)
        const request = { plan, ...(planFilePath !== undefined && { planFilePath }) }
        const settled = await this.#options.context.session.reviewPlan({
          ...request,
          ...this.#asking(id, timeoutMs),
        })
        return this.#asked(step.name, settled, id, (answer) => answer.decision)
      }
      case 'form': {
        const { message, schema, initialValues, timeoutMs } = step
        const request = { message, schema, ...(initialValues && { initialValues }) }
        await this.#call('fill_form', { message }, id)
        const settled = await this.#options.context.session.form({
          ...request,
          ...this.#asking(id, timeoutMs),
        })
        return this.#asked(step.name, settled, id, (answer) => JSON.stringify(answer.values))
      }
      case 'together':
        await Promise.all(step.steps.map((each, index) => this.#step(each, `${id}.${index + 1}`)))
        return
      case 'when': {
        const met = isOutcome(this.#outcomes.get(step.name), step.is)
        return this.play(met ? step.steps : (step.otherwise ?? []), met ? id : `${id}.otherwise`)
      }
      case 'pause':
        return this.#pause(step.ms)
      case 'fail':
        throw new Error(fill(step.message, this.#outcomes))
    }
  }

  async #stream(type: 'text' | 'thinking', blockId: string, template: string): Promise<void> {
    if (this.#doneBlocks.has(blockId)) return
    const { context, pace } = this.#options
    const text = fill(template, this.#outcomes)
    for (const part of pieces(text)) {
      if (pace > 0) await this.#pause(pace)
      context.live({ type: `${type}_delta`, blockId, text: part })
    }
    await context.report({ type, blockId, text, ...this.#place() })
  }

  async #tool(step: Extract<Step, { do: 'tool' }>, id: string): Promise<void> {
    const { toolName, input, output, isError = false, parent } = step
    if (step.name !== undefined) {
      this.#ids.set(step.name, id)
      const outcome = isError ? 'failed' : 'done'
      this.#outcomes.set(step.name, { settlement: outcome, text: outcome })
    }
    const parentToolCallId = parent === undefined ? undefined : this.#ids.get(parent)
    await this.#call(toolName, input, id, parentToolCallId)
    await this.#pause(this.#options.pace * 8)
    await this.#result(id, output, isError)
  }

  async #approve(step: Extract<Step, { do: 'approve' }>, id: string): Promise<void> {
    const { toolName, input, output, title, description, edits, timeoutMs, name } = step
    await this.#call(toolName, input, id)
    const settled = await this.#options.context.session.approve({
      toolName,
      input,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(edits && { edit: 'inside' }),
      ...this.#asking(id, timeoutMs),
    })
    this.#options.signal.throwIfAborted()
    // With its result in the log it has run.
    const inDoubt = settled.settlement === 'approved' && settled.inDoubt && !this.#doneCalls.get(id)
    const outcome = inDoubt
      ? { settlement: 'in_doubt', text: 'in doubt' }
      : outcomeOf(settled, () => 'approved')
    if (name !== undefined) this.#outcomes.set(name, outcome)
    if (inDoubt)
      return this.#result(id, 'A restart came in between: this may have run. It is not run again.', true)
    if (settled.settlement === 'approved') return this.#result(id, output, false)
    await this.#result(id, refusal(settled), true)
  }

  async #asked<Answer>(
    name: string | undefined,
    settled: Settlement<Answer>,
    id: string,
    read: (answer: Answer) => string,
  ): Promise<void> {
    this.#options.signal.throwIfAborted()
    const { settlement } = settled
    const answered = settlement === 'answered' || settlement === 'approved'
    const outcome = outcomeOf(settled, read)
    if (name !== undefined) this.#outcomes.set(name, outcome)
    await this.#result(id, answered ? outcome.text : refusal(settled), !answered)
  }

  async #call(toolName: string, input: Json, toolCallId: string, parentToolCallId?: string): Promise<void> {
    if (this.#doneCalls.has(toolCallId)) return
    const parent = parentToolCallId === undefined ? {} : { parentToolCallId }
    await this.#options.context.report({
      type: 'tool_call',
      toolCallId,
      toolName,
      input,
      source: 'agent',
      ...parent,
      ...this.#place(),
    })
  }

  async #result(toolCallId: string, output: Json, isError: boolean): Promise<void> {
    if (this.#doneCalls.get(toolCallId)) return
    await this.#options.context.report({ type: 'tool_result', toolCallId, output, isError, ...this.#place() })
  }

  #asking(toolCallId: string, timeoutMs: number | null | undefined) {
    const { turnId, signal } = this.#options
    const deadline = timeoutMs === undefined ? {} : { timeoutMs }
    return { toolCallId, attach: true, turnId, responseId: turnId, signal, ...deadline }
  }

  #place() {
    const { turnId } = this.#options
    return { turnId, responseId: turnId }
  }

  #pause(ms: number): Promise<void> {
    const { clock, signal } = this.#options
    if (ms <= 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const stop = () => {
        disarm()
        reject(signal.reason as Error)
      }
      const disarm = clock.alarm(clock.now() + ms, () => {
        signal.removeEventListener('abort', stop)
        resolve()
      })
      signal.addEventListener('abort', stop, { once: true })
    })
  }
}

function pieces(text: string): string[] {
  const words = text.split(/(?<=\s)/)
  const parts: string[] = []
  for (let index = 0; index < words.length; index += WORDS_PER_DELTA) {
    parts.push(words.slice(index, index + WORDS_PER_DELTA).join(''))
  }
  return parts
}

function summary(answers: QuestionReply[]): string {
  return answers
    .map(({ selected, other }) => [...selected, ...(other === undefined ? [] : [other])].join(' + '))
    .join('; ')
}

function outcomeOf<Answer>(settled: Settlement<Answer>, read: (answer: Answer) => string): Outcome {
  const { settlement } = settled
  switch (settlement) {
    case 'answered':
    case 'approved':
      return { settlement, text: read(settled.answer) }
    case 'denied':
      return { settlement, text: 'denied', reason: settled.message }
    case 'timed_out':
      return { settlement, text: 'no answer in time' }
    case 'cancelled':
    case 'superseded':
      return { settlement, text: 'no answer' }
  }
}

function refusal(settled: Settlement<unknown>): string {
  switch (settled.settlement) {
    case 'denied':
      return settled.message === undefined ? 'The person said no.' : `The person said no: ${settled.message}`
    case 'cancelled':
      return 'The request was cancelled.'
    case 'timed_out':
      return 'Nobody answered in time.'
    case 'superseded':
      return 'The request was replaced by another.'
    case 'answered':
    case 'approved':
      return ''
  }
}

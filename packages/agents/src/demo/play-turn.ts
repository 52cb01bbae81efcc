import type { AgentContext, Clock, Settlement } from '@askback/core'
import { copyJson, type Json, type QuestionReply, type SessionStateJson } from '@askback/protocol'
import { fillTemplate, matchesOutcome, type Step, type StepOutcome } from './script.js'

const WORDS_PER_DELTA = 2

export interface PlayOptions {
  context: AgentContext
  turnId: string
  clock: Clock
  /** The pause between two parts of streamed text, in milliseconds. */
  paceMs: number
  signal: AbortSignal
  /** The state of the session when the turn was interrupted. What it contains is not done again. */
  earlier: SessionStateJson | null
}

/**
 * Plays the steps of one turn. Ids are made from the turn's id and the position of a step. So a turn that is played again after a
 * restart finds its own tool calls, blocks and interactions, and continues after them.
 */
export async function playTurn(steps: Step[], options: PlayOptions): Promise<void> {
  await new TurnPlayer(options).play(steps, options.turnId)
}

class TurnPlayer {
  readonly #options: PlayOptions
  readonly #outcomes = new Map<string, StepOutcome>()
  /** Ids of tool calls by the names of their steps. */
  readonly #toolCallIds = new Map<string, string>()
  readonly #loggedBlocks: ReadonlySet<string>
  /** Whether each logged call has a result. */
  readonly #loggedCalls: ReadonlyMap<string, boolean>

  constructor(options: PlayOptions) {
    this.#options = options
    const { earlier } = options
    const items = earlier?.turns.flatMap((turn) => turn.items) ?? []
    this.#loggedBlocks = new Set(items.flatMap((item) => ('id' in item ? [item.id] : [])))
    this.#loggedCalls = new Map(
      earlier?.toolCalls.map((call) => [call.toolCallId, call.result !== undefined]),
    )
  }

  async play(steps: Step[], position: string): Promise<void> {
    for (const [index, step] of steps.entries()) {
      this.#options.signal.throwIfAborted()
      await this.#playStep(step, `${position}.${index + 1}`)
    }
  }

  async #playStep(step: Step, id: string): Promise<void> {
    switch (step.do) {
      case 'say':
        return this.#stream('text', id, step.text)
      case 'think':
        return this.#stream('thinking', id, step.text)
      case 'tool':
        return this.#tool(step, id)
      case 'ask': {
        const { questions, timeoutMs } = step
        await this.#logCall('AskUserQuestion', copyJson({ questions }), id)
        const settled = await this.#options.context.session.ask({
          questions,
          ...this.#requestOptions(id, timeoutMs),
        })
        return this.#finishRequest(step.name, settled, id, (answer) => joinAnswers(answer.answers))
      }
      case 'approve':
        return this.#approve(step, id)
      case 'plan': {
        const { planFilePath, timeoutMs } = step
        const plan = fillTemplate(step.plan, this.#outcomes)
        await this.#logCall('ExitPlanMode', { plan }, id)
        const request = { plan, ...(planFilePath !== undefined && { planFilePath }) }
        const settled = await this.#options.context.session.reviewPlan({
          ...request,
          ...this.#requestOptions(id, timeoutMs),
        })
        return this.#finishRequest(step.name, settled, id, (answer) => answer.decision)
      }
      case 'form': {
        const { message, schema, initialValues, timeoutMs } = step
        const request = { message, schema, ...(initialValues && { initialValues }) }
        await this.#logCall('fill_form', { message }, id)
        const settled = await this.#options.context.session.form({
          ...request,
          ...this.#requestOptions(id, timeoutMs),
        })
        return this.#finishRequest(step.name, settled, id, (answer) => JSON.stringify(answer.values))
      }
      case 'together':
        await Promise.all(step.steps.map((each, index) => this.#playStep(each, `${id}.${index + 1}`)))
        return
      case 'when': {
        const isMet = matchesOutcome(this.#outcomes.get(step.name), step.is)
        return this.play(isMet ? step.steps : (step.otherwise ?? []), isMet ? id : `${id}.otherwise`)
      }
      case 'pause':
        return this.#pause(step.ms)
      case 'fail':
        throw new Error(fillTemplate(step.message, this.#outcomes))
    }
  }

  async #stream(type: 'text' | 'thinking', blockId: string, template: string): Promise<void> {
    if (this.#loggedBlocks.has(blockId)) return
    const { context, paceMs } = this.#options
    const text = fillTemplate(template, this.#outcomes)
    for (const part of deltasOf(text)) {
      if (paceMs > 0) await this.#pause(paceMs)
      context.live({ type: `${type}_delta`, blockId, text: part })
    }
    await context.report({ type, blockId, text, ...this.#eventPlace() })
  }

  async #tool(step: Extract<Step, { do: 'tool' }>, id: string): Promise<void> {
    const { toolName, input, output, isError = false, parent } = step
    if (step.name !== undefined) {
      this.#toolCallIds.set(step.name, id)
      const outcome = isError ? 'failed' : 'done'
      this.#outcomes.set(step.name, { settlement: outcome, text: outcome })
    }
    const parentToolCallId = parent === undefined ? undefined : this.#toolCallIds.get(parent)
    await this.#logCall(toolName, input, id, parentToolCallId)
    await this.#pause(this.#options.paceMs * 8)
    await this.#logResult(id, output, isError)
  }

  async #approve(step: Extract<Step, { do: 'approve' }>, id: string): Promise<void> {
    const { toolName, input, output, title, description, edits, timeoutMs, name } = step
    await this.#logCall(toolName, input, id)
    const settled = await this.#options.context.session.approve({
      toolName,
      input,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(edits && { edit: 'inside' }),
      ...this.#requestOptions(id, timeoutMs),
    })
    this.#options.signal.throwIfAborted()
    // A call with a result has run, so its approval is not in doubt any more.
    const isInDoubt = settled.settlement === 'approved' && settled.inDoubt && !this.#loggedCalls.get(id)
    const outcome = isInDoubt
      ? { settlement: 'in_doubt', text: 'in doubt' }
      : outcomeOf(settled, () => 'approved')
    if (name !== undefined) this.#outcomes.set(name, outcome)
    if (isInDoubt)
      return this.#logResult(id, 'A restart came in between: this may have run. It is not run again.', true)
    if (settled.settlement === 'approved') return this.#logResult(id, output, false)
    await this.#logResult(id, refusalText(settled), true)
  }

  async #finishRequest<Answer>(
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
    await this.#logResult(id, answered ? outcome.text : refusalText(settled), !answered)
  }

  async #logCall(
    toolName: string,
    input: Json,
    toolCallId: string,
    parentToolCallId?: string,
  ): Promise<void> {
    if (this.#loggedCalls.has(toolCallId)) return
    const parent = parentToolCallId === undefined ? {} : { parentToolCallId }
    await this.#options.context.report({
      type: 'tool_call',
      toolCallId,
      toolName,
      input,
      source: 'agent',
      ...parent,
      ...this.#eventPlace(),
    })
  }

  async #logResult(toolCallId: string, output: Json, isError: boolean): Promise<void> {
    if (this.#loggedCalls.get(toolCallId)) return
    await this.#options.context.report({
      type: 'tool_result',
      toolCallId,
      output,
      isError,
      ...this.#eventPlace(),
    })
  }

  #requestOptions(toolCallId: string, timeoutMs: number | null | undefined) {
    const { turnId, signal } = this.#options
    const deadline = timeoutMs === undefined ? {} : { timeoutMs }
    return { toolCallId, attach: true, turnId, responseId: turnId, signal, ...deadline }
  }

  #eventPlace() {
    const { turnId } = this.#options
    return { turnId, responseId: turnId }
  }

  #pause(ms: number): Promise<void> {
    const { clock, signal } = this.#options
    if (ms <= 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const stop = () => {
        disarm()
        reject(signal.reason)
      }
      const disarm = clock.alarm(clock.now() + ms, () => {
        signal.removeEventListener('abort', stop)
        resolve()
      })
      signal.addEventListener('abort', stop, { once: true })
    })
  }
}

function deltasOf(text: string): string[] {
  const words = text.split(/(?<=\s)/)
  const parts: string[] = []
  for (let index = 0; index < words.length; index += WORDS_PER_DELTA) {
    parts.push(words.slice(index, index + WORDS_PER_DELTA).join(''))
  }
  return parts
}

function joinAnswers(answers: QuestionReply[]): string {
  return answers
    .map(({ selected, other }) => [...selected, ...(other === undefined ? [] : [other])].join(' + '))
    .join('; ')
}

function outcomeOf<Answer>(settled: Settlement<Answer>, read: (answer: Answer) => string): StepOutcome {
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

function refusalText(settled: Settlement<unknown>): string {
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

import { AskbackError, type Actor, type Interaction } from '@askback/protocol'
import type { AnswerRule } from './answers.js'
import { answering, type AnsweringTarget } from './target.js'

/** How to answer the requests of each kind. Those of other kinds stay pending. */
export interface AnswerRules {
  question?: AnswerRule
  approval?: AnswerRule
  plan_review?: AnswerRule
  form?: AnswerRule
  /** Kinds of your own. */
  [kind: string]: AnswerRule | undefined
}

/** How `autoAnswer` answers each kind. */
export interface AutoAnswerOptions {
  /**
   * The person in whose name a desk in the same process records the answers. Behind a gateway it is that of the token.
   *
   * @default { id: 'test-person', name: 'Test person' }
   */
  actor?: Actor
  /**
   * Called with what a rule throws, and with an answer that the desk refuses.
   *
   * @default it is thrown where nobody catches it, so that any test runner reports it
   */
  onError?: (error: unknown) => void
}

/** Answers requests until it is stopped. */
export interface AutoAnswer {
  /** The requests that were answered so far, with their answers. */
  readonly answered: readonly Interaction[]
  /** Answers nothing any more. Resolves when nothing is under way. */
  stop(): Promise<void>
}

/**
 * Answers everything that is pending, and everything that comes, by the rules. An answer that a person or another rule gave
 * first stays.
 *
 * @example
 * const people = autoAnswer(desk, { question: first, approval: approve })
 * await runMyProgram(desk)
 * await people.stop()
 */
export function autoAnswer(
  target: AnsweringTarget,
  rules: AnswerRules,
  options: AutoAnswerOptions = {},
): AutoAnswer {
  const { actor = { id: 'test-person', name: 'Test person' }, onError = throwUncaught } = options
  const side = answering(target, actor)
  const answered: Interaction[] = []
  const stopping = new AbortController()

  async function answerOne(request: Interaction): Promise<void> {
    try {
      const rule = Object.hasOwn(rules, request.kind) ? rules[request.kind] : undefined
      const answer = await rule?.(request)
      if (answer !== undefined) answered.push(await side.respond(request, answer))
    } catch (error) {
      if (!isSettled(error)) onError(error)
    }
  }

  async function answerAll(): Promise<void> {
    for await (const request of side.requests({ signal: stopping.signal })) await answerOne(request)
  }

  const running = answerAll().catch(onError)
  return {
    answered,
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** Somebody else was faster, or the program has withdrawn the request. */
export function isSettled(error: unknown): boolean {
  return error instanceof AskbackError && (error.code === 'already_settled' || error.code === 'not_found')
}

function throwUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}

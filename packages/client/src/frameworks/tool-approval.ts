/**
 * Approvals of the tool calls that a framework has stopped at. All calls of one step are asked for at once, and each is answered on its own. No
 * approval is claimed before all are settled: a program that is killed while one of them is pending has used none of the others.
 */
import { canonicalJson, copyJson, sha256Hex, type Json, type StandardSchema } from '@askback/protocol'
import type { AskbackSession, AskingOptions } from '../asking/askback.js'
import type { AskOutcome } from '../asking/asked.js'

/** Options of every framework. */
export interface FrameworkOptions extends Pick<AskingOptions, 'timeout' | 'onTimeout' | 'signal'> {
  /** The session in which people are asked, of `connect()`. */
  session: AskbackSession
  /**
   * Names this run, for example by the id of a job. A program that was killed while it waited, and runs again with the same key, waits for the
   * requests that it has made before. Another run must have another key.
   *
   * @default none: a program that is started again asks again
   */
  key?: string
}

/** A tool call that waits for a person. */
export interface WaitingCall {
  toolName: string
  /** As JSON, which is what people see and what they approve. */
  input: unknown
  description?: string | undefined
  /** What identifies the call in its run, also after a restart. */
  id: string
  /** Checks an input that the person has edited; `anyInput` if the framework checks it. Without it an edited input is refused. */
  schema?: StandardSchema | undefined
}

export type Verdict =
  | { approved: true; input: unknown; isEdited: boolean }
  /** Why the call must not run, in words for the model. */
  | { approved: false; message: string }

/** With `others`, no approval is claimed before that has resolved, and none if it rejects: other requests of the same step. */
export async function approveCalls(
  calls: readonly WaitingCall[],
  { session, key, ...options }: FrameworkOptions,
  others: Promise<unknown> = Promise.resolve(),
): Promise<Verdict[]> {
  const settled = new Rendezvous(calls.length)
  return Promise.all(
    calls.map(async ({ toolName, input, description, id, schema }) => {
      try {
        const asked = session.approve(toolName, input, {
          ...options,
          ...(description !== undefined && { description }),
          ...(key !== undefined && { key: callKey(key, id) }),
          ...(schema && { schema }),
          async onSettled() {
            await settled.arrive()
            await others
          },
        })
        return verdictOf(await asked.outcome())
      } catch (error) {
        settled.fail(error)
        throw error
      }
    }),
  )
}

function verdictOf(outcome: AskOutcome<unknown>): Verdict {
  if (!outcome.ok) return { approved: false, message: refusal(outcome) }
  const { answer } = outcome.interaction
  const isEdited = typeof answer === 'object' && answer !== null && 'updatedInput' in answer
  return { approved: true, input: outcome.value, isEdited }
}

/** What a model reads when a call did not run. Only what a person denied is called that. */
export function refusal({ reason, message }: Extract<AskOutcome<unknown>, { ok: false }>): string {
  return reason === 'denied' ? message : `This did not run, and no person denied it. ${message}`
}

/** What a model reads in a framework that cannot run an edited input. */
export function refusalOfEdit(verdict: Verdict): string {
  if (!verdict.approved) return verdict.message
  return `This did not run. A person wants it to run with another input. Call the tool again with exactly this input: ${JSON.stringify(verdict.input)}`
}

/** The key of one request of a run. */
export function callKey(key: string, id: string): string {
  return JSON.stringify([key, id])
}

/** Identifies a call by what it does, where the framework gives it another id after a restart. */
export function contentId(toolName: string, input: unknown): string {
  return `${toolName} ${sha256Hex(canonicalJson(jsonOf(input)))}`
}

/** The input as JSON. A call without an input has `null`. */
export function jsonOf(input: unknown): Json {
  return copyJson(input ?? null, 'input')
}

/** For frameworks that validate the input themselves before the tool runs. */
export const anyInput: StandardSchema = {
  '~standard': { version: 1, vendor: 'askback', validate: (value) => ({ value }) },
}

/** Where the requests of one step wait for each other. One that fails ends the wait of all. */
class Rendezvous {
  readonly #all: Promise<void>
  #missing: number
  #open = () => {}
  #break: (reason: unknown) => void = () => {}

  constructor(count: number) {
    this.#missing = count
    this.#all = new Promise<void>((resolve, reject) => {
      this.#open = resolve
      this.#break = reject
    })
    // Nobody may wait for it when it fails.
    this.#all.catch(() => undefined)
  }

  arrive(): Promise<void> {
    this.#missing -= 1
    if (this.#missing === 0) this.#open()
    return this.#all
  }

  fail(reason: unknown): void {
    this.#break(reason)
  }
}

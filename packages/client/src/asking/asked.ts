import type { Actor, Interaction, Via } from '@askback/protocol'

/**
 * Why there is no answer:
 *
 * - `denied`: a person said no; `message` has what they said.
 * - `cancelled`: a person, the program or the end of the session withdrew the request.
 * - `timed_out`: nobody answered before the deadline.
 * - `superseded`: another request replaced this one.
 * - `in_doubt`: it was approved, but the approval had been handed over before, so the call may have run. It must not run again.
 * - `other_text`: the person chose none of the options and wrote a text of their own, which is `text`.
 * - `edited_input`: the person approved an edited input, and no `schema` is there that could check it.
 */
export type MissingReason =
  | 'denied'
  | 'cancelled'
  | 'timed_out'
  | 'superseded'
  | 'in_doubt'
  | 'other_text'
  | 'edited_input'

/** An answer, and who gave it. */
export interface GivenAnswer<Value> {
  ok: true
  value: Value
  /** Missing if no person decided: a stored rule, or the declared answer at the deadline. Then `via` is `policy`. */
  by?: Actor
  via?: Via
  interaction: Interaction
}

/** The request ended without an answer that fits. */
export interface MissingAnswer {
  ok: false
  reason: MissingReason
  /** One sentence for a person to read. */
  message: string
  /** What the person wrote instead, if the reason is `other_text`. */
  text?: string
  by?: Actor
  via?: Via
  interaction: Interaction
}

/** How a request ended. `value` can only be read after `ok` was checked. */
export type AskOutcome<Value> = GivenAnswer<Value> | MissingAnswer

/**
 * Thrown where a request ended without an answer. It is never thrown for a failure of the program or the network: that is an
 * `AskbackError`.
 *
 * @example
 * try {
 *   await deploy('1.4.0')
 * } catch (error) {
 *   if (!(error instanceof NotAnswered)) throw error
 *   console.log(error.reason, error.message) // denied Ada denied it: Not on a Friday.
 * }
 */
export class NotAnswered extends Error {
  override readonly name = 'NotAnswered'
  readonly outcome: MissingAnswer

  constructor(outcome: MissingAnswer) {
    super(outcome.message)
    this.outcome = outcome
  }

  get reason(): MissingReason {
    return this.outcome.reason
  }

  /** How the request was settled, by whom and when. */
  get interaction(): Interaction {
    return this.outcome.interaction
  }
}

/**
 * The promise of an answer. Awaited, it is the value, or it throws `NotAnswered`, so that a program cannot go on by accident as
 * if somebody had agreed. A program that wants to look at every way a request can end awaits `outcome()` instead.
 *
 * @example
 * const database = await session.choose('Which database?', ['PostgreSQL', 'SQLite'])
 *
 * const outcome = await session.choose('Which database?', ['PostgreSQL', 'SQLite']).outcome()
 * const database = outcome.ok ? outcome.value : 'SQLite'
 */
export class Asked<Value> extends Promise<Value> {
  #outcome: Promise<AskOutcome<Value>> | undefined

  /** What `then`, `catch` and `finally` return is a plain promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** @internal */
  static of<Value>(outcome: Promise<AskOutcome<Value>>): Asked<Value> {
    const asked = new Asked<Value>((resolve, reject) => {
      outcome.then((ended) => (ended.ok ? resolve(ended.value) : reject(new NotAnswered(ended))), reject)
    })
    asked.#outcome = outcome
    return asked
  }

  /** Resolves however the request ends. It rejects only for a failure, such as a gateway that refuses the request. */
  outcome(): Promise<AskOutcome<Value>> {
    // The caller gets to know by the outcome what this promise would have thrown.
    this.catch(() => undefined)
    return this.#outcome ?? Promise.reject(new TypeError('This promise was not made by asking.'))
  }
}

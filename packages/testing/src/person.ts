import { durationMs, type Duration, type FormValues, type Interaction } from '@askback/protocol'
import { approve, deny, fill, type AnswerRule } from './answers.js'
import { isSettled } from './auto-answer.js'
import { answering, type AnsweringTarget } from './target.js'

/** The options of a scripted person. */
export interface PersonOptions {
  /** The name that a desk in the same process records. Behind a gateway it is that of the token. */
  name: string
  /**
   * How long to wait for a request before the test fails.
   *
   * @default '5s'
   */
  patience?: Duration
}

/** Finds a request: by a text that it shows, by a pattern of such a text, or by a condition. */
export type RequestMatch = string | RegExp | ((request: Interaction) => boolean)

/** A person of a test, who does what the test says, in its order. */
export interface ScriptedPerson {
  /** Waits for a request and returns it, without an answer. The next call finds the same one. */
  sees(match: RequestMatch): Promise<Interaction>
  /** Waits for a request and answers it. */
  answers(match: RequestMatch, rule: AnswerRule): Promise<Interaction>
  /** Waits for an approval, such as that of a tool, and approves it. */
  approves(match: RequestMatch): Promise<Interaction>
  /** Waits for an approval and denies it. */
  denies(match: RequestMatch, message?: string): Promise<Interaction>
  /** Waits for a form and fills it in. */
  fillsIn(match: RequestMatch, values: FormValues): Promise<Interaction>
  /** Looks at no more requests. What waits for one fails. */
  leaves(): Promise<void>
}

/**
 * A person who answers what a test tells them to. Each call waits until a request is there that shows the text, and fails with a list of
 * what is pending if none comes.
 *
 * @example
 * const ada = person(desk, { name: 'Ada' })
 * const deployed = deploy('1.4.0')
 * await ada.denies('deploy', 'Not on a Friday.')
 * await expect(deployed).rejects.toThrow('Not on a Friday.')
 */
export function person(target: AnsweringTarget, { name, patience = '5s' }: PersonOptions): ScriptedPerson {
  const patienceMs = durationMs(patience, 'patience')
  const side = answering(target, { id: name.toLowerCase(), name })
  const leaving = new AbortController()
  const pending = new Map<string, Interaction>()
  const waiting = new Set<() => void>()
  let failure: unknown

  const looking = (async () => {
    try {
      for await (const request of side.requests({ signal: leaving.signal })) {
        pending.set(request.interactionId, request)
        for (const check of waiting) check()
      }
      failure = new Error(`${name} has left.`)
    } catch (error) {
      failure = error
    }
    for (const check of waiting) check()
  })()

  function sees(match: RequestMatch): Promise<Interaction> {
    return new Promise((resolve, reject) => {
      const end = () => {
        waiting.delete(check)
        clearTimeout(timer)
      }
      const check = () => {
        const found = [...pending.values()].find((request) => isMatch(match, request))
        if (found === undefined && failure === undefined) return
        end()
        if (found) resolve(found)
        else reject(failure)
      }
      const giveUp = () => {
        end()
        reject(
          new Error(`${name} saw no request that shows ${describeMatch(match)}. ${describePending(pending)}`),
        )
      }
      const timer = patienceMs === null ? undefined : setTimeout(giveUp, patienceMs)
      waiting.add(check)
      check()
    })
  }

  async function answers(match: RequestMatch, rule: AnswerRule): Promise<Interaction> {
    for (;;) {
      const request = await sees(match)
      const answer = await rule(request)
      pending.delete(request.interactionId)
      if (answer === undefined) return request
      try {
        return await side.respond(request, answer)
      } catch (error) {
        // It ended before; another request may show the same.
        if (!isSettled(error)) throw error
      }
    }
  }

  return {
    sees,
    answers,
    approves: (match) => answers(match, approve),
    denies: (match, message) => answers(match, deny(message)),
    fillsIn: (match, values) => answers(match, fill(values)),
    async leaves() {
      leaving.abort()
      await looking
    },
  }
}

function isMatch(match: RequestMatch, request: Interaction): boolean {
  if (typeof match === 'function') return match(request)
  const texts = shownTexts(request)
  return texts.some((text) => (typeof match === 'string' ? text.includes(match) : text.search(match) >= 0))
}

/** What a card shows: the name of the tool, and every text of the request. */
function shownTexts({ toolName, kind, request }: Interaction): string[] {
  return [toolName, kind, ...textsIn(request)]
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

function describeMatch(match: RequestMatch): string {
  if (typeof match === 'function') return 'what the condition asks for'
  return typeof match === 'string' ? JSON.stringify(match) : String(match)
}

function describePending(pending: ReadonlyMap<string, Interaction>): string {
  if (pending.size === 0) return 'Nothing is pending.'
  const lines = Array.from(pending.values(), ({ kind, toolName, request }) => {
    const [text = toolName] = textsIn(request)
    return `${kind} ${JSON.stringify(text)}`
  })
  return `Pending: ${lines.join(', ')}.`
}

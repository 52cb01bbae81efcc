import { settings } from '@clack/core'
import type { Card, Clock } from '@askback/core'
import { Arming } from './arming.js'
import type { Asked, Asker, Question } from './asker.js'
import { KeyPrompt } from './key-prompt.js'
import { LinePrompt, RestingPrompt } from './line-prompt.js'
import { runPrompt, type Streams } from './run-prompt.js'

const AGENT = 'the agent'

/** Keys and a line to type in, below everything that was said. */
export function keyAsker({ input, output, clock }: Streams & { clock: Clock }): Asker {
  // Here it leads back, and does not leave.
  settings.aliases.delete('escape')
  const positions = new Map<string, number>()
  /** What was typed stays with what it was typed for. */
  const drafts = new Map<string, string>()
  const arming = new Arming(clock)
  let typingFor: string | null = null

  async function askByKeys(card: Card, question: Question, signal: AbortSignal): Promise<Asked | null> {
    const at = positions.get(card.cardId) ?? -1
    const prompt = new KeyPrompt({ input, output }, card, question, { at, arming })
    const result = await runPrompt(prompt, signal, output)
    positions.set(card.cardId, prompt.at)
    if (result === 'aborted') return null
    const key = prompt.value
    if (result === 'cancelled' || key === undefined) return { detach: true }
    if (!('type' in key)) return key
    typingFor = card.cardId
    if (key.type !== '') drafts.set(card.cardId, key.type)
    return null
  }

  async function askByText(question: Question, signal: AbortSignal): Promise<Asked | null> {
    const { card } = question
    const target = card?.cardId ?? AGENT
    const draft = drafts.get(target) ?? ''
    if (arming.restMs > 0) {
      const resting = new RestingPrompt({ input, output }, question, draft, { arming, clock })
      const rested = await runPrompt(resting, signal, output)
      if (rested !== 'done') return rested === 'cancelled' ? { detach: true } : null
    }
    const prompt = new LinePrompt({ input, output }, question, draft)
    const result = await runPrompt(prompt, signal, output)
    if (result === 'aborted') {
      drafts.set(target, prompt.userInput)
      return null
    }
    drafts.delete(target)
    typingFor = null
    if (result === 'cancelled') return { detach: true }
    const back = card?.controls.find(({ id }) => id === 'back')
    if (prompt.value !== undefined) return { text: prompt.value }
    return back ? { control: back.id } : null
  }

  return {
    print: (text) => void output.write(`${text}\n`),
    async ask(question, signal) {
      const { card } = question
      if (signal.aborted) return null
      arming.aim(card?.cardId ?? AGENT)
      const types =
        !card ||
        typingFor === card.cardId ||
        (card.asks !== null && card.controls.every(({ id }) => id === 'back'))
      const asked = types ? await askByText(question, signal) : await askByKeys(card, question, signal)
      if (asked && 'text' in asked && /^\/(quit|detach)$/.test(asked.text.trim())) return { detach: true }
      return asked
    },
    stop: () => undefined,
  }
}

import { settings } from '@clack/core'
import type { Clock } from '@askback/core'
import type { TextCard } from '../cards/card.js'
import { KeyGuard } from './key-guard.js'
import { DisabledLinePrompt, KeyPrompt, LinePrompt, runPrompt, type Streams } from './prompts.js'
import type { InputPrompt, PersonInput, TerminalInput } from './terminal-input.js'

/** The target of a text when no card is open. */
const AGENT = 'the agent'

/**
 * Input with keys. The prompt is always the last thing on the screen: the controls of a card, or a line to type in. What was
 * typed for one card stays a draft of that card, and is never sent to another.
 */
export function keyInput({ input, output, clock }: Streams & { clock: Clock }): TerminalInput {
  // In the library, Escape cancels a prompt. Here it goes back one step.
  settings.aliases.delete('escape')
  const markedControls = new Map<string, number>()
  const drafts = new Map<string, string>()
  const guard = new KeyGuard(clock)
  /** The card for which the person chose to type a text. */
  let typingFor: string | null = null

  async function readKeys(
    card: TextCard,
    shown: InputPrompt,
    signal: AbortSignal,
  ): Promise<PersonInput | null> {
    const at = markedControls.get(card.cardId) ?? -1
    const prompt = new KeyPrompt({ input, output }, card, shown, { at, guard })
    const result = await runPrompt(prompt, signal, output)
    markedControls.set(card.cardId, prompt.at)
    if (result === 'aborted') return null
    const entered = prompt.value
    if (result === 'cancelled' || entered === undefined) return { detach: true }
    if (!('type' in entered)) return entered
    typingFor = card.cardId
    if (entered.type !== '') drafts.set(card.cardId, entered.type)
    return null
  }

  async function readLine(shown: InputPrompt, signal: AbortSignal): Promise<PersonInput | null> {
    const { card } = shown
    const target = card?.cardId ?? AGENT
    const draft = drafts.get(target) ?? ''
    if (guard.remainingMs > 0) {
      const disabled = new DisabledLinePrompt({ input, output }, shown, draft, { guard, clock })
      const result = await runPrompt(disabled, signal, output)
      if (result !== 'done') return result === 'cancelled' ? { detach: true } : null
    }
    const prompt = new LinePrompt({ input, output }, shown, draft)
    const result = await runPrompt(prompt, signal, output)
    if (result === 'aborted') {
      drafts.set(target, prompt.userInput)
      return null
    }
    drafts.delete(target)
    typingFor = null
    if (result === 'cancelled') return { detach: true }
    if (prompt.value !== undefined) return { text: prompt.value }
    const back = card?.controls.find(({ id }) => id === 'back')
    return back ? { control: back.id } : null
  }

  return {
    print: (text) => void output.write(`${text}\n`),
    async read(shown, signal) {
      const { card } = shown
      if (signal.aborted) return null
      guard.setTarget(card?.cardId ?? AGENT)
      const takesLine =
        !card ||
        typingFor === card.cardId ||
        (card.asks !== null && card.controls.every(({ id }) => id === 'back'))
      const entered = takesLine ? await readLine(shown, signal) : await readKeys(card, shown, signal)
      const isQuit = entered && 'text' in entered && /^\/(quit|detach)$/.test(entered.text.trim())
      return isQuit ? { detach: true } : entered
    },
    stop: () => undefined,
  }
}

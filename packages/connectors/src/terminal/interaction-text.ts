import { spellOut, spellOutLine, type Interaction, type Json } from '@askback/protocol'
import { EMPTY_VIEW } from '../cards/card.js'
import { bodyOf } from '../cards/cards.js'
import { drawCard } from './drawing.js'

/**
 * A request as a terminal shows it: complete, with what the agent says labelled as such, and each row of the agent marked, so
 * that it cannot print a row that looks like one of Askback. `updatedInput` is what would run instead of the input.
 */
export function interactionText(
  interaction: Interaction,
  { columns, now, updatedInput }: { columns: number; now: number; updatedInput?: Json | undefined },
): string {
  const { sessionId, interactionId, kind, expiresAt } = interaction
  const { parts, ...body } = bodyOf(interaction, EMPTY_VIEW)
  // A kind without controls has a note about where to answer it, but the person who reads this is about to answer it here.
  const shown = body.controls.length === 0 ? parts.filter(({ as }) => as !== 'note') : parts
  const updated =
    updatedInput === undefined
      ? []
      : [
          {
            as: 'code' as const,
            label: 'With this input instead',
            text: spellOut(JSON.stringify(updatedInput, null, 2), 'code'),
          },
        ]
  const card = {
    ...body,
    parts: [...shown, ...updated],
    cardId: '',
    sessionId,
    interactionId,
    kind,
    from: spellOutLine(interactionId, 'code'),
    ...(expiresAt !== undefined && { expiresAt }),
  }
  return drawCard(card, now, columns).join('\n')
}

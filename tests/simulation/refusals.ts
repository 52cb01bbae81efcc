import type { AskbackError, Interaction } from '@askback/protocol'
import type { LoggedInteraction, LogModel } from './log-model.js'
import type { Sent } from './sent.js'
import { checkReturned } from './interaction-rules.js'
import { holds } from './violation.js'

/** An answer is refused only if it is wrong (L9, L12), or because another answer was first (L3). */
export function checkRefusal(
  model: LogModel,
  error: AskbackError,
  { sent, target, keyed }: { sent: Sent; target?: LoggedInteraction | undefined; keyed: boolean },
): void {
  const answer = sent.what === 'answer' ? sent : null
  const isText = sent.what === 'text'
  const why = () => `${sent.id} was refused: ${error.code} ${error.message}`
  switch (error.code) {
    case 'unavailable':
      return
    case 'not_found':
      return holds(target === undefined || target.session.ended, 'L9', why)
    case 'already_settled': {
      const { interaction } = (error.details ?? {}) as { interaction?: Interaction }
      // A text that comes too late for one question of a request gets no interaction back.
      if (!interaction) return holds(isText, 'L3', why)
      const { response } = checkReturned(model, interaction)
      holds(interaction.status === 'settled', 'L3', why)
      return holds(!keyed || response?.by?.name !== sent.id, 'idempotency', why)
    }
    case 'invalid_answer':
      return holds(isText || answer?.fit === 'invalid' || answer?.fit === 'reprompt', 'L9', why)
    case 'digest_mismatch':
      return holds(answer?.digestFits === false, 'L12', why)
    case 'ambiguous':
      return holds(answer?.interactionId === null, 'L9', why)
    case 'nothing_pending':
    case 'needs_decision':
    case 'invalid_request':
      return holds(isText, 'text routing', why)
    default:
      holds(false, 'answering', why)
  }
}

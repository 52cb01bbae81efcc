import type { AskbackError, Interaction } from '@askback/protocol'
import type { Asked, LogModel } from './log-model.js'
import type { Sent } from './sent.js'
import { checkTold } from './told.js'
import { holds } from './violation.js'

/** An answer is refused only for what is wrong with it (L9, L12), or because another has won (L3). */
export function checkRefusal(
  model: LogModel,
  error: AskbackError,
  { sent, target, keyed }: { sent: Sent; target?: Asked | undefined; keyed: boolean },
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
      // A text can also come too late for its question only.
      if (!interaction) return holds(isText, 'L3', why)
      const { response } = checkTold(model, interaction)
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

import { approvalAnswer, approvalRequest, type Interaction } from '@askback/protocol'
import { ShownText } from '../content/shown-text.js'
import { describeCall } from './describe-call.js'

/** "Approved for this session" and the like. */
export function ApprovalOutcome({ interaction }: { interaction: Interaction }) {
  const { settlement, via, updatedDigest } = interaction
  const answer = approvalAnswer.safeParse(interaction.answer).data
  if (settlement === 'approved') {
    if (via === 'policy') return 'Approved'
    const scope = answer?.scope ?? 'once'
    const how = scope === 'session' ? ' for this session' : scope === 'always' ? ' always' : ' once'
    return `Approved${how}${updatedDigest === undefined ? '' : ', as edited'}`
  }
  return undefined
}

/** What it was about, and the reason that went with it. */
export function ApprovalSummary({ interaction }: { interaction: Interaction }) {
  const { toolName, message, answer } = interaction
  const request = approvalRequest.safeParse(interaction.request).data
  const { words, object } = describeCall(toolName, request?.input ?? null)
  const reason = message ?? approvalAnswer.safeParse(answer).data?.message
  return (
    <ul className="ab-summary">
      <li className="ab-summary-line">
        <span className="ab-summary-text ab-one-line">
          <span className="ab-quiet">{words} </span>
          {object !== null && (
            <code>
              <ShownText text={object.slice(0, 300)} as="code" />
            </code>
          )}
        </span>
      </li>
      {reason !== undefined && reason !== '' && (
        <li className="ab-summary-line">
          <span className="ab-summary-text">
            <span className="ab-quiet">Reason: </span>
            <ShownText text={reason} />
          </span>
        </li>
      )}
    </ul>
  )
}

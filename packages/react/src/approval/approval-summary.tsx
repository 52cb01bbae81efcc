import { approvalAnswer, approvalRequest, type ApprovalScope, type Interaction } from '@askback/protocol'
import { describeCall } from '../content/describe-call.js'
import { ShownText } from '../content/shown-text.js'

/** "Approved for this session" and the like; what its settlement says by itself is left to that. */
export function approvalOutcome({ settlement, via, answer, updatedDigest }: Interaction): string | undefined {
  if (settlement !== 'approved' || via === 'policy') return undefined
  const scope = approvalAnswer.safeParse(answer).data?.scope ?? 'once'
  return `Approved ${scopes[scope]}${updatedDigest === undefined ? '' : ', as edited'}`
}

const scopes: Record<ApprovalScope, string> = { once: 'once', session: 'for this session', always: 'always' }

/** What it was about, and the reason that went with it. */
export function ApprovalSummary({ interaction }: { interaction: Interaction }) {
  const { toolName, message, answer } = interaction
  const request = approvalRequest.safeParse(interaction.request).data
  const { words, object } = describeCall(toolName, request?.input ?? null)
  const reason = message ?? approvalAnswer.safeParse(answer).data?.message
  return (
    <ul className="ab-summary">
      <li className="ab-summary-line ab-approval-about">
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
            <bdi>
              <ShownText text={reason} />
            </bdi>
          </span>
        </li>
      )}
    </ul>
  )
}

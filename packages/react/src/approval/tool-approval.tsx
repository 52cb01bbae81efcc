import type { ApprovalRequest, Json } from '@askback/protocol'
import { ShieldQuestion } from 'lucide-react'
import { useState, type KeyboardEvent } from 'react'
import { CallInput } from '../content/call-input.js'
import { commandIn } from '../content/command.js'
import { describeCall } from '../content/describe-call.js'
import { ShownText } from '../content/shown-text.js'
import { InteractionCard } from '../interaction/interaction-card.js'
import { isCommandKey } from '../interaction/keys.js'
import type { InteractionProps } from '../interaction/renderers.js'
import { UnknownInteraction } from '../interaction/unknown-interaction.js'
import { useArmed } from '../interaction/use-armed.js'
import { useDrawn } from '../interaction/use-drawn.js'
import { ApprovalActions } from './approval-actions.js'
import { ApprovalDigest } from './approval-digest.js'
import { ApprovalEditor } from './approval-editor.js'
import { ApprovalPreview } from './approval-preview.js'
import { ApprovalSuggestions } from './approval-suggestions.js'
import { approvalOutcome, ApprovalSummary } from './approval-summary.js'
import { useApproval } from './use-approval.js'

/** Whether a call may run, with everything that will run on the card. */
export function ToolApproval({ interaction, open = interaction.status === 'pending' }: InteractionProps) {
  const control = useApproval(interaction, open)
  const isArmed = useArmed()
  const [isInputWhole, setInputWhole] = useState(false)
  const [isPreviewWhole, setPreviewWhole] = useState(false)
  const isDrawn = useDrawn()
  if (!control) return <UnknownInteraction interaction={interaction} open={open} />
  const { request, edited, isExplaining } = control
  const { words, object } = describeCall(interaction.toolName, request.input)
  const isComplete = isInputWhole && (isPreviewWhole || request.preview === undefined)
  // What is edited is all in the editor.
  const isShown = isComplete || edited !== null
  const canApprove = isArmed && isShown && !isExplaining && control.editError === null

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (!isCommandKey(event) || !isArmed || !control.canAnswer) return
    const key = event.key.toLowerCase()
    if (key === 'a' && !event.shiftKey && canApprove) control.approve()
    else if (key === 'd' && event.shiftKey) control.setExplaining(true)
    else if (key === 'd') control.deny()
    else return
    event.preventDefault()
  }

  return (
    <InteractionCard
      control={control}
      open={open}
      icon={<ShieldQuestion />}
      title="Approval needed"
      outcome={approvalOutcome(control.interaction)}
      summary={<ApprovalSummary interaction={control.interaction} />}
      onKeyDown={onKeyDown}
    >
      <p className="ab-approval-words">
        {commandIn(request.input) === null ? words : 'Run this command'}
        <ApprovalObject input={request.input} object={object} />
        <span className="ab-tool-tag">
          <ShownText text={interaction.toolName} as="code" />
        </span>
      </p>
      <Reasons request={request} known={`${words} ${object}`} />
      {request.preview !== undefined && (
        <ApprovalPreview
          toolName={interaction.toolName}
          preview={request.preview}
          onComplete={setPreviewWhole}
        />
      )}
      {edited === null ? (
        <CallInput toolName={interaction.toolName} input={request.input} onComplete={setInputWhole} />
      ) : (
        <ApprovalEditor control={control} isAskedFor={isDrawn} />
      )}
      {request.suggestions !== undefined && <ApprovalSuggestions suggestions={request.suggestions} />}
      <ApprovalActions control={control} isArmed={isArmed} canApprove={canApprove} isComplete={isComplete} />
      <ApprovalDigest digest={interaction.digest} />
    </InteractionCard>
  )
}

/** A command stands whole in the box below, and so does what would be cut here. */
function ApprovalObject({ input, object }: { input: Json; object: string | null }) {
  if (object === null || commandIn(input) !== null || object.length > 200) return null
  return (
    <code className="ab-inline-code">
      <ShownText text={object} as="code" />
    </code>
  )
}

/** Why it is asked. All of it is the agent's word, and looks like it. */
function Reasons({ request, known }: { request: ApprovalRequest; known: string }) {
  const { title, description, reason, blockedPath } = request
  const said = new Set([title, description, reason].filter((text) => text !== undefined && text !== ''))
  // The card says that already.
  said.delete(known)
  return (
    <>
      {said.size > 0 && (
        <blockquote className="ab-quote" aria-label="The agent says">
          {[...said].map((text) => (
            <p key={text} dir="auto">
              <ShownText text={text ?? ''} />
            </p>
          ))}
        </blockquote>
      )}
      {blockedPath !== undefined && (
        <p className="ab-card-text">
          Outside of what it may touch:{' '}
          <code className="ab-inline-code">
            <ShownText text={blockedPath} as="code" />
          </code>
        </p>
      )}
    </>
  )
}

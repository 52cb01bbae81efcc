import type { Json } from '@askback/protocol'
import { ShieldQuestion } from 'lucide-react'
import type { KeyboardEvent } from 'react'
import { CallInput, CommandRest } from '../content/call-input.js'
import { commandIn } from '../content/command.js'
import { describeCall } from '../content/describe-call.js'
import { ShownText } from '../content/shown-text.js'
import { useCardGuard } from '../guard/card-guard.js'
import { MustSee } from '../guard/must-see.js'
import { InteractionCard } from '../interaction/interaction-card.js'
import { isCommandKey } from '../interaction/keys.js'
import type { InteractionProps } from '../interaction/renderers.js'
import { UnknownInteraction } from '../interaction/unknown-interaction.js'
import { useDrawn } from '../interaction/use-drawn.js'
import { AgentPreview, AgentWords } from './agent-claims.js'
import { ApprovalActions } from './approval-actions.js'
import { ApprovalEditor } from './approval-editor.js'
import { ApprovalSuggestions } from './approval-suggestions.js'
import { approvalOutcome, ApprovalSummary } from './approval-summary.js'
import { useApproval } from './use-approval.js'

/** Whether a call may run, with everything that will run on the card. */
export function ToolApproval({ interaction, open = interaction.status === 'pending' }: InteractionProps) {
  const control = useApproval(interaction, open)
  const guard = useCardGuard()
  const isDrawn = useDrawn()
  if (!control) return <UnknownInteraction interaction={interaction} open={open} />
  const { request, edited, isExplaining } = control
  const { words, object } = describeCall(interaction.toolName, request.input)
  const isCommand = commandIn(request.input) !== null
  const canApprove = guard.isArmed && guard.isSeen && !isExplaining && control.editError === null

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (!isCommandKey(event) || !guard.isArmed || !control.canAnswer) return
    const key = event.key.toLowerCase()
    if (key === 'a' && !event.shiftKey && canApprove) control.approve()
    else if (key === 'a' && !event.shiftKey && !guard.isSeen && !isExplaining) guard.showNext()
    else if (key === 'd' && event.shiftKey) control.setExplaining(true)
    else if (key === 'd') control.deny()
    else return
    event.preventDefault()
  }

  return (
    <InteractionCard
      control={control}
      open={open}
      guard={guard}
      icon={<ShieldQuestion />}
      title="Approval needed"
      outcome={approvalOutcome(control.interaction)}
      summary={<ApprovalSummary interaction={control.interaction} />}
      unsent={control.unsent}
      onKeyDown={onKeyDown}
    >
      <MustSee className="ab-approval-words">
        {isCommand ? 'Run this command' : words}
        <ApprovalObject input={request.input} object={object} />
        <span className="ab-tool-tag">
          <ShownText text={interaction.toolName} as="code" />
        </span>
      </MustSee>
      <AgentWords request={request} known={`${words} ${object}`} />
      {edited === null ? (
        <CallInput toolName={interaction.toolName} input={request.input} />
      ) : (
        <>
          <ApprovalEditor control={control} isAskedFor={isDrawn} />
          {isCommand && <CommandRest input={request.input} />}
        </>
      )}
      {request.preview !== undefined && (
        <AgentPreview toolName={interaction.toolName} preview={request.preview} />
      )}
      {request.suggestions !== undefined && <ApprovalSuggestions suggestions={request.suggestions} />}
      <ApprovalActions control={control} guard={guard} canApprove={canApprove} />
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

import {
  approvalAnswer,
  approvalRequest,
  hasHiddenCharacters,
  requestNoteTexts,
  type ApprovalScope,
  type Interaction,
  type Json,
  type RequestNote,
} from '@askback/protocol'
import { ShieldQuestionMarkIcon } from '../icons.js'
import { useId, type KeyboardEvent } from 'react'
import { useHasMounted } from '../card-focus.js'
import { CallInput, OtherCommandInput } from '../content/call-input.js'
import { commandIn, describeCall } from '../content/describe-call.js'
import { LongText } from '../content/long-text.js'
import { SafeText } from '../content/safe-text.js'
import { useCardGuard } from '../guard/card-guard.js'
import { MustSee } from '../guard/must-see.js'
import { GrowingEditor, isCommandKey } from '../interaction/controls.js'
import { InteractionCard } from '../interaction/interaction-card.js'
import type { InteractionProps } from '../renderers.js'
import { UnknownInteraction } from '../interaction/unknown-interaction.js'
import { AgentPreview, AgentStatements, ApprovalSuggestions } from './agent-claims.js'
import { ApprovalActions } from './approval-actions.js'
import { useApproval, type ApprovalControl } from './use-approval.js'
import { useLabels, type Label, type Translate } from '../labels.js'

/**
 * The card of an approval: it shows everything that will run, and is approved with `A` and denied with `D` while it
 * has the focus. Its approve button is disabled until all of the input has been on screen.
 *
 * @example
 * <ToolApproval interaction={interaction} />
 */
export function ToolApproval({ interaction, open = interaction.status === 'pending' }: InteractionProps) {
  const t = useLabels()
  const control = useApproval(interaction, open)
  const guard = useCardGuard()
  const hasMounted = useHasMounted()
  if (!control) return <UnknownInteraction interaction={interaction} open={open} />
  const { request, edited, isExplaining } = control
  const { verb, object } = describeCall(interaction.toolName, request.input, t)
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
      icon={<ShieldQuestionMarkIcon />}
      title={t('Approval needed')}
      outcome={approvalLabel(control.interaction, t)}
      summary={<ApprovalSummary interaction={control.interaction} />}
      unsent={control.unsent}
      onKeyDown={onKeyDown}
    >
      <MustSee className="ab-approval-words">
        {isCommand ? t('Run this command') : verb}
        <ApprovalObject input={request.input} object={object} />
        <span className="ab-tool-tag">
          <SafeText text={interaction.toolName} as="code" />
        </span>
      </MustSee>
      <RequestNotes notes={interaction.notes ?? []} />
      <AgentStatements request={request} known={`${verb} ${object}`} />
      {edited === null ? (
        <CallInput toolName={interaction.toolName} input={request.input} />
      ) : (
        <>
          <ApprovalEditor control={control} shouldFocus={hasMounted} />
          {isCommand && <OtherCommandInput input={request.input} />}
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

/** What Askback itself has to say about the request, apart from the words of the agent. */
function RequestNotes({ notes }: { notes: RequestNote[] }) {
  const t = useLabels()
  return notes.map((note) => (
    <MustSee key={note} className="ab-notice">
      {t(requestNoteTexts[note])}
    </MustSee>
  ))
}

/** A command is shown in full in the box below, as is anything that would have to be shortened here. */
function ApprovalObject({ input, object }: { input: Json; object: string | null }) {
  if (object === null || commandIn(input) !== null || object.length > 200) return null
  return (
    <code className="ab-inline-code">
      <SafeText text={object} as="code" />
    </code>
  )
}

/** The editor of the input: of the command alone where there is one, else of the whole input as JSON. */
function ApprovalEditor({ control, shouldFocus }: { control: ApprovalControl; shouldFocus: boolean }) {
  const t = useLabels()
  const { edited, edit, editError, request, canAnswer } = control
  const errorId = useId()
  const text = edited ?? ''
  return (
    <div className="ab-editor">
      <GrowingEditor
        text={text}
        minRows={3}
        autoFocus={shouldFocus}
        disabled={!canAnswer}
        label={t(commandIn(request.input) === null ? 'The input, as JSON' : 'The command')}
        errorId={editError === null ? undefined : errorId}
        onChange={edit}
      />
      {editError !== null && (
        <p id={errorId} className="ab-field-error">
          {editError}
        </p>
      )}
      {hasHiddenCharacters(text, 'code') && (
        <div className="ab-editor-hidden">
          <p className="ab-field-error">
            {t('This text contains characters that can’t be seen in the field above:')}
          </p>
          <LongText text={text} label={t('The text with hidden characters spelled out')} />
        </div>
      )}
    </div>
  )
}

/** "Approved for this session" and the like; `undefined` where the settlement itself says it. */
function approvalLabel(
  { settlement, via, answer, updatedDigest }: Interaction,
  t: Translate,
): string | undefined {
  if (settlement !== 'approved' || via === 'policy') return undefined
  const scope = approvalAnswer.safeParse(answer).data?.scope ?? 'once'
  return t(updatedDigest === undefined ? approvedLabels[scope] : 'Approved once, as edited')
}

const approvedLabels: Record<ApprovalScope, Label> = {
  once: 'Approved once',
  session: 'Approved for this session',
  always: 'Approved always',
}

/** What the approval was about, and the reason that was given. */
function ApprovalSummary({ interaction }: { interaction: Interaction }) {
  const t = useLabels()
  const { toolName, message, answer } = interaction
  const request = approvalRequest.safeParse(interaction.request).data
  const { verb, object } = describeCall(toolName, request?.input ?? null, t)
  const reason = message ?? approvalAnswer.safeParse(answer).data?.message
  return (
    <ul className="ab-summary">
      <li className="ab-summary-line ab-approval-about">
        <span className="ab-summary-text ab-one-line">
          <span className="ab-quiet">{verb} </span>
          {object !== null && (
            <code>
              <SafeText text={object.slice(0, 300)} as="code" />
            </code>
          )}
        </span>
      </li>
      {reason !== undefined && reason !== '' && (
        <li className="ab-summary-line">
          <span className="ab-summary-text">
            <span className="ab-quiet">{t('Reason:')} </span>
            <bdi>
              <SafeText text={reason} />
            </bdi>
          </span>
        </li>
      )}
    </ul>
  )
}

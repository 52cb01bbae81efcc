import type { ApprovalScope } from '@askback/protocol'
import { useId } from 'react'
import type { CardGuard } from '../guard/card-guard.js'
import { GuardHint } from '../guard/must-see.js'
import { focusCardAround } from '../focus-interaction.js'
import { useSessionFacts } from '../interaction/session-facts.js'
import { SubmitButton } from '../interaction/submit-button.js'
import { useDrawn } from '../interaction/use-drawn.js'
import { ApprovalDigest } from './approval-digest.js'
import { ApprovalRule } from './approval-rule.js'
import { editableText, type ApprovalControl } from './use-approval.js'

export interface ApprovalActionsProps {
  control: ApprovalControl
  guard: CardGuard
  canApprove: boolean
}

const approveWords: Record<ApprovalScope, string> = {
  once: 'Approve once',
  session: 'Approve for this session',
  always: 'Approve always',
}

export function ApprovalActions(props: ApprovalActionsProps) {
  const { control, guard, canApprove } = props
  const { isArmed } = guard
  const { edited, edit, isChanged, scope, canAnswer, request, isExplaining, setExplaining } = control
  const isEditing = edited !== null
  const isDrawn = useDrawn()
  return (
    <>
      {!isEditing && !isExplaining && <ScopeChoice control={control} />}
      {isExplaining && (
        <textarea
          className="ab-input"
          dir="auto"
          rows={2}
          autoFocus={isDrawn}
          value={control.reason}
          disabled={!canAnswer}
          placeholder="Why not? The agent reads this."
          aria-label="Reason for the denial"
          onChange={(event) => control.setReason(event.target.value)}
          onKeyDown={(event) => {
            if (event.nativeEvent.isComposing) return
            if (event.key === 'Escape') {
              focusCardAround(event.currentTarget)
              setExplaining(false)
            } else if (event.key !== 'Enter' || event.shiftKey || event.repeat) return
            else if (isArmed) control.deny()
            event.preventDefault()
            event.stopPropagation()
          }}
        />
      )}
      <div className="ab-card-footer">
        {!isExplaining && (
          <SubmitButton control={control} disabled={!canApprove} onPress={control.approve}>
            {isChanged ? 'Approve as edited' : approveWords[scope]}
          </SubmitButton>
        )}
        <SubmitButton
          control={control}
          tone={isExplaining ? 'danger' : 'plain'}
          disabled={!isArmed}
          onPress={control.deny}
        >
          {isExplaining ? 'Deny with this reason' : 'Deny'}
        </SubmitButton>
        <span className="ab-footer-rest">
          <button
            type="button"
            className="ab-button"
            data-tone="quiet"
            disabled={!canAnswer}
            onClick={() => setExplaining(!isExplaining)}
          >
            {isExplaining ? 'Back' : 'Deny with a reason…'}
          </button>
          {!isExplaining && (
            <button
              type="button"
              className="ab-button"
              data-tone="quiet"
              disabled={!canAnswer}
              onClick={() => edit(isEditing ? null : editableText(request.input))}
            >
              {isEditing ? 'Discard the edit' : 'Edit…'}
            </button>
          )}
        </span>
      </div>
      <div className="ab-card-base">
        {canAnswer && <GuardHint guard={guard} />}
        <ApprovalDigest digest={control.interaction.digest} />
      </div>
    </>
  )
}

const scopeWords: Record<ApprovalScope, string> = { once: 'Once', session: 'This session', always: 'Always' }

function ScopeChoice({ control }: { control: ApprovalControl }) {
  const { cwd } = useSessionFacts()
  const name = useId()
  // A rule for always is about a folder.
  const scopes: ApprovalScope[] = cwd === null ? ['once', 'session'] : ['once', 'session', 'always']
  return (
    <div className="ab-scope">
      <fieldset className="ab-segments" disabled={!control.canAnswer}>
        <legend className="ab-only-spoken">For how long</legend>
        {scopes.map((scope) => (
          <label key={scope} className="ab-segment">
            <input
              type="radio"
              className="ab-segment-input"
              name={name}
              checked={control.scope === scope}
              onChange={() => control.setScope(scope)}
            />
            {scopeWords[scope]}
          </label>
        ))}
      </fieldset>
      {control.scope !== 'once' && <ApprovalRule control={control} />}
    </div>
  )
}

import { canonicalJson, comparedInput, type ApprovalScope } from '@askback/protocol'
import { useId } from 'react'
import { focusEnclosingCard, useHasMounted } from '../card-focus.js'
import { LongText } from '../content/long-text.js'
import { SafeText } from '../content/safe-text.js'
import { useMustSee, type CardGuard } from '../guard/card-guard.js'
import { GuardHint } from '../guard/must-see.js'
import { SubmitButton } from '../interaction/controls.js'
import { useSessionFacts } from '../use-session.js'
import { editableText, type ApprovalControl } from './use-approval.js'
import { LabelWithNodes } from '../label-with-nodes.js'
import { useLabels, type Label } from '../labels.js'

export interface ApprovalActionsProps {
  control: ApprovalControl
  guard: CardGuard
  canApprove: boolean
}

const approveLabels: Record<ApprovalScope, Label> = {
  once: 'Approve once',
  session: 'Approve for this session',
  always: 'Approve always',
}

/** The controls of an approval: for how long, approve, deny, deny with a reason, edit. */
export function ApprovalActions(props: ApprovalActionsProps) {
  const t = useLabels()
  const { control, guard, canApprove } = props
  const { isArmed } = guard
  const { edited, edit, isChanged, scope, canAnswer, request, isExplaining, setExplaining } = control
  const isEditing = edited !== null
  const hasMounted = useHasMounted()
  return (
    <>
      {!isEditing && !isExplaining && <ScopeChoice control={control} />}
      {isExplaining && (
        <textarea
          className="ab-input"
          dir="auto"
          rows={2}
          autoFocus={hasMounted}
          value={control.reason}
          disabled={!canAnswer}
          placeholder={t('Why not? The agent reads this.')}
          aria-label={t('Reason for the denial')}
          onChange={(event) => control.setReason(event.target.value)}
          onKeyDown={(event) => {
            if (event.nativeEvent.isComposing) return
            if (event.key === 'Escape') {
              focusEnclosingCard(event.currentTarget)
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
            {t(isChanged ? 'Approve as edited' : approveLabels[scope])}
          </SubmitButton>
        )}
        <SubmitButton
          control={control}
          tone={isExplaining ? 'danger' : 'plain'}
          disabled={!isArmed}
          onPress={control.deny}
        >
          {t(isExplaining ? 'Deny with this reason' : 'Deny')}
        </SubmitButton>
        <span className="ab-secondary-actions">
          <button
            type="button"
            className="ab-button"
            data-tone="quiet"
            disabled={!canAnswer}
            onClick={() => setExplaining(!isExplaining)}
          >
            {t(isExplaining ? 'Back' : 'Deny with a reason…')}
          </button>
          {!isExplaining && (
            <button
              type="button"
              className="ab-button"
              data-tone="quiet"
              disabled={!canAnswer}
              onClick={() => edit(isEditing ? null : editableText(request.input))}
            >
              {t(isEditing ? 'Discard the edit' : 'Edit…')}
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

const scopeLabels: Record<ApprovalScope, Label> = { once: 'Once', session: 'This session', always: 'Always' }

function ScopeChoice({ control }: { control: ApprovalControl }) {
  const t = useLabels()
  const { cwd } = useSessionFacts()
  const name = useId()
  // A rule for "always" applies to a folder, so without one it is not offered.
  const scopes: ApprovalScope[] = cwd === null ? ['once', 'session'] : ['once', 'session', 'always']
  return (
    <div className="ab-scope">
      <fieldset className="ab-segments" disabled={!control.canAnswer}>
        <legend className="ab-sr-only">{t('For how long')}</legend>
        {scopes.map((scope) => (
          <label key={scope} className="ab-segment">
            <input
              type="radio"
              className="ab-segment-input"
              name={name}
              checked={control.scope === scope}
              onChange={() => control.setScope(scope)}
            />
            {t(scopeLabels[scope])}
          </label>
        ))}
      </fieldset>
      {control.scope !== 'once' && <ApprovalRule control={control} />}
    </div>
  )
}

const RULES = {
  session: 'From now on {tool} with {input} is approved without asking, in this session only.',
  folder: 'From now on {tool} with {input} is approved without asking, in {folder}.',
  agent: 'From now on {tool} with {input} is approved without asking, in {folder}, for the agent {agent}.',
} as const

function Code({ text }: { text: string }) {
  return (
    <code className="ab-inline-code">
      <SafeText text={text} as="code" />
    </code>
  )
}

/** The rule that approving would store, shown before the person approves. */
function ApprovalRule({ control }: { control: ApprovalControl }) {
  const t = useLabels()
  const { agent, cwd } = useSessionFacts()
  const { scope, interaction, request } = control
  const compared = comparedInput(interaction.toolName, request.input)
  return (
    <div className="ab-rule" role="status">
      <p ref={useMustSee()}>
        <LabelWithNodes
          label={RULES[scope === 'session' ? 'session' : agent === null ? 'folder' : 'agent']}
          nodes={{
            tool: <Code text={interaction.toolName} />,
            input: t(
              compared === request.input
                ? 'exactly this input'
                : 'exactly this input, whatever its description says,',
            ),
            folder: <Code text={cwd ?? ''} />,
            agent: <Code text={agent ?? ''} />,
          }}
        />
      </p>
      <LongText text={canonicalJson(compared)} label={t('The input that the rule allows')} />
    </div>
  )
}

const SHORT_DIGEST_CHARACTERS = 12

/** The digest of the tool and its input. The answer is bound to it, and it is in the log. */
function ApprovalDigest({ digest }: { digest: string }) {
  const t = useLabels()
  return (
    <details className="ab-details ab-digest">
      <summary>SHA-256 {digest.slice(0, SHORT_DIGEST_CHARACTERS)}</summary>
      <code>{digest}</code>
      <p className="ab-hint">
        {t(
          'Fingerprint of this tool and input. Askback checks it when your answer arrives and again before the call runs.',
        )}
      </p>
    </details>
  )
}

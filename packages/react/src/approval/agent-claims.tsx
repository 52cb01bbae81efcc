import { changesInPreview, type ApprovalRequest, type Json } from '@askback/protocol'
import { useMemo, type ReactNode } from 'react'
import { CallInput, EditInput, JsonInput } from '../content/call-input.js'
import { fieldOf } from '../content/describe-call.js'
import type { FileEdit } from '../content/file-edits.js'
import { SafeText } from '../content/safe-text.js'
import { MustSee, NeedNotSee } from '../guard/must-see.js'
import { useLabels } from '../labels.js'

/**
 * What the agent says about a call in addition to its input. The digest covers only the input, so all of this may be
 * false. It is shown under the agent's name, apart from what the page itself says.
 */
export function AgentStatements({ request, known }: { request: ApprovalRequest; known: string }) {
  const t = useLabels()
  const { title, description, reason, blockedPath } = request
  const statements = new Set([title, description, reason].filter((text) => text !== undefined && text !== ''))
  // The card shows this text already.
  statements.delete(known)
  if (statements.size === 0 && blockedPath === undefined) return null
  return (
    <Claim>
      {[...statements].map((text) => (
        <p key={text} dir="auto">
          <SafeText text={text ?? ''} />
        </p>
      ))}
      {blockedPath !== undefined && (
        <p>
          {t('This path is outside of what it may touch:')}{' '}
          <code className="ab-inline-code">
            <SafeText text={blockedPath} as="code" />
          </code>
        </p>
      )}
    </Claim>
  )
}

interface AgentPreviewProps {
  toolName: string
  preview: Json
}

/** The changes that the agent says a call makes, or the call that it says was approved before. */
export function AgentPreview({ toolName, preview }: AgentPreviewProps) {
  const t = useLabels()
  const edits = useMemo(() => editsIn(preview), [preview])
  const approved = fieldOf(preview, 'approved')
  if (edits) {
    return (
      <Claim>
        <EditInput title={t('It would make these changes')} edits={edits} />
      </Claim>
    )
  }
  if (approved === undefined) {
    return (
      <Claim>
        <JsonInput input={preview} title={t('Its preview')} />
      </Claim>
    )
  }
  return (
    <Claim>
      <details className="ab-details">
        <summary>{t('Another call was approved before')}</summary>
        {/* The input is what runs; this is only for comparison. */}
        <NeedNotSee>
          <CallInput toolName={toolName} input={approved} />
        </NeedNotSee>
      </details>
    </Claim>
  )
}

function Claim({ children }: { children: ReactNode }) {
  const t = useLabels()
  return (
    <MustSee>
      <figure className="ab-claim" aria-label={t('The agent says')}>
        <figcaption className="ab-claim-label" aria-hidden>
          {t('The agent says')}
        </figcaption>
        <blockquote className="ab-quote">{children}</blockquote>
      </figure>
    </MustSee>
  )
}

function editsIn(preview: Json): FileEdit[] | null {
  const changes = changesInPreview(preview)
  return changes?.map(({ path, oldText, newText }) => ({ path, before: oldText, after: newText })) ?? null
}

/** Rules that the agent suggests. They can't be chosen, as a rule here is always about one exact input. */
export function ApprovalSuggestions({ suggestions }: { suggestions: Json }) {
  const t = useLabels()
  if (Array.isArray(suggestions) && suggestions.length === 0) return null
  return (
    <details className="ab-details">
      <summary>{t('Rules that the agent suggests')}</summary>
      <NeedNotSee>
        <JsonInput input={suggestions} title={t('Suggested by the agent')} />
      </NeedNotSee>
      <p className="ab-hint">
        {t('Askback stores none of these. A rule that you choose allows only the input that it shows.')}
      </p>
    </details>
  )
}

import {
  approvalRequest,
  canonicalJson,
  copyJson,
  type ApprovalRequest,
  type ApprovalScope,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { useMemo, useState } from 'react'
import { commandIn } from '../content/describe-call.js'
import { useAnswer } from '../interaction/use-answer.js'
import type { InteractionControl } from '../interaction/use-interaction.js'
import { joinTexts } from '../use-draft.js'
import { useLabels, type Translate } from '../labels.js'

interface ApprovalDraft {
  /** The command or JSON as edited; `null` if it is not being edited. */
  edited: string | null
  reason: string
  isExplaining: boolean
}

/** What `useApproval` returns, in addition to what `useInteraction` does. */
export interface ApprovalControl extends InteractionControl {
  request: ApprovalRequest
  scope: ApprovalScope
  setScope: (scope: ApprovalScope) => void
  /** The input as it is being edited, a command or JSON; `null` while it is not edited. */
  edited: string | null
  edit: (text: string | null) => void
  /** Whether the edited input differs from the original. */
  isChanged: boolean
  /** Why the edited input cannot be approved. */
  editError: string | null
  /** Whether the person is writing a reason for a denial: only then `reason` is shown and sent. */
  isExplaining: boolean
  setExplaining: (isExplaining: boolean) => void
  reason: string
  setReason: (reason: string) => void
  /** Texts that were typed here and not sent. */
  unsent: string
  approve: () => void
  deny: () => void
}

const EMPTY: ApprovalDraft = { edited: null, reason: '', isExplaining: false }

/**
 * The state and the actions of an approval, without any markup. Returns `null` if the request is not a valid
 * approval. Drafts survive a reload.
 *
 * @example
 * const approval = useApproval(interaction)
 * if (!approval) return null
 * return <button disabled={!approval.canAnswer} onClick={approval.approve}>Approve</button>
 */
export function useApproval(interaction: Interaction, open?: boolean): ApprovalControl | null {
  const t = useLabels()
  const {
    control,
    request,
    draft: stored,
    setDraft,
  } = useAnswer(interaction, open, { request: approvalRequest, isDraft })
  const [scope, setScope] = useState<ApprovalScope>('once')
  const draft = stored ?? EMPTY
  const { edited, reason, isExplaining } = draft
  const updated = useMemo(
    () => (request && edited !== null ? readEdited(request.input, edited, t) : null),
    [request, edited, t],
  )
  if (!request) return null
  // A rule applies to the original input, so an edited one can be approved only once.
  const shownScope = edited === null ? scope : 'once'

  return {
    ...control,
    request,
    scope: shownScope,
    setScope,
    edited,
    edit: (text) => setDraft({ ...draft, edited: text }),
    isChanged: updated !== null,
    editError: updated && 'error' in updated ? updated.error : null,
    isExplaining,
    setExplaining: (value) => setDraft({ ...draft, isExplaining: value }),
    reason,
    setReason: (text) => setDraft({ ...draft, reason: text }),
    unsent: joinTexts([reason, updated ? edited : null]),
    approve() {
      if (!control.canAnswer || (updated && 'error' in updated)) return
      const change = updated ? { updatedInput: updated.input } : { scope: shownScope }
      void control.respond({ decision: 'approve', ...change })
    },
    deny() {
      if (!control.canAnswer) return
      const message = isExplaining ? reason.trim() : ''
      void control.respond({ decision: 'deny', ...(message !== '' && { message }) })
    },
  }
}

/** What the editor starts with: the command if there is one, else the whole input as JSON. */
export function editableText(input: Json): string {
  return commandIn(input) ?? JSON.stringify(input, null, 2)
}

/** The edited input, or why it is not valid; `null` if it equals the original. */
function readEdited(input: Json, text: string, t: Translate): { input: Json } | { error: string } | null {
  if (commandIn(input) !== null) {
    if (text.trim() === '') return { error: t('The command is empty.') }
    if (text === commandIn(input)) return null
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only an object has a command
    return { input: { ...(input as { [key: string]: Json }), command: text } }
  }
  try {
    const read = copyJson(JSON.parse(text), 'The input')
    return canonicalJson(read) === canonicalJson(input) ? null : { input: read }
  } catch (error) {
    return { error: error instanceof Error ? error.message : t('This is not JSON.') }
  }
}

function isDraft(value: unknown): value is ApprovalDraft {
  if (typeof value !== 'object' || value === null) return false
  const { edited, reason, isExplaining } = value as Partial<ApprovalDraft>
  const isText = edited === null || typeof edited === 'string'
  return isText && typeof reason === 'string' && typeof isExplaining === 'boolean'
}

import {
  approvalRequest,
  copyJson,
  type ApprovalRequest,
  type ApprovalScope,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { useMemo, useState } from 'react'
import { commandIn } from '../content/command.js'
import { useInteraction, type InteractionControl } from '../interaction/use-interaction.js'
import { useDraft } from '../use-draft.js'

interface ApprovalDraft {
  /** The edited command or JSON. */
  edited: string | null
  reason: string
}

export interface ApprovalControl extends InteractionControl {
  request: ApprovalRequest
  scope: ApprovalScope
  setScope: (scope: ApprovalScope) => void
  /** The input as it is being edited, a command or JSON; `null` while it is left as it came. */
  edited: string | null
  edit: (text: string | null) => void
  /** Why what was edited cannot be approved. */
  editError: string | null
  /** Goes with a denial. */
  reason: string
  setReason: (reason: string) => void
  approve: () => void
  deny: () => void
}

/** An approval without any looks. `null` where the request is none. */
export function useApproval(interaction: Interaction, open?: boolean): ApprovalControl | null {
  const control = useInteraction(interaction, open)
  const request = useMemo(() => {
    const parsed = approvalRequest.safeParse(interaction.request)
    return parsed.success ? parsed.data : null
  }, [interaction.request])
  const [draft, setDraft] = useDraft(control.interaction, isDraft)
  const [scope, setScope] = useState<ApprovalScope>('once')
  const { edited, reason } = draft ?? { edited: null, reason: '' }
  const updated = useMemo(
    () => (request && edited !== null ? readEdited(request.input, edited) : null),
    [request, edited],
  )
  if (!request) return null

  return {
    ...control,
    request,
    // A rule is about the input as it came.
    scope: edited === null ? scope : 'once',
    setScope,
    edited,
    edit: (text) => setDraft({ edited: text, reason }),
    editError: updated && 'error' in updated ? updated.error : null,
    reason,
    setReason: (text) => setDraft({ edited, reason: text }),
    approve() {
      if (!control.canAnswer || (updated && 'error' in updated)) return
      const change = updated ? { updatedInput: updated.input } : { scope }
      void control.respond({ decision: 'approve', ...change })
    },
    deny() {
      if (!control.canAnswer) return
      const message = reason.trim()
      void control.respond({ decision: 'deny', ...(message !== '' && { message }) })
    },
  }
}

/** What the editor starts with: the command alone where there is one, else the whole input as JSON. */
export function editableText(input: Json): string {
  return commandIn(input) ?? JSON.stringify(input, null, 2)
}

function readEdited(input: Json, text: string): { input: Json } | { error: string } {
  if (commandIn(input) !== null) {
    if (text.trim() === '') return { error: 'The command is empty.' }
    return { input: { ...(input as { [key: string]: Json }), command: text } }
  }
  try {
    return { input: copyJson(JSON.parse(text), 'The input') }
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'This is not JSON.' }
  }
}

function isDraft(value: unknown): value is ApprovalDraft {
  if (typeof value !== 'object' || value === null) return false
  const { edited, reason } = value as Partial<ApprovalDraft>
  return (edited === null || typeof edited === 'string') && typeof reason === 'string'
}

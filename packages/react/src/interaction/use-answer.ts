import type { Interaction } from '@askback/protocol'
import { useMemo } from 'react'
import { useDraft } from '../use-draft.js'
import { useInteraction, type InteractionControl } from './use-interaction.js'

/** How to read the request and the stored draft of one kind. Both functions must be the same on every render. */
export interface AnswerSchema<Request, Draft> {
  request: { safeParse(value: unknown): { success: true; data: Request } | { success: false } }
  isDraft: (value: unknown) => value is Draft
}

/** What the hooks of all built-in kinds share. */
export interface Answering<Request, Draft> {
  control: InteractionControl
  /** `null` if the request is not valid. */
  request: Request | null
  /** What the person has typed or chosen and not sent; `null` before the first change. It survives a reload. */
  draft: Draft | null
  setDraft: (draft: Draft) => void
}

/** Follows an interaction of a known kind, reads its request, and stores the draft of its answer. */
export function useAnswer<Request, Draft>(
  interaction: Interaction,
  open: boolean | undefined,
  { request: schema, isDraft }: AnswerSchema<Request, Draft>,
): Answering<Request, Draft> {
  const control = useInteraction(interaction, open)
  const request = useMemo(() => {
    const parsed = schema.safeParse(interaction.request)
    return parsed.success ? parsed.data : null
  }, [schema, interaction.request])
  const [draft, setDraft] = useDraft(control.interaction, isDraft)
  return { control, request, draft, setDraft }
}

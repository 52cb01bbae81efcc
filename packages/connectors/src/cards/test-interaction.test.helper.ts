import type { Interaction, Json } from '@askback/protocol'
import { expect } from 'vitest'
import type { CardAction, CardInput } from './card.js'

export const ada = 'ada'
export const tap = (control: string): CardInput => ({ tap: control, by: ada })
export const text = (words: string): CardInput => ({ text: words, by: ada })

export function interaction(kind: string, request: object, more: Partial<Interaction> = {}): Interaction {
  return {
    interactionId: 'i1',
    sessionId: 's',
    toolCallId: 't1',
    toolName: 'Bash',
    kind,
    presentation: 'tool',
    request: request as Json,
    digest: 'd',
    status: 'pending',
    requestedAt: 0,
    onTimeout: 'deny',
    ...more,
  }
}

export const answered = (answer: Json): CardAction => ({ do: 'answer', answer })
export const refused = { do: 'refuse', message: expect.any(String) as string } as const

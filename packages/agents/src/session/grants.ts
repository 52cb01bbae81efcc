import {
  digestOf,
  type Interaction,
  type Json,
  type ApprovalRequest,
  type ApprovalAnswer,
} from '@askback/protocol'

/** Approvals whose calls a restart cut before they ran: each is good for one call with exactly the same input. */
export class Grants {
  readonly #byDigest = new Map<string, Interaction>()

  add(interaction: Interaction): void {
    this.#byDigest.set(interaction.updatedDigest ?? interaction.digest, interaction)
  }

  /** The approval of this very call, which is used up by this. */
  take(toolName: string, input: Json): Interaction | null {
    const digest = digestOf(toolName, input)
    const found = this.#byDigest.get(digest)
    this.#byDigest.delete(digest)
    return found ?? null
  }

  /** For the card of a call that is not the one that was approved: what was. */
  differs(toolName: string, input: Json): { reason: string; preview: Json } | null {
    const approved = [...this.#byDigest.values()].find((item) => item.toolName === toolName)
    if (!approved) return null
    return {
      reason: 'This is not the call that was approved before the restart.',
      preview: { approved: approvedInput(approved), asked: input },
    }
  }

  /** They are good for one turn. */
  clear(): void {
    this.#byDigest.clear()
  }
}

/** What the person let run: the input that was shown, or what they made of it. */
export function approvedInput({ request, answer }: Interaction): Json {
  const { updatedInput } = (answer ?? {}) as Partial<ApprovalAnswer>
  return updatedInput ?? (request as ApprovalRequest).input
}

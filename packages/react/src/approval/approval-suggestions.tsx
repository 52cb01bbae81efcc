import type { Json } from '@askback/protocol'
import { JsonInput } from '../content/call-input.js'
import { NeedNotSee } from '../guard/must-see.js'

/** Rules that the agent would have: its word, and no choice here, as a rule is about one input and nothing else. */
export function ApprovalSuggestions({ suggestions }: { suggestions: Json }) {
  if (Array.isArray(suggestions) && suggestions.length === 0) return null
  return (
    <details className="ab-details">
      <summary>Rules that the agent suggests</summary>
      <NeedNotSee>
        <JsonInput input={suggestions} title="Suggested by the agent" />
      </NeedNotSee>
      <p className="ab-hint">
        Askback stores none of these. A rule that you choose allows only the input that it shows.
      </p>
    </details>
  )
}

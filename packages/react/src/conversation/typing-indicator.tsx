/** The agent works. Never shown while it waits for a person. */
export function TypingIndicator() {
  return (
    <div className="ab-typing" role="status" aria-label="The agent is working">
      <span />
      <span />
      <span />
    </div>
  )
}

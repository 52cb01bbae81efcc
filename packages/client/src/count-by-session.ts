/** How many of these belong to each session. */
export function countBySession(items: Iterable<{ sessionId: string }>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { sessionId } of items) counts.set(sessionId, (counts.get(sessionId) ?? 0) + 1)
  return counts
}

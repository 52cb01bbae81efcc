import { pendingOf, type Interaction, type SessionState } from '@askback/protocol'
import { useEffect, useRef, useState } from 'react'
import { outcomeText } from '../interaction/outcome.js'
import { useViewer } from '../transport-provider.js'

/** Tells who cannot see it what has come, and what became of it. */
export function Announcements({ state }: { state: SessionState }) {
  const [words, setWords] = useState('')
  // What was there from the beginning is on the page; only news are told.
  const before = useRef(state)
  const viewer = useViewer()

  useEffect(() => {
    const news = newsBetween(before.current, state, viewer)
    before.current = state
    if (news.length > 0) setWords(news.join(' '))
  }, [state, viewer])

  return (
    <div className="ab-only-spoken" role="status" aria-live="polite">
      {words}
    </div>
  )
}

const asks: Record<string, string | undefined> = {
  question: 'The agent asks a question.',
  approval: 'The agent asks for approval.',
  plan_review: 'The agent has a plan to review.',
  form: 'The agent asks to fill in a form.',
}

function newsBetween(before: SessionState, now: SessionState, viewer: string | null): string[] {
  const news: string[] = []
  for (const item of pendingOf(now)) {
    if (before.interactions.get(item.interactionId)?.status !== 'pending') news.push(askText(item))
  }
  for (const { interactionId } of pendingOf(before)) {
    const item = now.interactions.get(interactionId)
    if (item?.status === 'settled' && item.settlement !== 'superseded')
      news.push(`${outcomeText(item, viewer)}.`)
  }
  if (before.activeTurnId !== null && now.activeTurnId === null) news.push('The agent has finished.')
  return news
}

function askText({ kind }: Interaction): string {
  return asks[kind] ?? 'The agent asks for something.'
}

import { Inbox, useInbox, useSessions } from '@askback/react'
import { goTo } from './route.js'
import { Welcome } from './welcome.js'

export function InboxPage() {
  const { view: sessions } = useSessions()
  const { view: inbox } = useInbox()
  if (sessions.items?.length === 0 && inbox.items?.length === 0) return <Welcome />
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto max-w-3xl px-4 py-6">
        <h1 className="mb-4 text-lg font-semibold">Inbox</h1>
        <Inbox onOpenSession={(sessionId) => goTo({ page: 'session', sessionId })} />
      </div>
    </div>
  )
}

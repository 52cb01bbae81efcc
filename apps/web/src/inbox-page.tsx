import { Inbox, useInbox, useSessions } from '@askback/react'
import { goTo } from './route.js'
import { Welcome } from './welcome.js'

export function InboxPage() {
  const { view: sessions } = useSessions()
  const { view: inbox } = useInbox()
  if (sessions.items?.length === 0 && inbox.items?.length === 0) return <Welcome />
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <h1 className="mx-auto max-w-[49rem] px-6 pt-7 text-lg font-semibold tracking-tight max-[34rem]:px-4 max-[34rem]:pt-5">
        Inbox
      </h1>
      <Inbox onOpenSession={(sessionId) => goTo({ page: 'session', sessionId })} />
    </div>
  )
}

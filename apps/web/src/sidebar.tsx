import type { Session } from '@askback/protocol'
import { SafeText, useInbox, useSessions } from '@askback/react'
import { CircleQuestionMarkIcon, InboxIcon, PlusIcon, SettingsIcon } from '@askback/react/icons'
import { useState } from 'react'
import { LazyDialog } from './lazy-dialog.js'
import { NotifyOffer } from './notifications.js'
import { hrefOf, type Route } from './route.js'
import { icons } from './tab-count.js'

interface SidebarProps {
  route: Route
  /** On a phone it covers the page while it is open. */
  isOpen: boolean
  close: () => void
  openHelp: () => void
}

/** The sessions with their status and the number of waiting requests, above them the inbox and "New session". */
export function Sidebar({ route, isOpen, close, openHelp }: SidebarProps) {
  const { view, store } = useSessions()
  const { view: inbox } = useInbox()
  const [isSettingsOpen, setSettingsOpen] = useState(false)
  const { total, perSession } = inbox
  return (
    <>
      {isOpen && (
        <button
          type="button"
          aria-label="Close menu"
          className="fixed inset-0 z-10 bg-black/40 md:hidden"
          onClick={close}
        />
      )}
      <nav
        aria-label="Sessions"
        className={`${isOpen ? 'flex' : 'hidden'} fixed inset-y-0 left-0 z-20 w-72 flex-col border-r border-line bg-side md:static md:flex`}
      >
        <div className="flex items-center gap-2 px-4 pt-4 pb-3">
          <img src={icons.idle} alt="" className="size-6" />
          <span className="font-semibold tracking-tight">Askback</span>
        </div>
        <div className="space-y-0.5 px-2">
          <SidebarLink
            href={hrefOf({ page: 'inbox' })}
            isCurrent={route.page === 'inbox' || route.page === 'home'}
          >
            <InboxIcon className="size-4" aria-hidden />
            <span className="flex-1">Inbox</span>
            {total > 0 && <Count value={total} />}
          </SidebarLink>
          <SidebarLink href={hrefOf({ page: 'new' })} isCurrent={route.page === 'new'}>
            <PlusIcon className="size-4" aria-hidden />
            <span className="flex-1">New session</span>
          </SidebarLink>
        </div>
        <h2 className="px-4 pt-5 pb-1 text-xs font-medium text-soft">Sessions</h2>
        <ul className="min-h-0 flex-1 space-y-0.5 overflow-y-auto px-2 pb-2">
          {view.items?.map((session) => (
            <li key={session.id}>
              <SessionLink session={session} waiting={perSession.get(session.id) ?? 0} route={route} />
            </li>
          ))}
          {view.items?.length === 0 && <li className="px-2 py-1 text-sm text-soft">None yet.</li>}
          {view.more && (
            <li>
              <button
                type="button"
                className="w-full rounded-md px-2 py-1.5 text-left text-sm text-soft hover:bg-line/60"
                onClick={() => void store.loadMore()}
              >
                Show more
              </button>
            </li>
          )}
        </ul>
        {total > 0 && <NotifyOffer />}
        <div className="flex gap-1 border-t border-line p-2">
          <ToolButton label="Settings" onClick={() => setSettingsOpen(true)}>
            <SettingsIcon className="size-4" aria-hidden />
          </ToolButton>
          <ToolButton label="Keyboard shortcuts" onClick={openHelp}>
            <CircleQuestionMarkIcon className="size-4" aria-hidden />
          </ToolButton>
        </div>
      </nav>
      <LazyDialog name="settings" isOpen={isSettingsOpen} setOpen={setSettingsOpen} />
    </>
  )
}

/** A badge with the number of waiting requests. */
export function Count({ value }: { value: number }) {
  return (
    <span className="rounded-full bg-wait/15 px-2 py-0.5 text-xs font-semibold tabular-nums text-wait">
      {value}
    </span>
  )
}

/** The title of a session; without one, its folder, or its agent with the end of the id. */
export function titleOf(session: Pick<Session, 'id' | 'title' | 'cwd' | 'agent'>): string {
  const folder = session.cwd?.split(/[/\\]/).findLast((part) => part !== '')
  return session.title ?? folder ?? `${session.agent ?? 'Outside agent'} · ${session.id.slice(-6)}`
}

const statusDots: Record<Session['status'], { color: string; label: string }> = {
  idle: { color: 'bg-soft/40', label: 'idle' },
  running: { color: 'bg-brand animate-pulse motion-reduce:animate-none', label: 'running' },
  waiting: { color: 'bg-wait-bright', label: 'waiting for you' },
  ended: { color: 'bg-soft/40', label: 'ended' },
  failed: { color: 'bg-bad', label: 'failed' },
}

function SessionLink({ session, waiting, route }: { session: Session; waiting: number; route: Route }) {
  const { color, label } = statusDots[session.status]
  const isCurrent = route.page === 'session' && route.sessionId === session.id
  return (
    <SidebarLink href={hrefOf({ page: 'session', sessionId: session.id })} isCurrent={isCurrent}>
      <span className={`size-2 shrink-0 rounded-full ${color}`} role="img" aria-label={label} title={label} />
      <span className="min-w-0 flex-1">
        <span className="block truncate" dir="auto">
          <SafeText text={titleOf(session)} />
        </span>
        <span className="block truncate text-xs text-soft">{session.agent ?? 'outside agent'}</span>
      </span>
      {waiting > 0 && <Count value={waiting} />}
    </SidebarLink>
  )
}

function SidebarLink({
  href,
  isCurrent,
  children,
}: {
  href: string
  isCurrent: boolean
  children: React.ReactNode
}) {
  return (
    <a
      href={href}
      aria-current={isCurrent ? 'page' : undefined}
      className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm pointer-coarse:min-h-11 hover:bg-line/60 aria-[current]:bg-line/80 aria-[current]:font-medium"
    >
      {children}
    </a>
  )
}

function ToolButton({
  label,
  onClick,
  children,
}: {
  label: string
  onClick: () => void
  children: React.ReactNode
}) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className="rounded-md p-2 text-soft hover:bg-line/60 hover:text-ink pointer-coarse:p-3.5"
      onClick={onClick}
    >
      {children}
    </button>
  )
}

import { focusNextInteraction, useClient, useInbox, useSessions } from '@askback/react'
import { MenuIcon } from 'lucide-react'
import { useEffect, useRef, useState, type ReactNode, type RefObject } from 'react'
import { InboxPage } from './inbox-page.js'
import { LateDialog } from './late-dialog.js'
import { onLoginChange } from './login.js'
import { NewSession } from './new-session.js'
import { Notices } from './notices.js'
import { goTo, hrefOf, useRoute, type Route } from './route.js'
import { SessionPage } from './session-page.js'
import { Sidebar } from './sidebar.js'
import { SignedOut } from './signed-out.js'
import { useKeys } from './use-keys.js'
import { useNotifications } from './use-notifications.js'
import { useTabCount } from './use-tab-count.js'

export function App({ banner }: { banner?: string }) {
  const route = useRoute()
  const { view: inbox } = useInbox()
  const { view: sessions } = useSessions()
  const [isHelpOpen, setHelpOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  // Where it was opened: it closes by going elsewhere.
  const [menuAt, setMenuAt] = useState<string | null>(null)
  const here = hrefOf(route)
  useTabCount(inbox.total)
  useNotifications(inbox)
  useLoginChange()
  useKeys({
    '?': () => setHelpOpen(true),
    i: () => goTo({ page: 'inbox' }),
    n: () => goTo({ page: 'new' }),
    j: () => focusNextInteraction(1),
    k: () => focusNextInteraction(-1),
  })

  if (sessions.connection === 'unauthorized') return <SignedOut />
  const menu = <MenuButton waiting={inbox.total} open={() => setMenuAt(here)} />
  return (
    <div className="flex h-dvh bg-page text-ink">
      <SkipLink to={main} />
      <Sidebar
        route={route}
        isOpen={menuAt === here}
        close={() => setMenuAt(null)}
        openHelp={() => setHelpOpen(true)}
      />
      <div className="flex min-w-0 flex-1 flex-col">
        {route.page !== 'session' && (
          <header className="flex items-center gap-2 border-b border-line px-3 py-2 md:hidden">
            {menu}
            <span className="font-semibold">Askback</span>
          </header>
        )}
        {banner !== undefined && (
          <p className="border-b border-line bg-side px-4 py-1.5 text-center text-xs text-soft">{banner}</p>
        )}
        <Notices connection={sessions.connection} />
        <main ref={main} tabIndex={-1} className="flex min-h-0 flex-1 flex-col outline-none">
          <Page route={route} menu={menu} />
        </main>
      </div>
      <LateDialog name="keyboard" isOpen={isHelpOpen} setOpen={setHelpOpen} />
    </div>
  )
}

/** Windows of one browser share a login: after another person's nothing may be left of what was shown or written. */
function useLoginChange(): void {
  const client = useClient()
  useEffect(
    () => onLoginChange((change) => (change === 'renewed' ? client.reconnect() : location.reload())),
    [client],
  )
}

/** The first thing that Tab reaches, and shown only then. A button, as the address after `#` is the page. */
function SkipLink({ to }: { to: RefObject<HTMLElement | null> }) {
  return (
    <button
      type="button"
      className="sr-only rounded-md bg-raised px-3 py-2 text-sm font-medium shadow-lg focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-40 focus:px-3 focus:py-2"
      onClick={() => to.current?.focus()}
    >
      Skip to content
    </button>
  )
}

/** Where there is no room for the sidebar. */
function MenuButton({ waiting, open }: { waiting: number; open: () => void }) {
  return (
    <button
      type="button"
      className="flex items-center gap-1.5 rounded-md p-2 hover:bg-side md:hidden touchable"
      aria-label={waiting > 0 ? `Menu, ${waiting} waiting` : 'Menu'}
      onClick={open}
    >
      <MenuIcon className="size-5" aria-hidden />
      {waiting > 0 && <Count value={waiting} />}
    </button>
  )
}

export function Count({ value }: { value: number }) {
  return (
    <span className="rounded-full bg-wait/15 px-2 py-0.5 text-xs font-semibold tabular-nums text-wait">
      {value}
    </span>
  )
}

function Page({ route, menu }: { route: Route; menu: ReactNode }) {
  switch (route.page) {
    case 'home':
    case 'inbox':
      return <InboxPage />
    case 'new':
      return <NewSession />
    case 'session':
      return <SessionPage key={route.sessionId} sessionId={route.sessionId} menu={menu} />
  }
}

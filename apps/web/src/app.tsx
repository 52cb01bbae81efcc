import type { ConnectionStatus } from '@askback/client'
import { focusNextInteraction, useClient, useInbox, useSessions } from '@askback/react'
import { MenuIcon, WifiOffIcon } from '@askback/react/icons'
import { useEffect, useRef, useState, type ReactNode, type RefObject } from 'react'
import { LazyDialog } from './lazy-dialog.js'
import { onLoginChange } from './login.js'
import { NewSession } from './new-session.js'
import { useNotifications } from './notifications.js'
import { InboxPage, SignedOut } from './pages.js'
import { goTo, hrefOf, useRoute, type Route } from './route.js'
import { SessionPage } from './session-page.js'
import { Count, Sidebar } from './sidebar.js'
import { useTabCount } from './tab-count.js'

/** The whole app: sidebar, the page of the current route, keyboard shortcuts and dialogs. */
export function App({ banner }: { banner?: string }) {
  const route = useRoute()
  const { view: inbox } = useInbox()
  const { view: sessions } = useSessions()
  const [isHelpOpen, setHelpOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  // The page on which the menu was opened: going to another page closes it.
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
        <ConnectionNotice connection={sessions.connection} />
        <main ref={main} tabIndex={-1} className="flex min-h-0 flex-1 flex-col outline-none">
          <Page route={route} menu={menu} />
        </main>
      </div>
      <LazyDialog name="keyboard" isOpen={isHelpOpen} setOpen={setHelpOpen} />
    </div>
  )
}

/**
 * Windows of one browser share a login. After a login of another person, the page must not show or keep anything of
 * the previous one, so it reloads.
 */
function useLoginChange(): void {
  const client = useClient()
  useEffect(
    () => onLoginChange((change) => (change === 'renewed' ? client.reconnect() : location.reload())),
    [client],
  )
}

/**
 * The first element that Tab reaches, visible only then. It is a button, as a link to `#…` would change the route.
 */
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

/** Opens the sidebar where there is no room to show it. */
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

function ConnectionNotice({ connection }: { connection: ConnectionStatus }) {
  const client = useClient()
  return (
    <div role="status">
      {connection === 'offline' && (
        <p className="flex items-center justify-center gap-3 bg-wait/10 px-4 py-1.5 text-xs text-wait">
          <WifiOffIcon className="size-3.5 shrink-0" aria-hidden />
          <span>
            The gateway can’t be reached. Askback keeps your answers and sends them when it is back.
          </span>
          <button
            type="button"
            className="touchable shrink-0 rounded font-medium underline underline-offset-2"
            onClick={() => client.reconnect()}
          >
            Try now
          </button>
        </p>
      )}
    </div>
  )
}

/** Calls actions for single keys, except while the person types. */
function useKeys(keys: Record<string, () => unknown>): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.repeat || isTyping(event.target)) return
      if (event.ctrlKey || event.metaKey || event.altKey) return
      const action = keys[event.key]
      if (!action) return
      event.preventDefault()
      action()
    }
    window.addEventListener('keydown', press)
    return () => window.removeEventListener('keydown', press)
  })
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input, textarea, select, [contenteditable], [role="menu"]') !== null
  )
}

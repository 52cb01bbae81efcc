import { storedLogin } from '@askback/client'
import { SafeText } from '@askback/react'
import { useEffect, useState } from 'react'
import { Dialog } from './dialogs.js'
import { callGateway, signOut } from './login.js'
import { canAskToNotify, canNotify } from './notifications.js'
import { useAction } from './use-action.js'

/** The settings dialog: theme, notifications, pairing of chats, and the account. */
export function Settings({ isOpen, setOpen }: { isOpen: boolean; setOpen: (isOpen: boolean) => void }) {
  const [chosen, setChosen] = useState(storedTheme)
  const [, renderAgain] = useState(0)
  return (
    <Dialog title="Settings" isOpen={isOpen} setOpen={setOpen}>
      <fieldset>
        <legend className="mb-2 text-sm font-medium">Appearance</legend>
        <div className="flex gap-2">
          {themes.map((each) => (
            <label
              key={each}
              className="flex-1 cursor-pointer rounded-md border border-line px-3 py-2 text-center text-sm capitalize has-checked:border-brand has-checked:bg-brand/10 has-focus-visible:outline-2"
            >
              <input
                type="radio"
                name="theme"
                className="sr-only"
                checked={chosen === each}
                onChange={() => {
                  setChosen(each)
                  applyTheme(each)
                }}
              />
              {each}
            </label>
          ))}
        </div>
      </fieldset>
      <h3 className="mt-5 mb-2 text-sm font-medium">Notifications</h3>
      {canNotify() && (
        <p className="text-sm text-soft">
          On: you get a notification when an agent needs you and this window is hidden.
        </p>
      )}
      {canAskToNotify() && (
        <button
          type="button"
          className="rounded-md border border-line px-3 py-1.5 text-sm hover:bg-side"
          onClick={() => void Notification.requestPermission().then(() => renderAgain((count) => count + 1))}
        >
          Notify me when an agent needs me
        </button>
      )}
      {!canNotify() && !canAskToNotify() && (
        <p className="text-sm text-soft">This browser blocks notifications from this address.</p>
      )}
      <PairingSettings />
      <Account />
    </Dialog>
  )
}

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

// `public/theme.js` reads the same key.
const THEME_KEY = 'askback.theme'

export function storedTheme(): Theme {
  const stored = readTheme()
  return themes.find((each) => each === stored) ?? 'system'
}

/** Stores and applies a theme; with "system" the system decides. */
export function applyTheme(chosen: Theme): void {
  try {
    localStorage.setItem(THEME_KEY, chosen)
  } catch {
    // The browser blocks storage: the choice lasts as long as the page.
  }
  const { dataset } = document.documentElement
  if (chosen === 'system') delete dataset['theme']
  else dataset['theme'] = chosen
}

function readTheme(): string | null {
  try {
    return localStorage.getItem(THEME_KEY)
  } catch {
    return null
  }
}

/** The signed-in person, with buttons to sign out. Nothing if the app needs no login. */
export function Account() {
  const login = storedLogin()
  const { run, error, isBusy } = useAction()
  if (!login) return null
  const { id, name = id } = login.person
  const button = 'rounded-md border border-line px-3 py-1.5 text-sm hover:bg-side'
  return (
    <section>
      <h3 className="mt-5 mb-2 text-sm font-medium">Account</h3>
      <p className="mb-2 text-sm text-soft">
        You are signed in as <SafeText text={name} />.
      </p>
      <div className="flex flex-wrap gap-2">
        <button
          type="button"
          disabled={isBusy}
          className={button}
          onClick={() => run(() => signOut({ everywhere: false }))}
        >
          Sign out
        </button>
        <button
          type="button"
          disabled={isBusy}
          className={button}
          onClick={() => run(() => signOut({ everywhere: true }))}
        >
          Sign out of all browsers
        </button>
      </div>
      {error !== null && (
        <p className="mt-2 text-sm" role="alert">
          {error}
        </p>
      )}
    </section>
  )
}

interface ListedConnector {
  id: string
  name: string
  pairs: boolean
}

interface PairingInfo {
  code: string
  link?: string
}

/** Codes that pair chats, in which this person can then answer. Nothing if the gateway runs no such connector. */
export function PairingSettings() {
  const connectors = useConnectors()
  return connectors.map((connector) => <PairingCode key={connector.id} connector={connector} />)
}

function PairingCode({ connector: { id, name } }: { connector: ListedConnector }) {
  const [pairing, setPairing] = useState<PairingInfo | null>(null)
  const { run, error, isBusy } = useAction()
  return (
    <section>
      <h3 className="mt-5 mb-2 text-sm font-medium">{name}</h3>
      {pairing ? (
        <p className="text-sm text-soft" role="status">
          Send <code className="font-mono text-ink select-all">/pair {pairing.code}</code> to the bot
          {pairing.link !== undefined && (
            <>
              , or{' '}
              <a className="underline" href={pairing.link} target="_blank" rel="noopener noreferrer">
                open the chat
              </a>
            </>
          )}
          . It works once, for ten minutes.
        </p>
      ) : (
        <button
          type="button"
          disabled={isBusy}
          className="rounded-md border border-line px-3 py-1.5 text-sm hover:bg-side"
          onClick={() => run(async () => setPairing(await createPairing(id)))}
        >
          Answer in {name}
        </button>
      )}
      {error !== null && (
        <p className="mt-2 text-sm" role="alert">
          {error}
        </p>
      )}
    </section>
  )
}

function useConnectors(): ListedConnector[] {
  const [connectors, setConnectors] = useState<ListedConnector[]>([])
  useEffect(() => {
    const stop = new AbortController()
    listConnectors(stop.signal).then(setConnectors, () => undefined)
    return () => stop.abort()
  }, [])
  return connectors
}

async function listConnectors(signal: AbortSignal): Promise<ListedConnector[]> {
  const response = await callGateway('connectors', { signal })
  if (!response.ok) return []
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the gateway, which serves this page, is trusted
  const { connectors } = (await response.json()) as { connectors: ListedConnector[] }
  return connectors.filter(({ pairs }) => pairs)
}

async function createPairing(id: string): Promise<PairingInfo> {
  const path = `connectors/${encodeURIComponent(id)}/pairings`
  const response = await callGateway(path, { body: {} }).catch(() => null)
  if (!response?.ok) throw new Error('The gateway couldn’t create a code. Try again in a moment.')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the gateway, which serves this page, is trusted
  return (await response.json()) as PairingInfo
}

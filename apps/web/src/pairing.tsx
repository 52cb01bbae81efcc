import { useEffect, useState } from 'react'
import { callGateway } from './login.js'
import { useCall } from './use-call.js'

interface Connector {
  id: string
  name: string
  pairs: boolean
}

interface Pairing {
  code: string
  link?: string
}

/** Codes with which this person can answer elsewhere. Nothing where the gateway runs no such connector. */
export function PairingSettings() {
  const connectors = useConnectors()
  return connectors.map((connector) => <PairingCode key={connector.id} connector={connector} />)
}

function PairingCode({ connector: { id, name } }: { connector: Connector }) {
  const [pairing, setPairing] = useState<Pairing | null>(null)
  const { call, error, isBusy } = useCall()
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
          onClick={() => call(async () => setPairing(await newCode(id)))}
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

function useConnectors(): Connector[] {
  const [connectors, setConnectors] = useState<Connector[]>([])
  useEffect(() => {
    const stop = new AbortController()
    listConnectors(stop.signal).then(setConnectors, () => undefined)
    return () => stop.abort()
  }, [])
  return connectors
}

async function listConnectors(signal: AbortSignal): Promise<Connector[]> {
  const response = await callGateway('/api/connectors', { signal })
  if (!response.ok) return []
  const { connectors } = (await response.json()) as { connectors: Connector[] }
  return connectors.filter(({ pairs }) => pairs)
}

async function newCode(id: string): Promise<Pairing> {
  const path = `/api/connectors/${encodeURIComponent(id)}/pairings`
  const response = await callGateway(path, { body: {} }).catch(() => null)
  if (!response?.ok) throw new Error('The gateway couldn’t create a code. Try again in a moment.')
  return (await response.json()) as Pairing
}

import type { SessionView } from '@askback/client'
import { CloudOff } from 'lucide-react'

/** Why what is shown may not be what is. */
export function Trouble({ view, onRetry }: { view: SessionView; onRetry: () => void }) {
  const { connection, error, state } = view
  const isDown = connection === 'offline' || connection === 'unauthorized'
  if (!error && !isDown) return null
  const words =
    error?.message ??
    'The gateway cannot be reached. Askback keeps your answers and sends them when it is back.'
  return (
    <p className="ab-banner" role="status" data-tone={state ? undefined : 'bad'}>
      <CloudOff aria-hidden />
      <span>{words}</span>
      <button type="button" className="ab-button" data-size="small" onClick={onRetry}>
        Try now
      </button>
    </p>
  )
}

import type { ConnectionStatus } from '@askback/client'
import { useClient } from '@askback/react'
import { WifiOffIcon } from 'lucide-react'

export function Notices({ connection }: { connection: ConnectionStatus }) {
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

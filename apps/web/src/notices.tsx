import type { ConnectionStatus } from '@askback/client'
import { WifiOffIcon } from 'lucide-react'

export function Notices({ connection }: { connection: ConnectionStatus }) {
  return (
    <div role="status">
      {connection === 'offline' && (
        <p className="flex items-center justify-center gap-2 bg-wait/10 px-4 py-1.5 text-xs text-wait">
          <WifiOffIcon className="size-3.5" aria-hidden />
          The gateway can’t be reached. What you answer now is kept, and sent when it is back.
        </p>
      )}
    </div>
  )
}

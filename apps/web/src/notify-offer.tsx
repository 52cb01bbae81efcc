import { useState } from 'react'
import { canAskToNotify } from './notify.js'

const KEY = 'askback.notify-offered'

/** Asks once, when something waits for the first time; afterwards the settings are the place. */
export function NotifyOffer() {
  const [isDone, setDone] = useState(() => localStorage.getItem(KEY) !== null || !canAskToNotify())
  if (isDone) return null
  const close = () => {
    localStorage.setItem(KEY, 'yes')
    setDone(true)
  }
  return (
    <div className="border-t border-line px-4 py-3 text-xs">
      <p>Notify you when an agent needs you?</p>
      <div className="mt-2 flex gap-1">
        <button
          type="button"
          className="rounded-md border border-line bg-raised px-2 py-1 font-medium hover:bg-line/60"
          onClick={() => void Notification.requestPermission().finally(close)}
        >
          Turn on
        </button>
        <button type="button" className="rounded-md px-2 py-1 text-soft hover:text-ink" onClick={close}>
          No, thanks
        </button>
      </div>
    </div>
  )
}

import { useState } from 'react'
import { Account } from './account.js'
import { Dialog } from './dialog.js'
import { PairingSettings } from './pairing.js'
import { applyTheme, theme, themes } from './theme.js'
import { canAskToNotify, canNotify } from './notify.js'

export function Settings({ isOpen, setOpen }: { isOpen: boolean; setOpen: (isOpen: boolean) => void }) {
  const [chosen, setChosen] = useState(theme)
  const [, asked] = useState(0)
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
          onClick={() => void Notification.requestPermission().then(() => asked((count) => count + 1))}
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

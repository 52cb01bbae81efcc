import { useEffect, useState, type ComponentType } from 'react'

interface DialogProps {
  isOpen: boolean
  setOpen: (isOpen: boolean) => void
}

/** Dialogs are no part of the first load: they are fetched a little later, or when somebody opens one. */
const dialogs = {
  settings: () => import('./settings.js').then(({ Settings }) => Settings),
  keyboard: () => import('./keyboard-help.js').then(({ KeyboardHelp }) => KeyboardHelp),
}

export function LateDialog({ name, isOpen, setOpen }: DialogProps & { name: keyof typeof dialogs }) {
  const [Content, setContent] = useState<ComponentType<DialogProps> | null>(null)
  const [isMissing, setMissing] = useState(false)
  useEffect(() => {
    if (!isOpen || Content) return
    let isWanted = true
    dialogs[name]().then(
      (loaded) => isWanted && setContent(() => loaded),
      () => isWanted && setMissing(true),
    )
    return () => {
      isWanted = false
    }
  }, [isOpen, Content, name])
  if (Content) return <Content isOpen={isOpen} setOpen={setOpen} />
  if (!isOpen || !isMissing) return null
  return (
    <p role="alert" className="fixed inset-x-0 bottom-0 z-40 border-t border-line bg-raised p-4 text-sm">
      The gateway can’t be reached, so this can’t be shown now.{' '}
      <button type="button" className="underline underline-offset-2" onClick={() => setOpen(false)}>
        Close
      </button>
    </p>
  )
}

/** Fetches the dialogs ahead, so that they open while the gateway is away. A failure here is shown when one is opened. */
export function prepareDialogs(): void {
  for (const load of Object.values(dialogs)) load().catch(() => undefined)
}

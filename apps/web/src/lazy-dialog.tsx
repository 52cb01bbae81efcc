import { useEffect, useState, type ComponentType } from 'react'

interface LazyDialogProps {
  isOpen: boolean
  setOpen: (isOpen: boolean) => void
}

/** Dialogs are not part of the first load. They are fetched when the page is idle, or when the person opens one. */
const dialogs = {
  settings: () => import('./settings.js').then(({ Settings }) => Settings),
  keyboard: () => import('./dialogs.js').then(({ KeyboardHelp }) => KeyboardHelp),
}

/** A dialog that is loaded when it is first opened. If it can't be loaded, a message says so. */
export function LazyDialog({ name, isOpen, setOpen }: LazyDialogProps & { name: keyof typeof dialogs }) {
  const [Content, setContent] = useState<ComponentType<LazyDialogProps> | null>(null)
  const [hasFailed, setFailed] = useState(false)
  useEffect(() => {
    if (!isOpen || Content) return
    let isWanted = true
    dialogs[name]().then(
      (loaded) => isWanted && setContent(() => loaded),
      () => isWanted && setFailed(true),
    )
    return () => {
      isWanted = false
    }
  }, [isOpen, Content, name])
  if (Content) return <Content isOpen={isOpen} setOpen={setOpen} />
  if (!isOpen || !hasFailed) return null
  return (
    <p role="alert" className="fixed inset-x-0 bottom-0 z-40 border-t border-line bg-raised p-4 text-sm">
      The gateway can’t be reached, so this can’t be shown now.{' '}
      <button type="button" className="underline underline-offset-2" onClick={() => setOpen(false)}>
        Close
      </button>
    </p>
  )
}

/**
 * Fetches the dialogs in advance, so that they open even while the gateway can't be reached. An error is ignored here
 * and shown when a dialog is opened.
 */
export function prepareDialogs(): void {
  for (const load of Object.values(dialogs)) load().catch(() => undefined)
}

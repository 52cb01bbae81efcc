import { XIcon } from '@askback/react/icons'
import { Dialog as Radix } from 'radix-ui'

interface DialogProps {
  title: string
  isOpen: boolean
  setOpen: (isOpen: boolean) => void
  children: React.ReactNode
}

/** A modal dialog with a title and a close button. */
export function Dialog({ title, isOpen, setOpen, children }: DialogProps) {
  return (
    <Radix.Root open={isOpen} onOpenChange={setOpen}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <Radix.Content
          aria-describedby={undefined}
          className="fixed top-1/2 left-1/2 z-50 max-h-[85dvh] w-[min(28rem,calc(100vw-2rem))] -translate-1/2 overflow-y-auto rounded-xl border border-line bg-raised p-5 text-ink shadow-xl"
        >
          <div className="mb-4 flex items-center justify-between">
            <Radix.Title className="font-semibold">{title}</Radix.Title>
            <Radix.Close aria-label="Close" className="rounded-md p-1.5 text-soft hover:bg-side">
              <XIcon className="size-4" aria-hidden />
            </Radix.Close>
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

const keys: [string, string][] = [
  ['1 – 9', 'Pick an option of the focused card'],
  ['↑ ↓', 'Move between options'],
  ['Space', 'Toggle an option'],
  ['Enter', 'Submit; in a longer text, a new line'],
  ['Ctrl Enter', 'Submit from a longer text'],
  ['A / D', 'Approve or deny the focused approval'],
  ['Shift D', 'Deny it with a reason'],
  ['J / K', 'Next or previous request'],
  ['I', 'Inbox'],
  ['N', 'New session'],
  ['Esc', 'Leave a field or card'],
  ['?', 'This list'],
]

/** The list of keyboard shortcuts. */
export function KeyboardHelp({ isOpen, setOpen }: { isOpen: boolean; setOpen: (isOpen: boolean) => void }) {
  return (
    <Dialog title="Keyboard" isOpen={isOpen} setOpen={setOpen}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2 text-sm">
        {keys.map(([key, description]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-side px-1.5 py-0.5 font-sans text-xs">{key}</kbd>
            </dt>
            <dd className="text-soft">{description}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

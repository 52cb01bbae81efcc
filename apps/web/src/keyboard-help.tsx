import { Dialog } from './dialog.js'

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
  ['Esc', 'Leave'],
  ['?', 'This list'],
]

export function KeyboardHelp({ isOpen, setOpen }: { isOpen: boolean; setOpen: (isOpen: boolean) => void }) {
  return (
    <Dialog title="Keyboard" isOpen={isOpen} setOpen={setOpen}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2 text-sm">
        {keys.map(([key, does]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-side px-1.5 py-0.5 font-sans text-xs">{key}</kbd>
            </dt>
            <dd className="text-soft">{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

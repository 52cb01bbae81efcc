import { XIcon } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'

interface DialogProps {
  title: string
  isOpen: boolean
  setOpen: (isOpen: boolean) => void
  children: React.ReactNode
}

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

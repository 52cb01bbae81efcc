import type { PermissionMode } from '@askback/protocol'
import { ShieldIcon } from '@askback/react/icons'
import { DropdownMenu } from 'radix-ui'

/** The permission modes, in words for people. */
export const modes: Record<PermissionMode, { name: string; description: string }> = {
  default: {
    name: 'Ask first',
    description: 'Asks you before it runs anything, unless one of your rules allows it.',
  },
  acceptEdits: {
    name: 'Accept edits',
    description: 'Edits files in the folder without asking; asks you before anything else.',
  },
  plan: { name: 'Plan', description: 'Plans only; asks you before it changes anything.' },
  bypassPermissions: {
    name: 'Allow everything',
    description: 'Runs everything without asking; questions, forms and plans still reach you.',
  },
}

/** A menu that changes the permission mode of a session. */
export function ModeSwitch({
  mode,
  change,
}: {
  mode: PermissionMode
  change: (mode: PermissionMode) => void
}) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger
        aria-label={`Permission mode: ${modes[mode].name}`}
        className={`flex items-center gap-1.5 rounded-md border border-line px-2.5 py-1.5 text-xs font-medium hover:bg-side touchable ${mode === 'bypassPermissions' ? 'text-bad' : ''}`}
      >
        <ShieldIcon className="size-3.5" aria-hidden />
        <span className="max-sm:sr-only">Mode: {modes[mode].name.toLowerCase()}</span>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          className="z-30 w-72 rounded-lg border border-line bg-raised p-1 text-ink shadow-lg"
        >
          <DropdownMenu.RadioGroup
            value={mode}
            onValueChange={(value) => {
              // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the items are the keys of `modes`
              change(value as PermissionMode)
            }}
          >
            {Object.entries(modes).map(([value, { name, description }]) => (
              <DropdownMenu.RadioItem
                key={value}
                value={value}
                className="cursor-pointer rounded-md px-2.5 py-2 outline-none data-[highlighted]:bg-side data-[state=checked]:bg-brand/10"
              >
                <span className="block text-sm font-medium">{name}</span>
                <span className="block text-xs text-soft">{description}</span>
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

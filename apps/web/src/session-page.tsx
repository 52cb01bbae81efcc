import { Conversation, ShownText, useClient, useSession } from '@askback/react'
import { EraserIcon, EllipsisIcon, SquareIcon, Trash2Icon } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import type { ReactNode } from 'react'
import { Composer } from './composer.js'
import { EmptySession } from './empty-session.js'
import { ModeSwitch } from './mode-switch.js'
import { goTo } from './route.js'
import { titleOf } from './sidebar.js'
import { Trouble } from './trouble.js'
import { useCall } from './use-call.js'

/** On a phone its header is the only one, with the menu in it. */
export function SessionPage({ sessionId, menu }: { sessionId: string; menu: ReactNode }) {
  const { view, store } = useSession(sessionId)
  const { call, error } = useCall()
  const { state } = view
  if (view.error) {
    return (
      <>
        <header className="border-b border-line px-3 py-2 md:hidden">{menu}</header>
        <Trouble title="This session can’t be shown" message={view.error.message} />
      </>
    )
  }
  const isBusy = state?.status === 'running' || state?.status === 'waiting'
  return (
    <>
      <header className="flex items-center gap-2 border-b border-line px-4 py-2.5 max-md:pl-3">
        {menu}
        <div className="min-w-0 flex-1">
          <h1 className="truncate text-sm font-semibold" dir="auto">
            <ShownText text={state ? titleOf({ ...state, id: sessionId }) : ' '} />
          </h1>
          <p className="truncate text-xs text-soft">
            <ShownText
              text={state?.cwd ?? (state?.agent === null ? 'outside agent' : (state?.agent ?? ' '))}
            />
          </p>
        </div>
        {state && (
          <ModeSwitch
            mode={state.permissionMode}
            change={(mode) => call(() => store.setPermissionMode(mode))}
          />
        )}
        {isBusy && (
          <button
            type="button"
            className="flex items-center gap-1.5 rounded-md border border-line px-2.5 py-1.5 text-xs font-medium hover:bg-side touchable"
            onClick={() => call(() => store.interrupt())}
          >
            <SquareIcon className="size-3" aria-hidden />
            Stop
          </button>
        )}
        <SessionMenu
          sessionId={sessionId}
          clear={(state?.agent ?? null) === null ? null : () => call(() => store.clear())}
        />
      </header>
      {error && (
        <p role="alert" className="border-b border-line bg-bad/10 px-4 py-2 text-sm text-bad">
          {error}
        </p>
      )}
      <div className="min-h-0 flex-1">
        <Conversation
          sessionId={sessionId}
          banner={false}
          empty={state && <EmptySession sessionId={sessionId} state={state} />}
        />
      </div>
      <Composer sessionId={sessionId} />
    </>
  )
}

function SessionMenu({ sessionId, clear }: { sessionId: string; clear: (() => void) | null }) {
  const { transport } = useClient()
  const { call } = useCall()
  const remove = () => {
    if (!window.confirm('Delete this session and its log? The audit keeps who decided what.')) return
    call(async () => {
      await transport.remove(sessionId)
      goTo({ page: 'inbox' })
    })
  }
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger
        aria-label="More"
        className="rounded-md p-2 text-soft hover:bg-side hover:text-ink touchable"
      >
        <EllipsisIcon className="size-4" aria-hidden />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          className="z-30 min-w-48 rounded-lg border border-line bg-raised p-1 text-sm text-ink shadow-lg"
        >
          {clear && (
            <MenuItem onSelect={clear}>
              <EraserIcon className="size-4" aria-hidden />
              Clear the agent’s context
            </MenuItem>
          )}
          <MenuItem onSelect={remove}>
            <Trash2Icon className="size-4" aria-hidden />
            Delete session
          </MenuItem>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

function MenuItem({ onSelect, children }: { onSelect: () => void; children: ReactNode }) {
  return (
    <DropdownMenu.Item
      className="flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 outline-none data-[highlighted]:bg-side"
      onSelect={onSelect}
    >
      {children}
    </DropdownMenu.Item>
  )
}

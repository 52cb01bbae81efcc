import type { SessionState } from '@askback/protocol'
import { Conversation, Markdown, SafeText, useClient, useSession } from '@askback/react'
import { EllipsisIcon, EraserIcon, SquareIcon, TrashIcon } from '@askback/react/icons'
import { DropdownMenu } from 'radix-ui'
import type { ReactNode } from 'react'
import { base } from './base.js'
import { Composer } from './composer.js'
import { ErrorPage } from './pages.js'
import { ModeSwitch } from './permission-mode.js'
import { goTo } from './route.js'
import { titleOf } from './sidebar.js'
import { useAction } from './use-action.js'

/**
 * A session: header, conversation and composer. On a phone its header is the only one, so it contains the menu
 * button.
 */
export function SessionPage({ sessionId, menu }: { sessionId: string; menu: ReactNode }) {
  const { view, store } = useSession(sessionId)
  const { run, error } = useAction()
  const { state } = view
  if (view.error) {
    return (
      <>
        <header className="border-b border-line px-3 py-2 md:hidden">{menu}</header>
        <ErrorPage title="This session can’t be shown" message={view.error.message} />
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
            <SafeText text={state ? titleOf({ ...state, id: sessionId }) : ' '} />
          </h1>
          <p className="truncate text-xs text-soft">
            <SafeText
              text={state?.cwd ?? (state?.agent === null ? 'outside agent' : (state?.agent ?? ' '))}
            />
          </p>
        </div>
        {state?.decidesAlone && (
          <span
            className="shrink-0 rounded-md bg-wait/15 px-2 py-1 text-xs font-medium text-wait"
            title="This agent runs commands or edits files without asking you. Its own notice in the conversation says why."
          >
            Acts without asking
          </span>
        )}
        {state && (
          <ModeSwitch
            mode={state.permissionMode}
            change={(mode) => run(() => store.setPermissionMode(mode))}
          />
        )}
        {isBusy && (
          <button
            type="button"
            className="flex items-center gap-1.5 rounded-md border border-line px-2.5 py-1.5 text-xs font-medium hover:bg-side touchable"
            onClick={() => run(() => store.interrupt())}
          >
            <SquareIcon className="size-3" aria-hidden />
            Stop
          </button>
        )}
        <SessionMenu
          sessionId={sessionId}
          clear={(state?.agent ?? null) === null ? null : () => run(() => store.clear())}
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
  const { run } = useAction()
  const remove = () => {
    if (!window.confirm('Delete this session and its log? The audit keeps who decided what.')) return
    run(async () => {
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
            <TrashIcon className="size-4" aria-hidden />
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

interface EmptySessionProps {
  sessionId: string
  state: Pick<SessionState, 'agent' | 'cwd'>
}

/** Shown in a session without any content: what it is, who may write to it, and how. */
function EmptySession({ sessionId, state }: EmptySessionProps) {
  const { agent, cwd } = state
  return (
    <section className="mx-auto w-full max-w-xl text-left text-sm leading-6" aria-label="Empty session">
      <h2 className="text-base font-semibold text-ink">
        {agent === null ? (
          'This session waits for an outside agent'
        ) : (
          <>
            New session with <SafeText text={agent} />
          </>
        )}
      </h2>
      {agent === null ? (
        <OutsideAgent sessionId={sessionId} />
      ) : (
        <>
          <p className="mt-2">
            Write a message below to start
            {cwd !== null && (
              <>
                {' '}
                work in <SafeText text={cwd} as="code" />
              </>
            )}
            . When the agent needs you, its request appears here and in your inbox.
          </p>
          <p className="mt-2">Everyone who is signed in to this gateway can write here and answer.</p>
        </>
      )}
    </section>
  )
}

function OutsideAgent({ sessionId }: { sessionId: string }) {
  return (
    <>
      <p className="mt-2">
        An agent or a script that runs elsewhere asks here, and everyone who is signed in to this gateway can
        answer. What you write below is a note for the log: no agent reads it.
      </p>
      <p className="mt-3 mb-1.5">To ask from a terminal on this machine:</p>
      <Markdown text={shell(askByCommand(sessionId))} />
      <details className="mt-3">
        <summary className="mb-1.5 cursor-pointer">To ask over HTTP</summary>
        <p className="mb-1.5">
          Set <code>ASKBACK_AGENT_TOKEN</code> to what <code>askback token agent</code> prints on the
          gateway’s machine:
        </p>
        <Markdown text={shell(askByHttp(sessionId))} />
      </details>
    </>
  )
}

function askByCommand(sessionId: string): string {
  return `askback ask "Which database?" --option Postgres --option SQLite --session ${quoted(sessionId)}`
}

function askByHttp(sessionId: string): string {
  const questions = [{ header: 'Database', question: 'Which database?', options: [{ label: 'SQLite' }] }]
  return [
    `curl '${base}api/sessions/${encodeURIComponent(sessionId)}/interactions?wait=25' \\`,
    `  -H "Authorization: Bearer $ASKBACK_AGENT_TOKEN" -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify({ kind: 'question', request: { questions } })}'`,
  ].join('\n')
}

/** Quotes a word for a POSIX shell. */
function quoted(word: string): string {
  return /^[\w-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

function shell(code: string): string {
  return `\`\`\`\`sh\n${code}\n\`\`\`\``
}

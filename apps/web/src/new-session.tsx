import type { AgentInfo } from '@askback/client'
import type { PermissionMode } from '@askback/protocol'
import { useTransport } from '@askback/react'
import { useEffect, useState } from 'react'
import { FolderField, useFolder } from './folder-field.js'
import { modes } from './permission-mode.js'
import { goTo } from './route.js'
import { useAction } from './use-action.js'

/** The form that starts a session: agent, first message, folder and permission mode. */
export function NewSession() {
  const transport = useTransport()
  // `null` until the gateway has answered.
  const [agents, setAgents] = useState<AgentInfo[] | null>(null)
  const [agent, setAgent] = useState<string | null>(null)
  const folder = useFolder()
  const [text, setText] = useState('')
  const [mode, setMode] = useState<PermissionMode>('default')
  const { run, error, isBusy } = useAction()
  const chosen = agent ?? agents?.find(({ available }) => available)?.id ?? null

  useEffect(() => {
    run(async () => setAgents(await transport.agents()))
  }, [transport, run])

  const create = () =>
    run(async () => {
      const session = await transport.create({
        agent: chosen,
        permissionMode: mode,
        ...(folder.path !== '' && { cwd: folder.path }),
        ...(text.trim() !== '' && { title: titleFrom(text) }),
      })
      if (text.trim() !== '') await transport.send(session.id, text)
      goTo({ page: 'session', sessionId: session.id })
    })

  return (
    <form
      className="min-h-0 flex-1 overflow-y-auto"
      onSubmit={(event) => {
        event.preventDefault()
        create()
      }}
      // Leaves the field, so that single keys are shortcuts again.
      onKeyDown={({ key, target, nativeEvent }) => {
        if (key === 'Escape' && !nativeEvent.isComposing && target instanceof HTMLElement) target.blur()
      }}
    >
      <div className="mx-auto max-w-xl space-y-6 px-4 py-8">
        <h1 className="text-lg font-semibold">New session</h1>
        <fieldset>
          <legend className="mb-2 text-sm font-medium">Agent</legend>
          <div className="space-y-2">
            {agents?.map(({ id, name, available, reason }) => (
              <label
                key={id}
                className="flex items-center gap-3 rounded-lg border border-line px-3 py-2.5 has-checked:border-brand has-checked:bg-brand/5"
              >
                <input
                  type="radio"
                  name="agent"
                  value={id}
                  checked={chosen === id}
                  disabled={!available}
                  onChange={() => setAgent(id)}
                  className="accent-brand"
                />
                <span className="min-w-0">
                  <span className={`block text-sm font-medium ${available ? '' : 'text-soft'}`}>{name}</span>
                  {reason && <span className="block text-xs text-soft">{reason}</span>}
                </span>
              </label>
            ))}
          </div>
        </fieldset>
        <label className="block">
          <span className="mb-1.5 block text-sm font-medium">Message</span>
          <textarea
            dir="auto"
            rows={3}
            autoFocus
            value={text}
            onChange={(event) => setText(event.target.value)}
            placeholder={chosen === 'demo' ? 'Say hello to take the tour' : 'What should the agent do?'}
            className="ab-input"
          />
        </label>
        <FolderField folder={folder} />
        <label className="block">
          <span className="mb-1.5 block text-sm font-medium">Permissions</span>
          <select
            value={mode}
            onChange={(event) => {
              // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the options are the keys of `modes`
              setMode(event.target.value as PermissionMode)
            }}
            className="ab-input"
          >
            {Object.entries(modes).map(([value, { name, description }]) => (
              <option key={value} value={value}>
                {name} — {description}
              </option>
            ))}
          </select>
        </label>
        {error && error !== folder.lastProblem && (
          <p role="alert" className="text-sm text-bad">
            {error}
          </p>
        )}
        <button
          type="submit"
          disabled={isBusy || chosen === null}
          className="rounded-lg bg-primary px-4 py-2 text-sm font-medium text-on-primary disabled:opacity-40"
        >
          Start
        </button>
      </div>
    </form>
  )
}

function titleFrom(text: string): string {
  const line = text.trim().split('\n')[0] ?? ''
  return line.length > 60 ? `${line.slice(0, 59)}…` : line
}

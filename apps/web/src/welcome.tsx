import { useTransport } from '@askback/react'
import { icons } from './icon.js'
import { goTo, hrefOf } from './route.js'
import { useCall } from './use-call.js'

/** The first minute: nothing to set up, one click to see an agent ask back. */
export function Welcome() {
  const transport = useTransport()
  const { call, error, isBusy } = useCall()
  const takeTour = () =>
    call(async () => {
      const session = await transport.create({ agent: 'demo', title: 'The tour' })
      // At once: with its first session the inbox takes the place of this page.
      goTo({ page: 'session', sessionId: session.id })
      await transport.send(session.id, 'Show me around.')
    })
  return (
    <div className="m-auto max-w-lg px-6 py-10 text-center">
      <img src={icons.calm} alt="" className="mx-auto mb-5 size-14" />
      <h1 className="text-2xl font-semibold tracking-tight">Agents that ask back</h1>
      <p className="mt-3 text-soft">
        When an agent needs you, its question, request or plan appears here, and the agent pauses until you
        answer or its time is up. A scripted demo agent shows you how: no key, no account.
      </p>
      <div className="mt-6 flex flex-wrap justify-center gap-3">
        <button
          type="button"
          disabled={isBusy}
          onClick={takeTour}
          className="rounded-lg bg-primary px-4 py-2 text-sm font-medium text-on-primary disabled:opacity-40"
        >
          Take the tour
        </button>
        <a
          href={hrefOf({ page: 'new' })}
          className="rounded-lg border border-line px-4 py-2 text-sm font-medium hover:bg-side"
        >
          Start a session
        </a>
      </div>
      {error && (
        <p role="alert" className="mt-4 text-sm text-bad">
          {error}
        </p>
      )}
    </div>
  )
}

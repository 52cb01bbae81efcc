import { Inbox, SafeText, useInbox, useSessions, useTransport } from '@askback/react'
import { canStore } from './login.js'
import { goTo, hrefOf } from './route.js'
import { icons } from './tab-count.js'
import { useAction } from './use-action.js'

/** The inbox, or a welcome while there are no sessions. */
export function InboxPage() {
  const { view: sessions } = useSessions()
  const { view: inbox } = useInbox()
  if (sessions.items?.length === 0 && inbox.items?.length === 0) return <Welcome />
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <h1 className="mx-auto max-w-[49rem] px-6 pt-7 text-lg font-semibold tracking-tight max-[34rem]:px-4 max-[34rem]:pt-5">
        Inbox
      </h1>
      <Inbox onOpenSession={(sessionId) => goTo({ page: 'session', sessionId })} />
    </div>
  )
}

/** The page before the first session: one click starts the demo, without any setup. */
function Welcome() {
  const transport = useTransport()
  const { run, error, isBusy } = useAction()
  const takeTour = () =>
    run(async () => {
      const session = await transport.create({ agent: 'demo', title: 'The tour' })
      // Before sending, as the inbox replaces this page once there is a session.
      goTo({ page: 'session', sessionId: session.id })
      await transport.send(session.id, 'Show me around.')
    })
  return (
    <div className="m-auto max-w-lg px-6 py-10 text-center">
      <img src={icons.idle} alt="" className="mx-auto mb-5 size-14" />
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

/** Says how to sign in. */
export function SignedOut() {
  return (
    <div className="flex h-dvh bg-page text-ink">
      <div className="m-auto max-w-md px-6 text-center">
        <img src={icons.idle} alt="" className="mx-auto mb-4 size-12" />
        <h1 className="text-lg font-semibold">You are not signed in</h1>
        <p className="mt-2 text-sm text-soft [&_code]:whitespace-nowrap">
          {canStore() ? (
            <>
              On the machine that runs the gateway, run <code>askback open</code>. For a browser on another
              device, run <code>askback open --print</code> and open the link there.
            </>
          ) : (
            <>
              This browser blocks storage, where Askback keeps your sign-in. Allow cookies and site data for
              this address, then run <code>askback open</code>.
            </>
          )}
        </p>
      </div>
    </div>
  )
}

/** Says that a page can't be shown, and why. */
export function ErrorPage({ title, message }: { title: string; message: string }) {
  return (
    <div className="m-auto max-w-md px-6 text-center">
      <h1 className="text-lg font-semibold">{title}</h1>
      <p className="mt-2 text-sm text-soft">
        <SafeText text={message} />
      </p>
      <a
        href={hrefOf({ page: 'inbox' })}
        className="mt-4 inline-block text-sm text-brand underline underline-offset-2"
      >
        Go to the inbox
      </a>
    </div>
  )
}

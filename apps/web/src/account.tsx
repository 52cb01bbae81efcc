import { storedLogin } from '@askback/client'
import { ShownText } from '@askback/react'
import { signOut } from './login.js'
import { useCall } from './use-call.js'

/** Who is signed in here. Nothing where the app needs no login. */
export function Account() {
  const login = storedLogin()
  const { call, error, isBusy } = useCall()
  if (!login) return null
  const { id, name = id } = login.person
  const button = 'rounded-md border border-line px-3 py-1.5 text-sm hover:bg-side'
  return (
    <section>
      <h3 className="mt-5 mb-2 text-sm font-medium">Account</h3>
      <p className="mb-2 text-sm text-soft">
        You are signed in as <ShownText text={name} />.
      </p>
      <div className="flex flex-wrap gap-2">
        <button
          type="button"
          disabled={isBusy}
          className={button}
          onClick={() => call(() => signOut({ everywhere: false }))}
        >
          Sign out
        </button>
        <button
          type="button"
          disabled={isBusy}
          className={button}
          onClick={() => call(() => signOut({ everywhere: true }))}
        >
          Sign out of all browsers
        </button>
      </div>
      {error !== null && (
        <p className="mt-2 text-sm" role="alert">
          {error}
        </p>
      )}
    </section>
  )
}

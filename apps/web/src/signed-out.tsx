import { icons } from './icon.js'
import { canStore } from './login.js'

export function SignedOut() {
  return (
    <div className="flex h-dvh bg-page text-ink">
      <div className="m-auto max-w-md px-6 text-center">
        <img src={icons.calm} alt="" className="mx-auto mb-4 size-12" />
        <h1 className="text-lg font-semibold">You are not signed in</h1>
        {canStore() ? (
          <p className="mt-2 text-sm text-soft">
            Run <code>askback open</code> in a terminal on the machine that runs the gateway. It opens this
            page and signs you in.
          </p>
        ) : (
          <p className="mt-2 text-sm text-soft">
            This browser blocks storage, where Askback keeps your sign-in. Allow cookies and site data for
            this address, then run <code>askback open</code>.
          </p>
        )}
      </div>
    </div>
  )
}

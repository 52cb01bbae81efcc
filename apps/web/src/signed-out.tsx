import { icons } from './icon.js'
import { canStore } from './login.js'

export function SignedOut() {
  return (
    <div className="flex h-dvh bg-page text-ink">
      <div className="m-auto max-w-md px-6 text-center">
        <img src={icons.calm} alt="" className="mx-auto mb-4 size-12" />
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

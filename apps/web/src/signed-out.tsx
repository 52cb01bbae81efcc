import { icons } from './icon.js'

export function SignedOut() {
  return (
    <div className="flex h-dvh bg-page text-ink">
      <div className="m-auto max-w-md px-6 text-center">
        <img src={icons.calm} alt="" className="mx-auto mb-4 size-12" />
        <h1 className="text-lg font-semibold">You are not signed in</h1>
        <p className="mt-2 text-sm text-soft">
          Open the address that <code>askback serve</code> printed, or run <code>askback open</code>: either
          signs this browser in, once.
        </p>
      </div>
    </div>
  )
}

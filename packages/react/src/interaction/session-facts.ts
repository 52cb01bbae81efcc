import { createContext, use } from 'react'

/** What a card says about where it comes from, and whose clock its deadline runs by. */
export interface SessionFacts {
  agent: string | null
  cwd: string | null
  title: string | null
  serverNow: () => number
}

export const SessionFactsContext = createContext<SessionFacts>({
  agent: null,
  cwd: null,
  title: null,
  serverNow: () => Date.now(),
})

export function useSessionFacts(): SessionFacts {
  return use(SessionFactsContext)
}

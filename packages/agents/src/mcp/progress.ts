import type { ServerContext } from '@modelcontextprotocol/server'

/**
 * Sends progress notifications until `work` is done, if the client asked for them. A client that resets its timeout on progress then
 * waits as long as it takes. Nothing is sent after the result: clients treat that as an error.
 */
export async function withProgress<Result>(
  { mcpReq }: ServerContext,
  intervalMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return work()
  let progress = 0
  const notify = () => {
    progress += 1
    const params = { progressToken, progress, message: 'Waiting for a person to answer' }
    // The client has disconnected.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => clearInterval(timer))
  }
  const timer = setInterval(notify, intervalMs)
  notify()
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/** @import { Page } from 'playwright-core' */
/** @import { Stage } from './browser.mjs' */

/** @typedef {{ name: string; pid: number; tid: number; dur?: number; tdur?: number; args: { name?: string } }} TraceEvent */

/**
 * The tasks of the page's main thread during `work`, from a trace: elapsed time, and CPU time, which does not include other
 * processes.
 *
 * @param {Stage} stage
 * @param {Page} page
 * @param {() => Promise<void>} work
 * @returns {Promise<{ computed: number; took: number }[]>} Milliseconds.
 */
export async function tasksDuring({ browser }, page, work) {
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', '__metadata'] })
  await work()
  const { traceEvents } = /** @type {{ traceEvents: TraceEvent[] }} */ (
    JSON.parse(String(await browser.stopTracing()))
  )
  const mainThreads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  return traceEvents
    .filter(({ name, pid, tid }) => name.endsWith('RunTask') && mainThreads.has(`${pid} ${tid}`))
    .map(({ dur = 0, tdur = 0 }) => ({ computed: tdur / 1000, took: dur / 1000 }))
}

import { median } from '../core/measure.mjs'
import { goToSession, newPage } from './browser.mjs'

/** @import { BenchmarkResult } from '../core/measure.mjs' */
/** @import { Stage } from './browser.mjs' */

/**
 * How many frames after the gateway's response the card is drawn as settled.
 *
 * @param {Stage} stage
 * @returns {Promise<BenchmarkResult[]>}
 */
export async function submit(stage) {
  const frames = []
  const page = await newPage(stage)
  await page.addInitScript(watchResponses)
  await page.goto(stage.ready.url)
  for (const sessionId of stage.ready.asking) {
    await goToSession(page, sessionId)
    await page.getByRole('radio', { name: /Postgres/ }).click()
    await page.evaluate(() => Object.assign(window, { settledAfter: undefined }))
    await page.getByRole('button', { name: 'Submit' }).click()
    const counted = await page.waitForFunction(
      () => /** @type {{ settledAfter?: number }} */ (/** @type {unknown} */ (window)).settledAfter,
    )
    frames.push(Number(await counted.jsonValue()))
  }
  await page.context().close()
  return [
    { what: 'frames from the response to the collapsed card', value: median(frames), atMost: 2 },
    { what: 'the same, at worst', value: Math.max(...frames), atMost: 2 },
  ]
}

/** Runs in the page. Counts the frames from the first message about the settlement, over HTTP or WebSocket. */
function watchResponses() {
  const Original = window.WebSocket
  window.WebSocket = class extends Original {
    /**
     * @param {string | URL} url
     * @param {string | string[]} [protocols]
     */
    constructor(url, protocols) {
      super(url, protocols)
      this.addEventListener('message', ({ data }) => {
        if (String(data).includes('"interaction_response"')) countFrames()
      })
    }
  }
  const get = window.fetch
  window.fetch = async (...args) => {
    const response = await get(...args)
    if (response.url.endsWith('/response')) countFrames()
    return response
  }

  let isCounting = false
  function countFrames() {
    if (isCounting) return
    isCounting = true
    let frames = 0
    const checkFrame = () => {
      frames += 1
      // This runs before the frame is painted, so the frame shows the present state.
      const card = document.querySelector('.ab-card[data-kind=question]')
      if (card?.getAttribute('data-phase') !== 'settled') return requestAnimationFrame(checkFrame)
      isCounting = false
      return Object.assign(window, { settledAfter: frames })
    }
    requestAnimationFrame(checkFrame)
  }
}

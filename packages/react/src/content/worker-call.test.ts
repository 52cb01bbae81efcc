import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { workerCall } from './worker-call.js'

/** A worker whose replies the test sends. The environment of these tests has none. */
class TestWorker extends EventTarget {
  readonly sent: { id: number; input: string }[] = []

  postMessage(message: { id: number; input: string }): void {
    this.sent.push(message)
  }

  reply(data: object): void {
    this.dispatchEvent(new MessageEvent('message', { data }))
  }

  fail(): void {
    this.dispatchEvent(new Event('error'))
  }
}

let worker: TestWorker
beforeEach(() => {
  worker = new TestWorker()
})

function create(start: () => unknown = () => worker) {
  vi.stubGlobal('Worker', TestWorker)
  onTestFinished(() => void vi.unstubAllGlobals())
  return workerCall(
    () => start() as Worker,
    async (input: string) => `${input} in the page`,
  )
}

it('runs in the worker, and gives each call its own reply', async () => {
  const { call } = create()
  const [one, two] = [call('one'), call('two')]
  const [first, second] = worker.sent
  worker.reply({ id: second!.id, output: 'two in the worker' })
  worker.reply({ id: first!.id, output: 'one in the worker' })
  expect(await Promise.all([one, two])).toEqual(['one in the worker', 'two in the worker'])
})

it('runs in the page if it fails in the worker', async () => {
  const { call } = create()
  const result = call('one')
  worker.reply({ id: worker.sent[0]!.id })
  expect(await result).toBe('one in the page')
})

it('runs everything in the page after the worker itself failed', async () => {
  const { call } = create()
  const pending = [call('one'), call('two')]
  worker.fail()
  expect(await Promise.all([...pending, call('three')])).toEqual([
    'one in the page',
    'two in the page',
    'three in the page',
  ])
  expect(worker.sent).toHaveLength(2)
})

it('runs in the page if a worker may not be started', async () => {
  const { call } = create(() => {
    throw new DOMException('refused', 'SecurityError')
  })
  expect(await call('one')).toBe('one in the page')
})

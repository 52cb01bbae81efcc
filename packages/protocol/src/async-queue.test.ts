import { expect, it, vi } from 'vitest'
import { AsyncQueue } from './async-queue.js'

async function readAll<T>(queue: AsyncQueue<T>): Promise<T[]> {
  const values: T[] = []
  for await (const value of queue) values.push(value)
  return values
}

it('returns values that were pushed before and after the reader started, in order', async () => {
  const queue = new AsyncQueue<number>()
  queue.push(1)
  queue.push(2)
  const reading = readAll(queue)
  await Promise.resolve()
  queue.push(3)
  queue.end()
  queue.push(4)
  expect(await reading).toEqual([1, 2, 3])
})

it('throws an error once, after the values before it', async () => {
  const queue = new AsyncQueue<number>()
  queue.push(1)
  queue.fail(new Error('broken'))
  expect(await queue.next()).toEqual({ done: false, value: 1 })
  await expect(queue.next()).rejects.toThrow('broken')
  expect(await queue.next()).toEqual({ done: true, value: undefined })
})

it('throws an error to a reader that waits', async () => {
  const queue = new AsyncQueue<number>()
  const reading = queue.next()
  queue.fail(new Error('broken'))
  await expect(reading).rejects.toThrow('broken')
})

it.each([
  ['ending', async (queue: AsyncQueue<number>) => queue.end()],
  ['failing', async (queue: AsyncQueue<number>) => queue.fail(new Error('broken'))],
  ['leaving the loop', async (queue: AsyncQueue<number>) => void (await queue.return())],
])('%s twice calls back once', async (_name, end) => {
  const onEnd = vi.fn<() => void>()
  const queue = new AsyncQueue<number>(onEnd)
  for (let times = 0; times < 2; times++) await end(queue)
  expect(onEnd).toHaveBeenCalledOnce()
})

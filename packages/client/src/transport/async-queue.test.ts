import { expect, it, vi } from 'vitest'
import { AsyncQueue } from './async-queue.js'

async function all<T>(queue: AsyncQueue<T>): Promise<T[]> {
  const values: T[] = []
  for await (const value of queue) values.push(value)
  return values
}

it('hands over what was pushed before and after somebody reads, in order', async () => {
  const queue = new AsyncQueue<number>()
  queue.push(1)
  queue.push(2)
  const reading = all(queue)
  await Promise.resolve()
  queue.push(3)
  queue.end()
  queue.push(4)
  expect(await reading).toEqual([1, 2, 3])
})

it('tells an error after what came before it, once', async () => {
  const queue = new AsyncQueue<number>()
  queue.push(1)
  queue.fail(new Error('broken'))
  expect(await queue.next()).toEqual({ done: false, value: 1 })
  await expect(queue.next()).rejects.toThrow('broken')
  expect(await queue.next()).toEqual({ done: true, value: undefined })
})

it('tells an error to whoever waits', async () => {
  const queue = new AsyncQueue<number>()
  const waiting = queue.next()
  queue.fail(new Error('broken'))
  await expect(waiting).rejects.toThrow('broken')
})

it.each([
  ['end', async (queue: AsyncQueue<number>) => queue.end()],
  ['fail', async (queue: AsyncQueue<number>) => queue.fail(new Error('broken'))],
  ['leave', async (queue: AsyncQueue<number>) => void (await queue.return())],
])('%s calls back once', async (_name, over) => {
  const left = vi.fn<() => void>()
  const queue = new AsyncQueue<number>(left)
  for (let times = 0; times < 2; times++) await over(queue)
  expect(left).toHaveBeenCalledOnce()
})

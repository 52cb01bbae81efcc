import { expect, it } from 'vitest'
import { writeInTurn } from './write-in-turn.js'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

it('writes the first at once and the others, in order, at the end of the turn', async () => {
  const written: string[] = []
  for (const turn of ['a', 'b']) {
    for (const write of [1, 2, 3]) writeInTurn(() => written.push(`${turn}${write}`))
    expect(written.at(-1)).toBe(`${turn}1`)
    await Promise.resolve()
    expect(written.at(-1)).toBe(`${turn}1`)
    await nextTurn()
    expect(written.slice(-3)).toEqual([`${turn}1`, `${turn}2`, `${turn}3`])
  }
  expect(written).toHaveLength(6)
})

it('puts what is written at the end of a turn off to no later one', async () => {
  const written: number[] = []
  writeInTurn(() => written.push(1))
  writeInTurn(() => writeInTurn(() => written.push(2)))
  await nextTurn()
  expect(written).toEqual([1, 2])
})

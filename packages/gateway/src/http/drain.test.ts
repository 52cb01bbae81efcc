import { expect, it } from 'vitest'
import { BoxedSet } from './drain.js'

it('a BoxedSet has the members that were added and not removed, in their order', () => {
  const members = new BoxedSet<string>()
  const leave = ['a', 'b', 'a', 'c'].map((name) => members.add(name))
  leave[1]!()
  leave[1]!()
  leave[2]!()
  expect([...members]).toEqual(['a', 'c'])
})

it('a BoxedSet can be iterated while members are removed and added', () => {
  const members = new BoxedSet<number>()
  const leave = [1, 2, 3].map((number) => members.add(number))
  const met: number[] = []
  for (const number of members) {
    met.push(number)
    if (number !== 1) continue
    leave[0]!()
    leave[1]!()
    members.add(4)
  }
  expect(met).toEqual([1, 3, 4])
  expect([...members]).toEqual([3, 4])
})

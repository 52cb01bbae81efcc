import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { CreateStore } from './fresh-store.js'
import { StoreModel, type Command } from './store-model.js'

const command: fc.Arbitrary<Command> = fc.record({
  op: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom('text', 'ask', 'answer', 'progress', 'deliver', 'tool') },
    { weight: 4, arbitrary: fc.constantFrom('stale', 'put', 'key') },
    { weight: 1, arbitrary: fc.constant('erase') },
  ),
  session: fc.nat(2),
  pick: fc.nat(30),
})

/** Commands of one group are submitted at once. */
const groups = fc.array(fc.array(command, { minLength: 1, maxLength: 6 }), { maxLength: 15 })

export function modelContract(createStore: CreateStore): void {
  it('holds what the fold of its logs says, whatever was appended, refused and erased', async () => {
    await fc.assert(
      fc.asyncProperty(groups, async (groups) => {
        const store = await createStore()
        const model = new StoreModel()
        for (const group of groups) {
          const steps = group.map((command) => model.step(command))
          const results = await Promise.all(steps.map((step) => step.run(store)))
          expect(results).toEqual(steps.map((step) => step.expected))
        }
        expect(await model.contentsOf(store)).toEqual(model.contents())
        await store.close()
      }),
      { seed: 20_261_115, numRuns: 60 },
    )
    // Sixty stores, each opened, filled and read: slow where a store is a database of its own.
  }, 60_000)
}

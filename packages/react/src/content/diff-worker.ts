import type { CompareInput } from './diff-rows.js'
import { diffLines } from './line-diff.js'
import { serveCalls } from './worker-call.js'

serveCalls(async ({ before, after }: CompareInput) => diffLines(before, after))

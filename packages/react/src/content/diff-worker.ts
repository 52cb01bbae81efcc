import type { ToCompare } from './diff-rows.js'
import { diffLines } from './line-diff.js'
import { answerCalls } from './worker-call.js'

answerCalls(async ({ before, after }: ToCompare) => diffLines(before, after))

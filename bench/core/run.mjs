// Runs the benchmarks of the core, or those whose name contains one of the arguments.
import { runBenchmarks } from './measure.mjs'

const names = ['durable', 'in-memory', 'pending-heap', 'pending-cost', 'folding', 'recovery', 'crash']
await runBenchmarks(import.meta.url, names, ['--expose-gc'])

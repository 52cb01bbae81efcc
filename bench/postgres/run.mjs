// Runs the benchmarks of gateways on PostgreSQL, or those whose name contains one of the arguments.
import { runBenchmarks } from '../core/measure.mjs'

await runBenchmarks(import.meta.url, ['across', 'at-once', 'processor', 'idle', 'takeover'])

// Runs the benchmarks of the gateway, or those whose name contains one of the arguments. Each creates the load in its own process.
import { runBenchmarks } from '../core/measure.mjs'

await runBenchmarks(import.meta.url, ['round-trip', 'read', 'fan-out', 'parked', 'reconnect'])

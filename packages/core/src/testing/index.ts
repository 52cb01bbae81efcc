export { countingIds, fakeClock, type FakeClock } from './fake-clock.js'

export { draw } from './draw.js'
export { fakeClock, type FakeClock } from './fake-clock.js'
export {
  scriptedTransport,
  type ScriptedTransport,
  type ScriptedTransportOptions,
} from './scripted-transport.js'
export {
  asked,
  askedQuestion,
  called,
  databaseQuestion,
  ended,
  EventLog,
  settled,
  started,
  wrote,
} from './session-events.js'

export { fakeClock, type FakeClock } from '@askback/protocol/testing'
export {
  type ConformanceBackend,
  type ConformanceSubject,
  type SetUp,
  type TransportFaults,
} from './conformance-subject.js'
export { draw } from './draw.js'
export { faultyFetch, faultyWebSocket, type WireFaults } from './faulty-wires.js'
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
export { transportConformance } from './transport-conformance.js'

export { draw } from './draw.js'
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

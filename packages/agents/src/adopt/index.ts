export { findTranscript } from './find-transcript.js'
export { HistoryReader, historyIn } from './history.js'

export { findTranscript } from './find-transcript.js'
export { HistoryReader, parseHistory } from './history.js'

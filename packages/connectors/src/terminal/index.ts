export { interactionText } from './interaction-text.js'
export { terminalConnector, type TerminalConnector, type TerminalOptions } from './terminal.js'
